/* The tables that hold activities, as data: which columns are begin, end, stream and id, and how a
 * row gets its name.
 */
#include "profile/activity.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "trace/schema.h"

#include "base/poison.h"

static const char *name_kernel(struct definitions *definitions, enum names_style style,
                               uint64_t shape, char buffer[NAMES_BYTES])
{
    (void)buffer;
    return definitions_kernel(definitions, shape, style);
}

static const char *name_copy(struct definitions *definitions, enum names_style style, uint64_t kind,
                             char buffer[NAMES_BYTES])
{
    (void)definitions, (void)style;
    return names_copy(kind, buffer, NAMES_BYTES);
}

static const char *name_set(struct definitions *definitions, enum names_style style,
                            uint64_t memory, char buffer[NAMES_BYTES])
{
    (void)definitions, (void)style, (void)memory, (void)buffer;
    return ACTIVITY_SET_NAME;
}

static const char *name_graph(struct definitions *definitions, enum names_style style,
                              uint64_t graph, char buffer[NAMES_BYTES])
{
    (void)definitions, (void)style;
    return names_graph(graph, buffer, NAMES_BYTES);
}

static const char *const unified_names[] = {
    [MP_unified_kind_unknown] = "[Unified Memory]",
    [MP_unified_kind_bytes_HtoD] = "[Unified Memory Memcpy HtoD]",
    [MP_unified_kind_bytes_DtoH] = "[Unified Memory Memcpy DtoH]",
    [MP_unified_kind_cpu_page_fault] = "[Unified Memory CPU page faults]",
    [MP_unified_kind_gpu_page_fault] = "[Unified Memory GPU page faults]",
    [MP_unified_kind_thrashing] = "[Unified Memory thrashing]",
    [MP_unified_kind_throttling] = "[Unified Memory throttling]",
    [MP_unified_kind_remote_map] = "[Unified Memory remote map]",
    [MP_unified_kind_bytes_DtoD] = "[Unified Memory Memcpy DtoD]",
};

const char *activity_unified(uint64_t kind)
{
    return unified_names[kind < sizeof unified_names / sizeof *unified_names
                             ? kind
                             : MP_unified_kind_unknown];
}

/* What unified memory does on the device; a report of its own counts the rest. */
static const char *name_unified(struct definitions *definitions, enum names_style style,
                                uint64_t kind, char buffer[NAMES_BYTES])
{
    bool listed = kind == MP_unified_kind_bytes_HtoD || kind == MP_unified_kind_bytes_DtoH ||
                  kind == MP_unified_kind_bytes_DtoD || kind == MP_unified_kind_gpu_page_fault;

    (void)definitions, (void)style, (void)buffer;
    return listed ? activity_unified(kind) : NULL;
}

static const char *name_call(struct definitions *definitions, enum names_style style,
                             uint64_t function, char buffer[NAMES_BYTES])
{
    (void)style, (void)buffer;
    return definitions_function(definitions, function);
}

#define C(table, column) (MP_COLUMN_##table##_##column + 1)
#define TIMES(table_)                                                                              \
    .table = MP_TABLE_##table_, .start = C(table_, start), .duration = C(table_, duration)
#define WORK(table_)                                                                               \
    TIMES(table_), .correlation = C(table_, correlation), .stream = C(table_, stream),             \
                   .by_launch = true, .group = SUMMARY_GPU
const struct activity_table activity_tables[ACTIVITY_KINDS] = {
    [ACTIVITY_KERNEL] = {WORK(kernel), .node = C(kernel, node), .id = C(kernel, shape),
                         .name = name_kernel, .unnamed = ACTIVITY_UNNAMED_KERNEL},
    [ACTIVITY_COPY] = {WORK(copy), .node = C(copy, node), .bytes = C(copy, bytes),
                       .calls = C(copy, count), .id = C(copy, kind), .name = name_copy},
    [ACTIVITY_SET] = {WORK(set), .node = C(set, node), .bytes = C(set, bytes), .id = C(set, memory),
                      .name = name_set},
    [ACTIVITY_GRAPH] = {WORK(graph), .id = C(graph, graph), .name = name_graph},
    [ACTIVITY_UNIFIED] = {TIMES(unified), .id = C(unified, kind), .name = name_unified,
                          .group = SUMMARY_GPU, .partly = true},
    [ACTIVITY_CALL] = {TIMES(call), .correlation = C(call, correlation), .thread = C(call, thread),
                       .id = C(call, function), .name = name_call, .unnamed = ACTIVITY_UNNAMED_CALL,
                       .group = SUMMARY_API},
    [ACTIVITY_HOST_FUNCTION] = {WORK(host_function), .thread = C(host_function, thread),
                                .node = C(host_function, node)},
    [ACTIVITY_SYNC] = {TIMES(sync), .correlation = C(sync, correlation), .thread = C(sync, thread)},
    [ACTIVITY_WAIT] = {TIMES(wait), .thread = C(wait, thread)},
    [ACTIVITY_NVTX] = {.table = MP_TABLE_nvtx, .start = C(nvtx, time), .thread = C(nvtx, thread)},
    [ACTIVITY_MEMORY] = {.table = MP_TABLE_memory,
                         .start = C(memory, time),
                         .correlation = C(memory, correlation),
                         .thread = C(memory, thread)},
    [ACTIVITY_POOL] = {.table = MP_TABLE_pool,
                       .start = C(pool, time),
                       .correlation = C(pool, correlation)},
    [ACTIVITY_OVERHEAD] = {TIMES(overhead), .correlation = C(overhead, correlation),
                           .thread = C(overhead, thread)},
    [ACTIVITY_COLLECTIVE] = {TIMES(collective), .correlation = C(collective, correlation),
                             .thread = C(collective, thread)},
    [ACTIVITY_METRIC] = {.table = MP_TABLE_metric_value,
                         .start = C(metric_value, time),
                         .correlation = C(metric_value, correlation),
                         .stream = C(metric_value, stream),
                         .by_launch = true},
};

const struct activity_table *activity_of(unsigned table)
{
    for (int i = 0; i < ACTIVITY_KINDS; i++)
        if (activity_tables[i].table == table)
            return &activity_tables[i];
    return NULL;
}

size_t activity_name_length(const struct activity_table *table, const char *name)
{
    return table->group == SUMMARY_API ? names_api_length(name) : strlen(name);
}

/* ---- Waiting for peers ---- */

MP_COMPARE(compare_peer_waits, struct peer_wait,
           MP_ORDER(a->begin, b->begin) ?: MP_ORDER(a->duration, b->duration) ?:
           MP_ORDER(b->waiting, a->waiting));

static bool is_same_kernel(const struct peer_wait *a, const struct peer_wait *b)
{
    return a->begin == b->begin && a->duration == b->duration;
}

void peer_waits_sort(struct peer_waits *waits)
{
    size_t kept = 0;

    if (waits->count)
        qsort(waits->items, waits->count, sizeof *waits->items, compare_peer_waits);
    for (size_t i = 0; i < waits->count; i++) {
        if (!kept || !is_same_kernel(&waits->items[kept - 1], &waits->items[i]))
            waits->items[kept++] = waits->items[i];
    }
    waits->count = kept;
}

uint64_t peer_waits_of(const struct peer_waits *waits, uint64_t begin, uint64_t duration)
{
    const struct peer_wait kernel = {begin, duration, UINT64_MAX};
    size_t at = MP_SEARCH(0, waits->count, i, compare_peer_waits(&waits->items[i], &kernel) < 0);

    return at < waits->count && is_same_kernel(&waits->items[at], &kernel)
               ? waits->items[at].waiting
               : 0;
}
