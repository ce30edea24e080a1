/* Devices, contexts and streams, each of which CUPTI reports once, when it is created.
 *
 * A cut of the file discards their rows too. So they are kept here and appended again after the
 * cut. The store is bounded: rows beyond the bound are written, but not repeated after a cut.
 */
#include <stdlib.h>
#include <string.h>

#include "record/names/dictionary.h"

#include "base/poison.h"

#define MAX_DEVICES       64u
#define MAX_CONTEXTS      1024u
#define MAX_STREAMS       16384u
#define DEVICE_NAME_BYTES 128u

struct device_fact {
    struct mp_row_device row; /* without its name, a string whose id changes */
    char name[DEVICE_NAME_BYTES];
};

struct kept_definitions {
    struct device_fact devices[MAX_DEVICES];
    struct mp_row_context_info contexts[MAX_CONTEXTS];
    struct mp_row_stream_info streams[MAX_STREAMS];
    uint32_t device_count, context_count, stream_count;
};

struct kept_definitions *kept_definitions_new(void)
{
    return calloc(1, sizeof(struct kept_definitions));
}

void kept_definitions_free(struct kept_definitions *definitions)
{
    free(definitions);
}

static void append_device(struct dictionary *dictionary, const struct device_fact *device)
{
    struct mp_row_device row = device->row;

    row.name = dictionary_string(dictionary, device->name);
    mp_append_device(dictionary->writer, &row);
}

void kept_definitions_append_all(struct kept_definitions *definitions,
                                 struct dictionary *dictionary)
{
    uint32_t i;

    for (i = 0; i < definitions->device_count; i++)
        append_device(dictionary, &definitions->devices[i]);
    for (i = 0; i < definitions->context_count; i++)
        mp_append_context_info(dictionary->writer, &definitions->contexts[i]);
    for (i = 0; i < definitions->stream_count; i++)
        mp_append_stream_info(dictionary->writer, &definitions->streams[i]);
}

static uint64_t big_endian(const uint8_t *bytes)
{
    uint64_t value = 0;
    unsigned i;

    for (i = 0; i < 8; i++)
        value = value << 8 | bytes[i];
    return value;
}

static void note_device(struct device_fact *fact, const struct record_device *device)
{
    fact->row = (struct mp_row_device){
        .id = device->id,
        .uuid_high = big_endian(device->uuid),
        .uuid_low = big_endian(device->uuid + 8),
        .compute_major = device->compute_major,
        .compute_minor = device->compute_minor,
        .multiprocessors = device->multiprocessors,
        .core_clock = device->core_clock,
        .memory = device->memory,
        .memory_bandwidth = device->memory_bandwidth,
        .l2_cache = device->l2_cache,
        .warp_threads = device->warp_threads,
        .sm_warps = device->sm_warps,
        .sm_blocks = device->sm_blocks,
        .sm_shared_memory = device->sm_shared_memory,
        .sm_registers = device->sm_registers,
        .block_shared_memory = device->block_shared_memory,
        .block_registers = device->block_registers,
        .block_threads = device->block_threads,
    };
    if (device->name) {
        size_t length = strnlen(device->name, sizeof(fact->name) - 1);

        memcpy(fact->name, device->name, length);
        fact->name[length] = '\0';
    }
}

void dictionary_device(struct dictionary *dictionary, const struct record_device *device)
{
    struct kept_definitions *definitions = dictionary->definitions;
    struct device_fact fact = {0};
    uint32_t i;

    for (i = 0; i < definitions->device_count; i++)
        if (definitions->devices[i].row.id == device->id)
            return; /* CUPTI repeats devices when another context is made */
    note_device(&fact, device);
    if (definitions->device_count < MAX_DEVICES)
        definitions->devices[definitions->device_count++] = fact;
    append_device(dictionary, &fact);
}

void dictionary_context(struct dictionary *dictionary, const struct record_context *context)
{
    struct kept_definitions *definitions = dictionary->definitions;
    struct mp_row_context_info row = {
        .context = context->context,
        .device = context->device,
        .null_stream = context->null_stream,
    };

    if (definitions->context_count < MAX_CONTEXTS)
        definitions->contexts[definitions->context_count++] = row;
    mp_append_context_info(dictionary->writer, &row);
}

void dictionary_stream_info(struct dictionary *dictionary, const struct record_stream *stream)
{
    struct kept_definitions *definitions = dictionary->definitions;
    struct mp_row_stream_info row = {
        .stream = stream->stream,
        .context = stream->context,
        .priority = (uint64_t)(int64_t)(int32_t)stream->priority,
        .flag = stream->flag,
        .correlation = stream->correlation,
    };

    if (definitions->stream_count < MAX_STREAMS)
        definitions->streams[definitions->stream_count++] = row;
    mp_append_stream_info(dictionary->writer, &row);
}

uint32_t dictionary_device_of(const struct dictionary *dictionary, uint32_t context)
{
    const struct kept_definitions *definitions = dictionary->definitions;
    uint32_t i;

    for (i = definitions->context_count; i-- > 0;)
        if (definitions->contexts[i].context == context)
            return (uint32_t)definitions->contexts[i].device;
    return 0;
}
