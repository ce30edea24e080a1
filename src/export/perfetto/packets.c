/* Puts packets together, numbers texts, and writes to a file or a member of a .zip. */
#include "export/perfetto/packets.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/strings.h"

#include "base/poison.h"

#define WRITE_FROM   ((size_t)256 << 10)
#define UNKNOWN_NAME 1 /* the numbers of the trace's texts come after it */

static const char *const categories[CATEGORY_COUNT] = {
    [CATEGORY_CUDA] = "cuda",
    [CATEGORY_SYNC] = "sync",
    [CATEGORY_NVTX] = "nvtx",
    [CATEGORY_WAIT] = "wait",
    [CATEGORY_HOST_FUNCTION] = "host_function",
    [CATEGORY_OVERHEAD] = "overhead",
    [CATEGORY_UNIFIED] = "unified",
    [CATEGORY_POOL] = "pool",
    [CATEGORY_PATH] = "critical_path",
    [CATEGORY_ITERATION] = "iteration",
    [CATEGORY_ADVICE] = "advice",
};

/* Perfetto's view of kernels knows some of these names. */
static const char *const arguments[ARGUMENT_FIRST_QUANTITY] = {
    [ARGUMENT_DEVICE] = "device",
    [ARGUMENT_STREAM] = "stream",
    [ARGUMENT_CORRELATION] = "correlation",
    [ARGUMENT_GRAPH] = "graph",
    [ARGUMENT_GRAPH_NODE] = "graph_node",
    [ARGUMENT_BYTES] = "bytes",
    [ARGUMENT_BANDWIDTH] = "gb_per_s",
    [ARGUMENT_REGISTERS] = "registers_per_thread",
    [ARGUMENT_SHARED_STATIC] = "shared_mem_static",
    [ARGUMENT_SHARED_DYNAMIC] = "shared_mem_dynamic",
    [ARGUMENT_SHARED_CONFIG] = "shared_mem_config_size",
    [ARGUMENT_LOCAL_MEMORY] = "local_mem_per_thread",
    [ARGUMENT_THREADS] = "thread_count",
    [ARGUMENT_WAVES] = "waves_per_multiprocessor",
    [ARGUMENT_OCCUPANCY] = "occupancy_percent",
    [ARGUMENT_BY_WARPS] = "occupancy_limit_warps",
    [ARGUMENT_BY_REGISTERS] = "occupancy_limit_registers",
    [ARGUMENT_BY_SHARED] = "occupancy_limit_shared_mem",
    [ARGUMENT_BY_BLOCKS] = "occupancy_limit_blocks",
    [ARGUMENT_CLUSTER] = "cluster_blocks",
    [ARGUMENT_COLLECTIVE] = "collective",
    [ARGUMENT_COMMUNICATOR] = "communicator",
    [ARGUMENT_RANKS] = "ranks",
    [ARGUMENT_RANK] = "rank",
    [ARGUMENT_PEER] = "peer",
    [ARGUMENT_NUMBER] = "number",
    [ARGUMENT_OPERATIONS] = "operations",
    [ARGUMENT_RESULT] = "result",
    [ARGUMENT_PAYLOAD] = "payload",
    [ARGUMENT_COLOR] = "color",
    [ARGUMENT_NVTX_CATEGORY] = "category",
    [ARGUMENT_EVENT] = "event",
    [ARGUMENT_OPEN] = "no_end",
    [ARGUMENT_CUT] = "cut",
    [ARGUMENT_WAKER] = "waker_tid",
    [ARGUMENT_WOKEN] = "woken_after_ns",
    [ARGUMENT_OBJECT] = "object",
    [ARGUMENT_VALUE] = "value",
    [ARGUMENT_SIZE] = "size",
    [ARGUMENT_GAIN] = "gain_ns",
    [ARGUMENT_PERCENT] = "gain_percent",
    [ARGUMENT_CONFIDENCE] = "confidence",
    [ARGUMENT_EVIDENCE] = "evidence",
    [ARGUMENT_TO_DO] = "to_do",
};

static const char *argument_name(unsigned argument)
{
    if (argument < ARGUMENT_FIRST_QUANTITY)
        return arguments[argument];
    return iteration_quantity_key((enum iteration_quantity)(argument - ARGUMENT_FIRST_QUANTITY));
}

/* ---- A packet ---- */

size_t packet_begin_timeless(struct packets *packets)
{
    size_t at = proto_begin(&packets->bytes, TRACE_PACKET);

    proto_uint(&packets->bytes, PACKET_SEQUENCE, packets->sequence);
    proto_uint(&packets->bytes, PACKET_FLAGS, FLAG_NEEDS_STATE);
    return at;
}

size_t packet_begin(struct packets *packets, uint64_t time)
{
    size_t at = packet_begin_timeless(packets);

    proto_uint(&packets->bytes, PACKET_TIMESTAMP, time + packets->offset);
    return at;
}

void packet_end(struct packets *packets, size_t at)
{
    proto_end(&packets->bytes, at);
    if (packets->bytes.size >= WRITE_FROM)
        packets_flush(packets);
}

enum mp_status packets_flush(struct packets *packets)
{
    struct mp_buffer *bytes = &packets->bytes;

    if (!packets->status)
        packets->status = bytes->status;
    if (!packets->status && bytes->size) {
        if (packets->zip)
            packets->status = zip_write(packets->zip, bytes->data, bytes->size);
        else if (fwrite(bytes->data, 1, bytes->size, packets->out) != bytes->size)
            packets->status = MP_ERR_IO;
    }
    mp_buffer_clear(bytes);
    return packets->status;
}

/* Fields of texts have to be UTF-8. */
void packets_text(struct packets *packets, unsigned field, const char *text, size_t bytes)
{
    size_t at = proto_begin(&packets->bytes, field);

    utf8_append_valid(&packets->bytes, text, bytes);
    proto_end(&packets->bytes, at);
}

/* ---- Numbers ---- */

bool number_is_new(struct packets *packets, struct number_set *set, uint64_t number)
{
    size_t word = number / 64;
    uint64_t bit = UINT64_C(1) << number % 64;

    if (word >= set->words) {
        size_t words = word + word / 2 + 16;
        uint64_t *bits = realloc(set->bits, words * sizeof *bits);

        if (!bits) {
            packets->status = packets->status ? packets->status : MP_ERR_MEMORY;
            return false;
        }
        memset(bits + set->words, 0, (words - set->words) * sizeof *bits);
        set->bits = bits;
        set->words = words;
    }
    if (set->bits[word] & bit)
        return false;
    set->bits[word] |= bit;
    return true;
}

static void intern(struct packets *packets, unsigned field, uint64_t number, const char *text,
                   size_t bytes)
{
    size_t entry = proto_begin(&packets->bytes, field);

    proto_uint(&packets->bytes, IID, number);
    packets_text(packets, IID_NAME, text, bytes);
    proto_end(&packets->bytes, entry);
}

uint64_t packets_name(struct packets *packets, const struct export_text *text)
{
    uint64_t number = text->text ? text->id + (uint64_t)UNKNOWN_NAME : UNKNOWN_NAME;

    if (number_is_new(packets, &packets->names, number)) {
        size_t at = packet_begin_timeless(packets);
        size_t interned = proto_begin(&packets->bytes, PACKET_INTERNED);

        intern(packets, INTERNED_NAMES, number, text->text ? text->text : "(unknown)",
               text->text ? text->bytes : strlen("(unknown)"));
        proto_end(&packets->bytes, interned);
        packet_end(packets, at);
    }
    return number;
}

/* ---- The first packets ---- */

static void write_reading(struct packets *packets, unsigned clock, uint64_t time)
{
    size_t at = proto_begin(&packets->bytes, SNAPSHOT_CLOCKS);

    proto_uint(&packets->bytes, SNAPSHOT_ID, clock);
    proto_uint(&packets->bytes, SNAPSHOT_TIME, time);
    proto_end(&packets->bytes, at);
}

/* Events are on CLOCK_REALTIME. Perfetto's importer takes CLOCK_BOOTTIME as the clock of a file
 * and drops events that no snapshot relates to it: in a .zip, those of all files but the first. No
 * trace has a reading of CLOCK_BOOTTIME, so it gets the recorder's, from which it differs by the
 * time that the machine slept. If the recorder's clock is known, traces of the same boot by other
 * tools can be shown with it. */
static void write_clock(struct packets *packets, bool monotonic, uint64_t now)
{
    size_t at = packet_begin_timeless(packets);
    size_t snapshot = proto_begin(&packets->bytes, PACKET_CLOCK_SNAPSHOT);

    write_reading(packets, CLOCK_OF_REALTIME, now + packets->offset);
    if (monotonic)
        write_reading(packets, CLOCK_OF_MONOTONIC, now);
    write_reading(packets, CLOCK_OF_BOOTTIME, now);
    proto_uint(&packets->bytes, SNAPSHOT_PRIMARY, CLOCK_OF_REALTIME);
    proto_end(&packets->bytes, snapshot);
    packet_end(packets, at);
}

static void write_texts(struct packets *packets)
{
    size_t at = packet_begin_timeless(packets);
    size_t interned = proto_begin(&packets->bytes, PACKET_INTERNED);

    for (unsigned i = 1; i < CATEGORY_COUNT; i++)
        intern(packets, INTERNED_CATEGORIES, i, categories[i], strlen(categories[i]));
    for (unsigned i = 1; i < ARGUMENT_COUNT; i++) {
        const char *name = argument_name(i);

        intern(packets, INTERNED_ANNOTATIONS, i, name, strlen(name));
        intern(packets, INTERNED_ARGUMENTS, i, name, strlen(name));
    }
    proto_end(&packets->bytes, interned);
    packet_end(packets, at);
}

void packets_begin(struct packets *packets, uint64_t sequence, uint64_t offset, bool monotonic,
                   uint64_t now)
{
    packets->sequence = sequence;
    packets->offset = offset;
    size_t at = proto_begin(&packets->bytes, TRACE_PACKET);
    proto_uint(&packets->bytes, PACKET_SEQUENCE, sequence);
    proto_uint(&packets->bytes, PACKET_FLAGS, FLAG_CLEARED);
    size_t defaults = proto_begin(&packets->bytes, PACKET_DEFAULTS);
    proto_uint(&packets->bytes, PACKET_CLOCK, CLOCK_OF_REALTIME);
    proto_end(&packets->bytes, defaults);
    packet_end(packets, at);
    write_clock(packets, monotonic, now);
    write_texts(packets);
}

/* ---- Arguments ---- */

void packets_argument(struct mp_buffer *bytes, unsigned field, enum argument name, uint64_t value)
{
    size_t at = proto_begin(bytes, field);

    proto_uint(bytes, ARGUMENT_NAME, name);
    proto_uint(bytes, ARGUMENT_INT, value);
    proto_end(bytes, at);
}

void packets_argument_double(struct mp_buffer *bytes, unsigned field, enum argument name,
                             double value)
{
    size_t at = proto_begin(bytes, field);

    proto_uint(bytes, ARGUMENT_NAME, name);
    proto_double(bytes, ARGUMENT_DOUBLE, value);
    proto_end(bytes, at);
}

void packets_argument_text(struct packets *packets, unsigned field, enum argument name,
                           const char *text)
{
    size_t at = proto_begin(&packets->bytes, field);

    proto_uint(&packets->bytes, ARGUMENT_NAME, name);
    packets_text(packets, ARGUMENT_TEXT, text, strlen(text));
    proto_end(&packets->bytes, at);
}

static void annotate_number(struct packets *packets, enum argument name, unsigned field,
                            uint64_t value)
{
    size_t at = proto_begin(&packets->bytes, EVENT_ANNOTATION);

    proto_uint(&packets->bytes, ANNOTATION_NAME, name);
    proto_uint(&packets->bytes, field, value);
    proto_end(&packets->bytes, at);
}

void packets_annotate(struct packets *packets, enum argument name, uint64_t value)
{
    annotate_number(packets, name, ANNOTATION_UINT, value);
}

void packets_annotate_signed(struct packets *packets, enum argument name, int64_t value)
{
    annotate_number(packets, name, ANNOTATION_INT, (uint64_t)value);
}

void packets_annotate_double(struct packets *packets, enum argument name, double value)
{
    size_t at = proto_begin(&packets->bytes, EVENT_ANNOTATION);

    proto_uint(&packets->bytes, ANNOTATION_NAME, name);
    proto_double(&packets->bytes, ANNOTATION_DOUBLE, value);
    proto_end(&packets->bytes, at);
}

void packets_annotate_text(struct packets *packets, enum argument name, const char *text)
{
    size_t at = proto_begin(&packets->bytes, EVENT_ANNOTATION);

    proto_uint(&packets->bytes, ANNOTATION_NAME, name);
    packets_text(packets, ANNOTATION_TEXT, text, strlen(text));
    proto_end(&packets->bytes, at);
}

void packets_forget(struct packets *packets)
{
    free(packets->names.bits);
    packets->names = (struct number_set){.bits = NULL};
}

void packets_free(struct packets *packets)
{
    packets_forget(packets);
    mp_buffer_free(&packets->bytes);
}
