/* Packets of a trace: what every packet has, numbers for texts, and the way into the file.
 *
 *     size_t at = packet_begin(packets, time);
 *     proto_uint(&packets->bytes, ...);
 *     packet_end(packets, at);
 *
 * A sequence is the packets of one process. A text gets its number in a packet of its own, before
 * the first packet that uses the number: Perfetto passes over events whose numbers it does not
 * know. Packets are collected and written 256 KiB at a time.
 */
#ifndef MP_EXPORT_PERFETTO_PACKETS_H
#define MP_EXPORT_PERFETTO_PACKETS_H

#include <stdbool.h>

#include "export/perfetto/fields.h"
#include "export/perfetto/proto.h"
#include "export/perfetto/zip.h"
#include "export/rows/rows.h"

/* Which numbers were given out; grows as needed. */
struct number_set {
    uint64_t *bits;
    size_t words;
};

struct packets {
    struct mp_buffer bytes; /* not yet written */
    FILE *out;
    struct zip *zip; /* NULL: straight into `out` */
    uint64_t sequence;
    uint64_t offset;         /* to be added to times: ns since 1970 */
    struct number_set names; /* of texts, as events' names */
    enum mp_status status;   /* the first failure */
};

/* Texts that do not come from a trace, by number; those of traces have greater ones. */
enum category {
    CATEGORY_NONE,
    CATEGORY_CUDA,
    CATEGORY_SYNC,
    CATEGORY_NVTX,
    CATEGORY_WAIT,
    CATEGORY_HOST_FUNCTION,
    CATEGORY_OVERHEAD,
    CATEGORY_UNIFIED,
    CATEGORY_POOL,
    CATEGORY_PATH,
    CATEGORY_ITERATION,
    CATEGORY_ADVICE,
    CATEGORY_COUNT
};

/* Arguments of GPU work and annotations of host slices share numbers. */
enum argument {
    ARGUMENT_NONE,
    ARGUMENT_DEVICE,
    ARGUMENT_STREAM,
    ARGUMENT_CORRELATION,
    ARGUMENT_GRAPH,
    ARGUMENT_GRAPH_NODE,
    ARGUMENT_BYTES,
    ARGUMENT_BANDWIDTH,
    ARGUMENT_REGISTERS,
    ARGUMENT_SHARED_STATIC,
    ARGUMENT_SHARED_DYNAMIC,
    ARGUMENT_SHARED_CONFIG,
    ARGUMENT_LOCAL_MEMORY,
    ARGUMENT_THREADS,
    ARGUMENT_WAVES,
    ARGUMENT_OCCUPANCY,
    ARGUMENT_BY_WARPS,
    ARGUMENT_BY_REGISTERS,
    ARGUMENT_BY_SHARED,
    ARGUMENT_BY_BLOCKS,
    ARGUMENT_CLUSTER,
    ARGUMENT_COLLECTIVE,
    ARGUMENT_COMMUNICATOR,
    ARGUMENT_RANKS,
    ARGUMENT_RANK,
    ARGUMENT_PEER,
    ARGUMENT_NUMBER,
    ARGUMENT_OPERATIONS,
    ARGUMENT_RESULT,
    ARGUMENT_PAYLOAD,
    ARGUMENT_COLOR,
    ARGUMENT_NVTX_CATEGORY,
    ARGUMENT_EVENT,
    ARGUMENT_OPEN,
    ARGUMENT_CUT,
    ARGUMENT_WAKER,
    ARGUMENT_WOKEN,
    ARGUMENT_OBJECT,
    ARGUMENT_VALUE,
    ARGUMENT_SIZE,
    ARGUMENT_GAIN,
    ARGUMENT_PERCENT,
    ARGUMENT_CONFIDENCE,
    ARGUMENT_EVIDENCE,
    ARGUMENT_TO_DO,
    ARGUMENT_FIRST_QUANTITY, /* of an iteration: one for each */
    ARGUMENT_COUNT = ARGUMENT_FIRST_QUANTITY + ITERATION_QUANTITIES
};

/* Begins the sequence: its clock and the numbers of all texts above. `monotonic`: the recorder's
 * clock is CLOCK_MONOTONIC; `now` is a moment of it. */
void packets_begin(struct packets *packets, uint64_t sequence, uint64_t offset, bool monotonic,
                   uint64_t now);

/* A packet without a time, or at `time` ns of the recorder's clock; packet_end wants the answer. */
size_t packet_begin_timeless(struct packets *packets);
size_t packet_begin(struct packets *packets, uint64_t time);
void packet_end(struct packets *packets, size_t at);

/* A field with a text, whose bytes that are not UTF-8 become U+FFFD. */
void packets_text(struct packets *packets, unsigned field, const char *text, size_t bytes);

/* Whether `number` is new in the set, where it stands from now on. */
bool number_is_new(struct packets *packets, struct number_set *set, uint64_t number);

/* The number of a text as an event's name; never 0. */
uint64_t packets_name(struct packets *packets, const struct export_text *text);

/* An argument of GPU work, inside the message with this field. */
void packets_argument(struct mp_buffer *bytes, unsigned field, enum argument name, uint64_t value);
void packets_argument_double(struct mp_buffer *bytes, unsigned field, enum argument name,
                             double value);
void packets_argument_text(struct packets *packets, unsigned field, enum argument name,
                           const char *text);

/* An annotation of a host slice. */
void packets_annotate(struct packets *packets, enum argument name, uint64_t value);
void packets_annotate_double(struct packets *packets, enum argument name, double value);
void packets_annotate_text(struct packets *packets, enum argument name, const char *text);
void packets_annotate_signed(struct packets *packets, enum argument name, int64_t value);

/* Writes what is collected. */
enum mp_status packets_flush(struct packets *packets);

/* Forgets the sequence: numbers are to be given anew. */
void packets_forget(struct packets *packets);
void packets_free(struct packets *packets);

#endif
