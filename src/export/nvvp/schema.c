/* The mapping between tables of a trace and nvprof's tables, as data (tables.def). Reader and
 * writer of .nvvp files share it, so that both agree on every column.
 */
#include "export/nvvp/schema.h"

#include "base/poison.h"

#define COLUMN_INT                   false
#define COLUMN_BLOB                  true
#define COLUMN_OF(table, name, type) {#name, offsetof(struct nvvp_##table, name), COLUMN_##type},
#define COLUMN_ARRAY(table)                                                                        \
    static const struct nvvp_column columns_##table[] = {NVVP_COLUMNS_##table(COLUMN_OF)};
NVVP_TABLES(COLUMN_ARRAY)

#define TABLE_OF(table)                                                                            \
    {"CUPTI_ACTIVITY_KIND_" #table, columns_##table,                                               \
     sizeof columns_##table / sizeof *columns_##table},
const struct nvvp_table nvvp_tables[NVVP_TABLE_COUNT] = {NVVP_TABLES(TABLE_OF)};

/* nvprof creates every table that it knows, used or not. Some programs query these tables without
 * checking that they exist. */
#define UNUSED(name, columns)                                                                      \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_" name "(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, " columns   \
    ");\n"
#define KERNEL_COLUMNS                                                                             \
    "cacheConfig BLOB NOT NULL, sharedMemoryConfig INT NOT NULL, registersPerThread INT NOT "      \
    "NULL, partitionedGlobalCacheRequested INT NOT NULL, partitionedGlobalCacheExecuted INT NOT "  \
    "NULL, start INT NOT NULL, end INT NOT NULL, completed INT NOT NULL, deviceId INT NOT NULL, "  \
    "contextId INT NOT NULL, streamId INT NOT NULL, gridX INT NOT NULL, gridY INT NOT NULL, "      \
    "gridZ INT NOT NULL, blockX INT NOT NULL, blockY INT NOT NULL, blockZ INT NOT NULL, "          \
    "staticSharedMemory INT NOT NULL, dynamicSharedMemory INT NOT NULL, localMemoryPerThread INT " \
    "NOT NULL, localMemoryTotal INT NOT NULL, correlationId INT NOT NULL, gridId INT NOT NULL, "   \
    "name INT NOT NULL"

const char nvvp_other_tables[] =
    "CREATE TABLE Version(version INTEGER);\n"
    "CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL);\n"
    "INSERT INTO StringTable VALUES(0, '-- null --');\n" /* the name of what has none */
    UNUSED("KERNEL", KERNEL_COLUMNS) UNUSED(
        "EVENT",
        "id INT NOT NULL, value INT NOT NULL, domain INT NOT NULL, correlationId INT "
        "NOT NULL") UNUSED("EVENT_INSTANCE",
                           "id INT NOT NULL, domain INT NOT NULL, instance INT NOT NULL, value "
                           "INT NOT NULL, correlationId INT NOT NULL")
        UNUSED("METRIC",
               "id INT NOT NULL, value BLOB NOT NULL, correlationId INT NOT NULL, flags INT "
               "NOT NULL") UNUSED("METRIC_INSTANCE",
                                  "id INT NOT NULL, value BLOB NOT NULL, instance INT NOT NULL, "
                                  "correlationId INT NOT NULL, flags INT NOT NULL")
            UNUSED("DEVICE_ATTRIBUTE",
                   "flags INT NOT NULL, deviceId INT NOT NULL, attribute BLOB NOT "
                   "NULL, value BLOB NOT NULL")
                UNUSED("ENVIRONMENT",
                       "deviceId INT NOT NULL, timestamp INT NOT NULL, environmentKind INT NOT "
                       "NULL, data BLOB NOT NULL")
                    UNUSED("FUNCTION",
                           "id INT NOT NULL, contextId INT NOT NULL, moduleId INT NOT NULL, "
                           "functionIndex INT NOT NULL, name INT NOT NULL")
                        UNUSED("MODULE", "contextId INT NOT NULL, id INT NOT NULL, cubinSize INT "
                                         "NOT NULL, cubin BLOB "
                                         "NOT NULL")
                            UNUSED("SOURCE_LOCATOR",
                                   "id INT NOT NULL, lineNumber INT NOT NULL, fileName INT NOT "
                                   "NULL") "CREATE TABLE MINIPROF_INFO(name TEXT PRIMARY KEY, "
                                           "value);\n"
                                           "CREATE TABLE MINIPROF_PROPERTY(_id_ INTEGER PRIMARY "
                                           "KEY, key TEXT, value TEXT);\n"
                                           /* Rows of the table `string` that StringTable cannot
                                              hold exactly. */
                                           "CREATE TABLE MINIPROF_STRING(_id_ INTEGER PRIMARY KEY, "
                                           "id INT, value BLOB);\n";

/* `m` is the table of ours, `n` nvprof's; `a` and `b` are two of which one has the row. */
#define KERNEL_ROWS                                                                                \
    "m.stream, m.shape, m.node, n.start, n.end, n.correlationId "                                  \
    "FROM MINIPROF_KERNEL m JOIN CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL n ON n._id_ = m._id_"
#define COPY_ROWS                                                                                  \
    "m.stream, coalesce(a.copyKind, b.copyKind), coalesce(a.srcKind, b.srcKind), "                 \
    "coalesce(a.dstKind, b.dstKind), coalesce(a.flags, b.flags), coalesce(a.bytes, b.bytes), "     \
    "m.node, coalesce(a.start, b.start), coalesce(a.end, b.end), "                                 \
    "coalesce(a.correlationId, b.correlationId), m.source_device, m.source_context, "              \
    "m.target_device, m.target_context, m.count "                                                  \
    "FROM MINIPROF_COPY m LEFT JOIN CUPTI_ACTIVITY_KIND_MEMCPY a ON a._id_ = m._id_ "              \
    "LEFT JOIN CUPTI_ACTIVITY_KIND_MEMCPY2 b ON b._id_ = m._id_ "                                  \
    "WHERE a._id_ IS NOT NULL OR b._id_ IS NOT NULL"
#define SET_ROWS                                                                                   \
    "m.stream, n.bytes, n.value, n.memoryKind, n.flags, m.node, n.start, n.end, n.correlationId "  \
    "FROM MINIPROF_SET m JOIN CUPTI_ACTIVITY_KIND_MEMSET n ON n._id_ = m._id_"
#define CALL_ROWS                                                                                  \
    "m.thread, m.function, coalesce(a.start, b.start), coalesce(a.end, b.end), "                   \
    "coalesce(a.correlationId, b.correlationId), coalesce(a.returnValue, b.returnValue), "         \
    "m.stack "                                                                                     \
    "FROM MINIPROF_CALL m LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME a ON a._id_ = m._id_ "             \
    "LEFT JOIN CUPTI_ACTIVITY_KIND_DRIVER b ON b._id_ = m._id_ "                                   \
    "WHERE a._id_ IS NOT NULL OR b._id_ IS NOT NULL"
#define NVTX_ROWS                                                                                  \
    "m.thread, m.kind, n.domain, m.name, n.timestamp, m.range, m.category, m.color, "              \
    "m.payload_type, m.payload, m.cut, m.payload_schema, m.extended "                              \
    "FROM MINIPROF_NVTX m JOIN CUPTI_ACTIVITY_KIND_MARKER n ON n._id_ = m._id_"
#define OVERHEAD_ROWS                                                                              \
    "m.thread, n.overheadKind, n.start, n.end, m.correlation "                                     \
    "FROM MINIPROF_OVERHEAD m JOIN CUPTI_ACTIVITY_KIND_OVERHEAD n ON n._id_ = m._id_"
#define UNIFIED_ROWS                                                                               \
    "m.counterKind, m.srcId, m.dstId, m.streamId, m.value, m.address, m.flags, m.start, "          \
    "CASE m.end WHEN 0 THEN m.start ELSE m.end END "                                               \
    "FROM CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER m"

#define M(table, column) MP_COLUMN_MASK(table, column)
static const struct nvvp_mapping mappings[MP_TABLE_COUNT] = {
    [MP_INDEX_kernel] = {.kept = M(kernel, stream) | M(kernel, shape) | M(kernel, node),
                         .select = KERNEL_ROWS,
                         .ends = true},
    [MP_INDEX_copy] = {.kept = M(copy, stream) | M(copy, node) | M(copy, source_device) |
                               M(copy, source_context) | M(copy, target_device) |
                               M(copy, target_context) | M(copy, count),
                       .select = COPY_ROWS,
                       .ends = true},
    [MP_INDEX_set] = {.kept = M(set, stream) | M(set, node), .select = SET_ROWS, .ends = true},
    [MP_INDEX_call] = {.kept = M(call, thread) | M(call, function) | M(call, stack),
                       .select = CALL_ROWS,
                       .ends = true},
    [MP_INDEX_nvtx] = {.kept = M(nvtx, thread) | M(nvtx, kind) | M(nvtx, name) | M(nvtx, range) |
                               M(nvtx, category) | M(nvtx, color) | M(nvtx, payload_type) |
                               M(nvtx, payload) | M(nvtx, cut) | M(nvtx, payload_schema) |
                               M(nvtx, extended),
                       .select = NVTX_ROWS},
    [MP_INDEX_overhead] = {.kept = M(overhead, thread) | M(overhead, correlation),
                           .select = OVERHEAD_ROWS,
                           .ends = true},
    [MP_INDEX_unified] = {.select = UNIFIED_ROWS, .ends = true},
};

struct nvvp_mapping nvvp_mapping_of(enum mp_table_index index)
{
    if (index == MP_INDEX_string)
        return (struct nvvp_mapping){.kept = 0};
    if (!mappings[index].select)
        return (struct nvvp_mapping){.kept = UINT32_MAX};
    return mappings[index];
}
