/*
 * selftest_client.c: see selftest_client.h. Knows the records only through CUPTI's own structs.
 */
#include "selftest_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct client client = {.buffer_size = 8192};

static void CUPTIAPI on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = client.refuse_buffers ? NULL : malloc(client.buffer_size);
    *size = *buffer ? client.buffer_size : 0;
    *max_records = 0;
    client.buffers_out += *buffer != NULL;
}

static void keep(const uint8_t *bytes, size_t size)
{
    struct client_record *record;

    if (client.count == client.capacity) {
        client.capacity = client.capacity ? 2 * client.capacity : 256;
        client.records = realloc(client.records, client.capacity * sizeof(*client.records));
        if (!client.records)
            abort();
    }
    record = &client.records[client.count++];
    memset(record, 0, sizeof(*record));
    memcpy(record->bytes, bytes, size);
    memcpy(&record->kind, bytes, sizeof(record->kind));
    record->size = size;
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid)
{
    CUpti_Activity *record = NULL;
    const uint8_t *previous = NULL;

    (void)context;
    (void)stream;
    (void)size;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        const uint8_t *at = (const uint8_t *)record;

        if (previous)
            keep(previous, (size_t)(at - previous));
        previous = at;
    }
    if (previous)
        keep(previous, (size_t)(buffer + valid - previous));
    client.buffers_out--;
    free(buffer);
}

void client_start(const CUpti_ActivityKind *kinds)
{
    if (cuptiActivityRegisterCallbacks(on_request, on_complete) != CUPTI_SUCCESS)
        abort();
    for (; *kinds != CUPTI_ACTIVITY_KIND_INVALID; kinds++)
        if (cuptiActivityEnable(*kinds) != CUPTI_SUCCESS)
            abort();
}

void client_flush(uint32_t flag)
{
    cuptiActivityFlushAll(flag);
}

const void *client_find(CUpti_ActivityKind kind, size_t nth)
{
    for (size_t i = 0; i < client.count; i++)
        if (client.records[i].kind == (uint32_t)kind && nth-- == 0)
            return client.records[i].bytes;
    printf("    no such record of kind %d\n", (int)kind);
    fflush(stdout);
    _Exit(1);
}

size_t client_count(CUpti_ActivityKind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < client.count; i++)
        count += client.records[i].kind == (uint32_t)kind;
    return count;
}

size_t client_size(CUpti_ActivityKind kind)
{
    for (size_t i = 0; i < client.count; i++)
        if (client.records[i].kind == (uint32_t)kind)
            return client.records[i].size;
    return 0;
}

#define CLEAR(record, type, field)                                                                 \
    memset((record)->bytes + offsetof(type, field), 0, sizeof(((type *)0)->field))

void client_normalize(struct client_record *record)
{
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        CLEAR(record, record_kernel, name);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_DRIVER) {
        CLEAR(record, CUpti_ActivityAPI, processId);
        CLEAR(record, CUpti_ActivityAPI, threadId);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMORY2) {
        CLEAR(record, record_memory, processId);
        CLEAR(record, record_memory, address);
        CLEAR(record, record_memory, PC);
        CLEAR(record, record_memory, memoryPoolConfig.address);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMORY_POOL) {
        CLEAR(record, record_pool, processId);
        CLEAR(record, record_pool, address);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_OVERHEAD) {
        CLEAR(record, record_overhead, objectId);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_DEVICE) {
        CLEAR(record, record_device, name);
    }
}
