/* Packets of a trace: what every packet has, numbers for texts, and the way into the file.
 *
 *     size_t at = packet_begin(packets, time);
 *     proto_uint(&packets->bytes, ...);
 *     packet_end(packets, at);
 *
 * A sequence is the packets of one process. A text gets its number in a separate packet, before
 * the first packet that uses the number: Perfetto passes over events whose numbers it does not
 * know. Packets are collected and written 256 KiB at a time.
 */
#ifndef MP_EXPORT_PERFETTO_PACKETS_H
#define MP_EXPORT_PERFETTO_PACKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/data/storage.h"
#include "export/perfetto/zip.h"
#include "export/rows/rows.h"

/* ---- The wire format ---- */

/* The wire format of protocol buffers, appended to a buffer: a field is its number and type, then a
 * varint, eight bytes, or a length and as many bytes.
 *
 *     size_t at = proto_begin(bytes, PACKET_TRACK_EVENT);
 *     proto_uint(bytes, EVENT_TYPE, EVENT_END);
 *     proto_end(bytes, at);
 *
 * The buffer's status is sticky, so it is checked once for a packet.
 */

enum proto_type { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_LENGTH = 2 };

/* Append a field with an integer, a double, bytes or a text. `data` may be NULL if `count` is 0. */
void proto_uint(struct mp_buffer *bytes, unsigned field, uint64_t value);
void proto_double(struct mp_buffer *bytes, unsigned field, double value);
void proto_bytes(struct mp_buffer *bytes, unsigned field, const void *data, size_t count);
void proto_text(struct mp_buffer *bytes, unsigned field, const char *text);

/* Begin and end a message inside of a message; proto_end takes what proto_begin returned. Its
 * length has one byte at first; if that is too short, the message moves. */
size_t proto_begin(struct mp_buffer *bytes, unsigned field);
void proto_end(struct mp_buffer *bytes, size_t at);

/* ---- Perfetto's numbers ---- */

/* Numbers of the messages' fields, as Perfetto's .proto files have them (v58): trace_packet,
 * interned_data, track_descriptor, track_event, debug_annotation, gpu_render_stage_event,
 * gpu_track_event, gpu_info, clock_snapshot. tests/exports/perfetto.proto says the same in protoc's
 * language.
 */

enum { TRACE_PACKET = 1 };

enum {
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_GPU_EVENT = 53,
    PACKET_CLOCK = 58,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK = 60,
    PACKET_GPU_INFO = 128
};

enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum { CLOCK_OF_REALTIME = 1, CLOCK_OF_MONOTONIC = 3, CLOCK_OF_BOOTTIME = 6 };
enum { SNAPSHOT_CLOCKS = 1, SNAPSHOT_PRIMARY = 2, SNAPSHOT_ID = 1, SNAPSHOT_TIME = 2 };

enum {
    INTERNED_CATEGORIES = 1,
    INTERNED_NAMES = 2,
    INTERNED_ANNOTATIONS = 3,
    INTERNED_FUNCTIONS = 5,
    INTERNED_FRAMES = 6,
    INTERNED_CALLSTACKS = 7,
    INTERNED_SOURCES = 18,
    INTERNED_CONTEXTS = 23,
    INTERNED_SPECIFICATIONS = 24,
    INTERNED_KERNELS = 1000,
    INTERNED_ARGUMENTS = 1001
};

/* Of everything that is interned; specifications have a description and a category, too. */
enum { IID = 1, IID_NAME = 2, SPECIFICATION_TEXT = 3, SPECIFICATION_CATEGORY = 4 };
enum { CATEGORY_OTHER = 0, CATEGORY_COMPUTE = 2 };
enum { CONTEXT_PID = 2, CONTEXT_API = 3, API_CUDA = 4 };
enum { FRAME_FUNCTION = 2, FRAME_SOURCE = 5, FRAME_LINE = 6, CALLSTACK_FRAMES = 2 };
enum { KERNEL_READABLE = 3, KERNEL_ARCH = 4, KERNEL_ARGUMENTS = 5 };

enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_ORDERING = 11, /* of its children */
    TRACK_RANK = 12
};
enum { ORDER_BY_RANK = 3 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6, THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3, UNIT_BYTES = 3 };

enum {
    EVENT_CATEGORY = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_COUNT = 30,
    EVENT_VALUE = 44,
    EVENT_CORRELATION = 52,
    EVENT_CALLSTACK = 56,
    EVENT_GPU_CORRELATION = 3000,
    EVENT_GPU_API = 3001
};
enum { EVENT_BEGIN = 1, EVENT_END = 2, EVENT_INSTANT = 3, EVENT_COUNTER = 4 };
enum { CORRELATION_SUBMITTED = 1, CORRELATION_AWAITED = 2 };

enum {
    ANNOTATION_NAME = 1,
    ANNOTATION_UINT = 3,
    ANNOTATION_INT = 4,
    ANNOTATION_DOUBLE = 5,
    ANNOTATION_TEXT = 6
};

enum {
    STAGE_EVENT_ID = 1,
    STAGE_DURATION = 2,
    STAGE_CONTEXT = 5,
    STAGE_GPU = 11,
    STAGE_QUEUE = 13,
    STAGE_STAGE = 14,
    STAGE_AWAITED = 18,
    STAGE_KERNEL = 19,
    STAGE_NAME = 20,
    STAGE_LAUNCH = 21
};
enum { LAUNCH_GRID = 1, LAUNCH_BLOCK = 2, LAUNCH_ARGUMENTS = 3 };
enum { ARGUMENT_NAME = 1, ARGUMENT_INT = 3, ARGUMENT_DOUBLE = 5, ARGUMENT_TEXT = 6 };

enum { GPUS = 1, GPU_NAME = 1, GPU_VENDOR = 2, GPU_MODEL = 3, GPU_ARCH = 4, GPU_UUID = 5 };

/* ---- Packets ---- */

/* The numbers that were given out; it grows as needed. */
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

/* Begin a packet without a time, or at `time` ns of the recorder's clock; packet_end takes what
 * they return. */
size_t packet_begin_timeless(struct packets *packets);
size_t packet_begin(struct packets *packets, uint64_t time);
void packet_end(struct packets *packets, size_t at);

/* Appends a field with a text; bytes that are not UTF-8 become U+FFFD. */
void packets_text(struct packets *packets, unsigned field, const char *text, size_t bytes);

/* Adds `number` to the set; returns whether it is new. */
bool number_is_new(struct packets *packets, struct number_set *set, uint64_t number);

/* Numbers a text as an event's name; never 0. */
uint64_t packets_name(struct packets *packets, const struct export_text *text);

/* Append an argument of GPU work, inside the message with this field. */
void packets_argument(struct mp_buffer *bytes, unsigned field, enum argument name, uint64_t value);
void packets_argument_double(struct mp_buffer *bytes, unsigned field, enum argument name,
                             double value);
void packets_argument_text(struct packets *packets, unsigned field, enum argument name,
                           const char *text);

/* Append an annotation of a host slice. */
void packets_annotate(struct packets *packets, enum argument name, uint64_t value);
void packets_annotate_double(struct packets *packets, enum argument name, double value);
void packets_annotate_text(struct packets *packets, enum argument name, const char *text);
void packets_annotate_signed(struct packets *packets, enum argument name, int64_t value);

/* Writes what has been collected. */
enum mp_status packets_flush(struct packets *packets);

/* Forgets the sequence: its numbers may be given again. */
void packets_forget(struct packets *packets);
void packets_free(struct packets *packets);

#endif
