/*
 * selftest_inject.c: an injection library around the test client. At exit it writes all records,
 * normalised, to SIMGPU_SELFTEST_OUT: kind and size as two uint32_t, then the record's bytes.
 * SIMGPU_SELFTEST_GRAPH_TRACE=1 asks for graphs as a whole instead of their nodes;
 * SIMGPU_SELFTEST_LAUNCHES_ONLY=1 for API records of cuLaunchKernel alone.
 */
#include "selftest_client.h"

#include <stdio.h>
#include <stdlib.h>

int InitializeInjection(void);

static void write_records(void)
{
    const char *path = getenv("SIMGPU_SELFTEST_OUT");
    FILE *out = path ? fopen(path, "wb") : NULL;

    client_flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    if (!out)
        return;
    for (size_t i = 0; i < client.count; i++) {
        struct client_record *record = &client.records[i];
        uint32_t head[2] = {record->kind, (uint32_t)record->size};

        client_normalize(record);
        fwrite(head, sizeof(head), 1, out);
        fwrite(record->bytes, record->size, 1, out);
    }
    fclose(out);
    free(client.records);
}

int __attribute__((visibility("default"))) InitializeInjection(void)
{
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_MEMCPY,
                                               CUPTI_ACTIVITY_KIND_MEMSET,
                                               CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                               CUPTI_ACTIVITY_KIND_CUDA_EVENT,
                                               CUPTI_ACTIVITY_KIND_MEMORY2,
                                               CUPTI_ACTIVITY_KIND_OVERHEAD,
                                               CUPTI_ACTIVITY_KIND_CONTEXT,
                                               CUPTI_ACTIVITY_KIND_DEVICE,
                                               CUPTI_ACTIVITY_KIND_STREAM,
                                               CUPTI_ACTIVITY_KIND_INVALID};

    client_start(kinds);
    if (getenv("SIMGPU_SELFTEST_GRAPH_TRACE"))
        cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    if (!getenv("SIMGPU_SELFTEST_LAUNCHES_ONLY"))
        cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER);
#ifndef SIMGPU_LACKS_cuptiActivityEnableDriverApi
    else
        cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1);
#endif
    atexit(write_records);
    return 1;
}
