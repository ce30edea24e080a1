/* The tables that hold activities, as data: which columns are begin, end, stream and id, and how a
 * row gets its name.
 */
#include "profile/common/sources.h"

#include <string.h>

#include "trace/codec/schema.h"

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
    return "[CUDA memset]";
}

static const char *name_graph(struct definitions *definitions, enum names_style style,
                              uint64_t graph, char buffer[NAMES_BYTES])
{
    (void)definitions, (void)style;
    return names_graph(graph, buffer, NAMES_BYTES);
}

/* What unified memory does on the device; a report of its own counts the rest. */
static const char *name_unified(struct definitions *definitions, enum names_style style,
                                uint64_t kind, char buffer[NAMES_BYTES])
{
    (void)definitions, (void)style, (void)buffer;
    switch (kind) {
    case MP_unified_kind_bytes_HtoD:
        return "[Unified Memory Memcpy HtoD]";
    case MP_unified_kind_bytes_DtoH:
        return "[Unified Memory Memcpy DtoH]";
    case MP_unified_kind_bytes_DtoD:
        return "[Unified Memory Memcpy DtoD]";
    case MP_unified_kind_gpu_page_fault:
        return "[Unified Memory GPU page faults]";
    default:
        return NULL;
    }
}

static const char *name_call(struct definitions *definitions, enum names_style style,
                             uint64_t function, char buffer[NAMES_BYTES])
{
    (void)style, (void)buffer;
    return definitions_function(definitions, function);
}

#define TIMES(table)    MP_COLUMN_##table##_start, MP_COLUMN_##table##_duration
#define LAUNCHED(table) MP_COLUMN_##table##_correlation, MP_COLUMN_##table##_stream
#define BY_TIME         SOURCES_NO_COLUMN, SOURCES_NO_COLUMN
#define ONE_CALL        SOURCES_NO_COLUMN
const struct source sources[SOURCE_COUNT] = {
    [SOURCE_KERNEL] = {MP_TABLE_kernel, SUMMARY_GPU, MP_COLUMN_kernel_shape, TIMES(kernel),
                       LAUNCHED(kernel), name_kernel, "[unnamed kernel]", false, ONE_CALL},
    [SOURCE_COPY] = {MP_TABLE_copy, SUMMARY_GPU, MP_COLUMN_copy_kind, TIMES(copy), LAUNCHED(copy),
                     name_copy, NULL, false, MP_COLUMN_copy_count},
    [SOURCE_SET] = {MP_TABLE_set, SUMMARY_GPU, MP_COLUMN_set_memory, TIMES(set), LAUNCHED(set),
                    name_set, NULL, false, ONE_CALL},
    [SOURCE_GRAPH] = {MP_TABLE_graph, SUMMARY_GPU, MP_COLUMN_graph_graph, TIMES(graph),
                      LAUNCHED(graph), name_graph, NULL, false, ONE_CALL},
    [SOURCE_UNIFIED] = {MP_TABLE_unified, SUMMARY_GPU, MP_COLUMN_unified_kind, TIMES(unified),
                        BY_TIME, name_unified, NULL, true, ONE_CALL},
    [SOURCE_CALL] = {MP_TABLE_call, SUMMARY_API, MP_COLUMN_call_function, TIMES(call),
                     MP_COLUMN_call_correlation, SOURCES_NO_COLUMN, name_call, "[unnamed call]",
                     false, ONE_CALL},
};

size_t source_name_length(const struct source *source, const char *name)
{
    return source->group == SUMMARY_API ? names_api_length(name) : strlen(name);
}
