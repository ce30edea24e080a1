/* The tables that hold activities, once for all who read them: which column is the begin, the
 * duration, the launch, and what a row is called.
 *
 *     const struct activity_table *table = activity_of(batch->table->id);
 *     uint64_t begin = activity_value(batch->columns, table->start, row);
 */
#ifndef MP_PROFILE_ACTIVITY_H
#define MP_PROFILE_ACTIVITY_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "profile/definitions.h"
#include "profile/names/names.h"

/* The first ones are summed up by name, in this order. */
enum activity_kind {
    ACTIVITY_KERNEL,
    ACTIVITY_COPY,
    ACTIVITY_SET,
    ACTIVITY_GRAPH,
    ACTIVITY_UNIFIED,
    ACTIVITY_CALL,
    ACTIVITY_SUMMARISED,
    ACTIVITY_HOST_FUNCTION = ACTIVITY_SUMMARISED,
    ACTIVITY_SYNC,
    ACTIVITY_WAIT,
    ACTIVITY_NVTX,
    ACTIVITY_MEMORY,
    ACTIVITY_POOL,
    ACTIVITY_OVERHEAD,
    ACTIVITY_COLLECTIVE,
    ACTIVITY_METRIC,
    ACTIVITY_KINDS
};

enum summary_group_index { SUMMARY_GPU, SUMMARY_API, SUMMARY_GROUPS };

#define ACTIVITY_UNNAMED_KERNEL "[unnamed kernel]"
#define ACTIVITY_UNNAMED_CALL   "[unnamed call]"
#define ACTIVITY_SET_NAME       "[CUDA memset]"

/* Names an id of a table's id column: `buffer`, or text owned elsewhere. NULL if the id has no
 * name, or if such rows are not listed (then the table has no `unnamed`). */
typedef const char *activity_name(struct definitions *definitions, enum names_style style,
                                  uint64_t id, char buffer[NAMES_BYTES]);

/* A column is 1 + its position in mp_table_info.columns; 0: the table has none such. */
struct activity_table {
    unsigned table; /* enum mp_table_id */
    uint8_t start;
    uint8_t duration;    /* none: a moment */
    uint8_t correlation; /* of the call that launched it, or its own */
    uint8_t stream;      /* none: no device, or not from a stream */
    uint8_t thread;
    uint8_t node;   /* of a CUDA graph */
    uint8_t bytes;  /* copied or set */
    uint8_t calls;  /* how many calls a row stands for; none: one */
    uint8_t id;     /* what it is named by, with `name` */
    bool by_launch; /* belongs to the capture range of its launch; else by its begin */
    bool partly;    /* only ids that have a name are listed, and only if they took time */
    enum summary_group_index group;
    activity_name *name;
    const char *unnamed; /* what rows without a name are called */
};

extern const struct activity_table activity_tables[ACTIVITY_KINDS];

/* The table with this id on disk; NULL: it holds no activities. */
const struct activity_table *activity_of(unsigned table);

/* The bit of a column for mp_cursor_select; 0 without one. */
static inline uint32_t activity_mask(unsigned column)
{
    return column ? UINT32_C(1) << (column - 1) : 0;
}

/* The values of a column of a batch; NULL without one. */
static inline const uint64_t *activity_column(const uint64_t *const *columns, unsigned column)
{
    return column ? columns[column - 1] : NULL;
}

/* A row's value in a column; 0 without one. */
static inline uint64_t activity_value(const uint64_t *const *columns, unsigned column, uint32_t row)
{
    return column ? columns[column - 1][row] : 0;
}

/* How many calls a row stands for: at least one. */
static inline uint64_t activity_calls(const struct activity_table *table,
                                      const uint64_t *const *columns, uint32_t row)
{
    uint64_t calls = activity_value(columns, table->calls, row);

    return calls ? calls : 1;
}

/* What unified memory did (enum mp_unified_kind): `[Unified Memory Memcpy HtoD]`. */
const char *activity_unified(uint64_t kind);

/* Bytes of a name that count: API functions go without their version suffix. */
size_t activity_name_length(const struct activity_table *table, const char *name);

/* ---- Waiting for peers ----
 *
 * How long kernels of NCCL waited for kernels of other ranks, from their begin on. A trace alone
 * does not know it: reports/ranks finds it in the traces of all ranks.
 */

struct peer_wait {
    uint64_t begin, duration; /* ns, of the kernel, as recorded */
    uint64_t waiting;         /* ns, at most the duration */
};

/* Of one trace; zeroed, nobody waited. */
struct peer_waits {
    struct peer_wait *items; /* sorted by begin, then duration; owned */
    size_t count, capacity;
};

/* Sorts what was added in any order. Of a kernel of several operations, the longest wait stays. */
void peer_waits_sort(struct peer_waits *waits);

/* How long this kernel waited; 0: it did not. */
uint64_t peer_waits_of(const struct peer_waits *waits, uint64_t begin, uint64_t duration);

#endif
