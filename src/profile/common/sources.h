/* The sources of the reports by name: which tables hold activities, in which columns, and how their
 * rows are named.
 */
#ifndef MP_PROFILE_COMMON_SOURCES_H
#define MP_PROFILE_COMMON_SOURCES_H

#include <limits.h>
#include <miniprof/trace.h>
#include <stdbool.h>

#include "profile/definitions.h"
#include "profile/names/names.h"

enum summary_group_index { SUMMARY_GPU, SUMMARY_API, SUMMARY_GROUPS };

#define SOURCES_NO_COLUMN UINT_MAX

/* Names an id of a source's id column: `buffer`, or text owned elsewhere. NULL if the id has no
 * name, or if such rows are not listed (then the source has no `unnamed`). */
typedef const char *source_name(struct definitions *definitions, enum names_style style,
                                uint64_t id, char buffer[NAMES_BYTES]);

struct source {
    unsigned table; /* enum mp_table_id */
    enum summary_group_index group;
    unsigned id; /* columns */
    unsigned start;
    unsigned duration;
    unsigned correlation; /* SOURCES_NO_COLUMN: belongs to a capture range by time */
    unsigned stream;      /* SOURCES_NO_COLUMN: no device, or not from a stream */
    source_name *name;
    const char *unnamed; /* what rows without a name are called */
    bool partly;         /* only ids that have a name are listed, and only if they took time */
    unsigned batch;      /* column: how many calls a row stands for; SOURCES_NO_COLUMN: one */
};

enum source_index {
    SOURCE_KERNEL,
    SOURCE_COPY,
    SOURCE_SET,
    SOURCE_GRAPH,
    SOURCE_UNIFIED,
    SOURCE_CALL,
    SOURCE_COUNT
};

extern const struct source sources[SOURCE_COUNT];

/* The bit of a source's column `batch` in a mask of columns; 0 without one. */
static inline uint32_t source_batch_mask(const struct source *source)
{
    return source->batch == SOURCES_NO_COLUMN ? 0 : 1u << source->batch;
}

/* How many calls row `row` of a source's `columns` stands for: at least one. */
static inline uint64_t source_calls(const struct source *source, const uint64_t *const *columns,
                                    uint32_t row)
{
    uint64_t calls = source->batch == SOURCES_NO_COLUMN ? 1 : columns[source->batch][row];

    return calls ? calls : 1;
}

/* Bytes of a name that count: API functions go without their version suffix. */
size_t source_name_length(const struct source *source, const char *name);

#endif
