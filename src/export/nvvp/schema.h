/* The contents of an .nvvp file: nvprof's tables (tables.def) and ours.
 *
 * A row of one of our tables is row number n of its table. This number is the `_id_` of its row in
 * nvprof's table and in MINIPROF_table. MINIPROF_table has only the columns that cannot be restored
 * from nvprof's table; if nvprof has no such table, these are all columns. Strings are in
 * StringTable under their numbers in the trace.
 *
 * Times are nanoseconds since 1970, as in nvprof's files, if the trace's header says how its clock
 * relates to 1970. MINIPROF_INFO then has `time_offset_ns`, which was added to each time. 0 stays
 * 0, which means "unknown" on both sides.
 */
#ifndef MP_EXPORT_NVVP_SCHEMA_H
#define MP_EXPORT_NVVP_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/nvvp/tables.def"
#include "trace/schema.h"

#define NVVP_VERSION    12 /* of nvprof's schema */
#define NVVP_OUR_FORMAT 1  /* of the MINIPROF_ tables; a greater one is refused */

#define NVVP_INDEX_ENTRY(table) NVVP_##table,
enum nvvp_table_index { NVVP_TABLES(NVVP_INDEX_ENTRY) NVVP_TABLE_COUNT };
#undef NVVP_INDEX_ENTRY

struct nvvp_blob {
    uint8_t bytes[16];
    uint8_t size;
};

/* struct nvvp_RUNTIME and so on: a row of each. */
#define NVVP_CELL_INT                    uint64_t
#define NVVP_CELL_BLOB                   struct nvvp_blob
#define NVVP_ROW_CELL(table, name, type) NVVP_CELL_##type name;
#define NVVP_ROW_STRUCT(table)                                                                     \
    struct nvvp_##table {                                                                          \
        NVVP_COLUMNS_##table(NVVP_ROW_CELL)                                                        \
    };
NVVP_TABLES(NVVP_ROW_STRUCT)
#undef NVVP_ROW_STRUCT
#undef NVVP_ROW_CELL

struct nvvp_column {
    const char *name;
    uint16_t offset; /* in the row's struct */
    bool blob;       /* else a uint64_t */
};

struct nvvp_table {
    const char *name; /* CUPTI_ACTIVITY_KIND_... */
    const struct nvvp_column *columns;
    unsigned column_count;
};

extern const struct nvvp_table nvvp_tables[NVVP_TABLE_COUNT];

/* The CREATE statements of all other tables of a file. */
extern const char nvvp_other_tables[];

/* A time of the trace as a time of the file, and back. 0 stays 0. The one time that the offset
 * would turn into 0 is written as the offset itself, so that no two times become one. */
static inline uint64_t nvvp_time_out(uint64_t time, uint64_t offset)
{
    if (!time)
        return 0;
    return time + offset ? time + offset : offset;
}

static inline uint64_t nvvp_time_in(uint64_t time, uint64_t offset)
{
    if (!time)
        return 0;
    return time - offset ? time - offset : 0 - offset;
}

/* Where the columns of a table of ours are. */
struct nvvp_mapping {
    uint32_t kept;      /* columns that MINIPROF_table has; 0: there is no such table */
    const char *select; /* all columns of the table, then FROM...; NULL: MINIPROF_table has all */
    bool ends;          /* `select` gives ends for durations */
};

/* The mapping of the table mp_tables()[index]. The table `string` has none. */
struct nvvp_mapping nvvp_mapping_of(enum mp_table_index index);

/* The name of a function of CUDA by CUPTI's callback id, since nvprof's files hold only the ids:
 * with its version suffix, *bytes long and not NUL-terminated; NULL when there is none. It walks
 * over all names before it, so ask once for each function. */
const char *cbid_name(bool driver, uint64_t cbid, size_t *bytes);

#endif
