/* Inside of Nsight Systems' own exports, for which its users have scripts: `nsys export --type
 * sqlite` and `parquetdir`. docs/export.md says what is in them.
 *
 *     nsys.c      the two formats; sampled counters
 *     target.c    the tables as data; what stands once for a session, host, process and GPU; texts
 *     rows.c      rows of the GPU's work, of calls with their stacks, of NVTX, waits and memory
 *     payloads.c  extended payloads of NVTX
 *
 * All processes go into one file, as nsys does for a session. Each has its globalPid, which
 * contains a hardware id of its host. Times count from the earliest record of the export.
 */
#ifndef MP_EXPORT_NSYS_BUILD_H
#define MP_EXPORT_NSYS_BUILD_H

#include <string.h>

#include "base/data/map.h"
#include "base/data/storage.h"
#include "export/format.h"
#include "export/nsys/tables.def"
#include "export/tables.h"
#include "profile/stacks/call_stacks.h"
#include "trace/schema.h"

/* ---- The tables (tables.def) by number, and the columns of each ---- */

#define NSYS_SCHEMA_VERSION "3.28.1"

#define NSYS_INDEX_ENTRY(table, name) NSYS_##table,
enum nsys_table { NSYS_TABLES(NSYS_INDEX_ENTRY) NSYS_TABLE_COUNT };
#undef NSYS_INDEX_ENTRY

/* NSYS_KERNEL_start and so on: the place of a column in its table. */
#define NSYS_COLUMN_ENTRY(table, column, type, null) NSYS_##table##_##column,
#define NSYS_COLUMN_ENUM(table, name)                                                              \
    enum nsys_##table{NSYS_COLUMNS_##table(NSYS_COLUMN_ENTRY) NSYS_##table##_COLUMNS};
NSYS_TABLES(NSYS_COLUMN_ENUM)
#undef NSYS_COLUMN_ENUM
#undef NSYS_COLUMN_ENTRY

extern const struct tables_table nsys_tables[NSYS_TABLE_COUNT];

/* ---- The state ---- */

/* A text of the process that comes: its numbers in StringIds; 0: none yet. */
struct nsys_text {
    uint32_t id;
    uint32_t short_id; /* of its short name */
};

struct nsys {
    struct tables *tables;
    const struct export_process *process;
    struct mp_intern strings;
    struct nsys_text *texts; /* by export_text.id */
    size_t text_capacity;
    struct mp_intern hosts;
    struct mp_intern gpus;
    struct mp_intern pids;
    struct mp_intern domains;
    struct call_stacks stacks; /* of the process */
    bool stacks_loaded;
    struct mp_map callchains;       /* of the process: stack -> its id in the file */
    uint32_t callchain;             /* the last id */
    struct mp_buffer text;          /* of the header, made valid; of a frame or a payload */
    struct nsys_payloads *payloads; /* of the process; of payloads.c */
    struct mp_map threads;          /* of the process, by number: named in ThreadNames already */
    uint64_t session;               /* when it began, ns since 1970 */
    uint64_t global_pid;
    uint64_t event; /* the last eventId */
};

/* A time of a row in the session. */
static inline int64_t nsys_time(const struct nsys *nsys, uint64_t time)
{
    return (int64_t)(time + nsys->process->who->offset - nsys->session);
}

/* nsys numbers kinds of memory from pageable, and unknown is the last. */
static inline struct tables_cell nsys_memory_kind(uint64_t kind)
{
    return TABLES_NUMBER(kind >= 1 && kind <= 7 ? kind - 1 : 7);
}

/* ---- target.c ---- */

/* The number of a text in StringIds, which gets it if it is new. */
enum mp_status nsys_string(struct nsys *nsys, const char *text, size_t bytes, uint32_t *id);
enum mp_status nsys_text_id(struct nsys *nsys, const struct export_text *text, uint32_t *id);

/* The number of the name of a kernel without namespaces, template arguments and parameters. */
enum mp_status nsys_short_id(struct nsys *nsys, const struct export_text *text, uint32_t *id);

/* The session; before the first process. The process; its GPUs. */
enum mp_status nsys_begin_session(struct nsys *nsys, const struct export_process *process);
enum mp_status nsys_begin_process(struct nsys *nsys, const struct export_process *process);

/* The globalTid of a row; NULL without a thread. */
enum mp_status nsys_thread(struct nsys *nsys, const struct export_row *row,
                           struct tables_cell *cell);

/* ---- payloads.c ---- */

/* Reads the payloads of the process and forgets those of the one before it. */
enum mp_status nsys_load_payloads(struct nsys *nsys, struct mp_error *error);
void nsys_forget_payloads(struct nsys *nsys);

/* The payload of a row of NVTX, if it has one; valid until the next. */
enum mp_status nsys_put_payload(struct nsys *nsys, const struct export_row *row,
                                struct tables_cell *cell);

/* ---- rows.c ---- */

/* Reads the stacks of calls of the process that begins; forgets those of one that has ended. */
enum mp_status nsys_begin_callchains(struct nsys *nsys, struct mp_error *error);
void nsys_end_callchains(struct nsys *nsys);

typedef enum mp_status nsys_row(struct nsys *nsys, const struct export_row *row);

nsys_row nsys_put_kernel, nsys_put_copy, nsys_put_set, nsys_put_graph, nsys_put_call, nsys_put_sync;
nsys_row nsys_put_nvtx, nsys_put_wait, nsys_put_memory, nsys_put_unified;

#endif
