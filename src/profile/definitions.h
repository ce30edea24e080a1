/* The definition tables of a trace in memory: what the ids in its rows stand for.
 *
 * They are filled while a cursor passes over the file. Definitions stand before the rows that use
 * them, so every id seen so far can be looked up. Ids of definitions that were lost to damage are
 * missing.
 */
#ifndef MP_PROFILE_DEFINITIONS_H
#define MP_PROFILE_DEFINITIONS_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/data/storage.h"
#include "base/status.h"
#include "profile/contexts.h"
#include "profile/dense.h"
#include "profile/names/names.h"

struct definition_string {
    const char *text; /* NUL-terminated; NULL: not defined */
    size_t bytes;
    const char *readable; /* demangled; NULL: not asked for yet */
    const char *nvprof;   /* in nvprof's style; NULL: not asked for yet */
};

struct definition_thread {
    uint64_t tid;
    uint64_t name; /* string */
    bool defined;
};

struct definition_device {
    uint64_t name; /* string */
    bool defined;
};

struct definition_stream {
    uint64_t stream;  /* CUPTI's id */
    uint64_t context; /* CUPTI's id; after definitions_finish the one that it belongs to */
    uint64_t device;  /* ordinal */
    bool defined;
};

struct definition_function {
    uint64_t name; /* string, with the version suffix */
    bool defined;
};

struct definition_shape {
    uint64_t kernel; /* string, mangled */
    bool defined;
};

struct definition_node {
    uint64_t graph; /* CUPTI's id */
    uint64_t graph_node;
    bool defined;
};

struct definition_path {
    uint64_t parent; /* an earlier path, 0 if none; see captured.h */
    uint64_t name;   /* string */
    bool defined;
};

struct definitions {
    struct mp_arena text;
    struct dense strings; /* of struct definition_string; the others likewise, by id */
    struct dense threads;
    struct dense devices; /* by ordinal */
    struct dense streams;
    struct dense functions;
    struct dense shapes;
    struct dense nodes;
    struct dense paths;
    struct contexts contexts;
    uint64_t refused; /* definitions whose ids the bytes of the file do not justify */
};

/* Makes the cursor deliver these columns of one table and nothing else. */
void cursor_select_only(struct mp_cursor *cursor, unsigned table, uint64_t columns);

/* Greatest id plus 1 that the bytes of the file can justify, holes aside. In an intact file ids are
 * dense, and each definition is used by at least one row, which takes about a byte. */
size_t definitions_limit(const struct mp_trace *trace);

/* Sets up for a trace; allocates nothing. */
void definitions_init(struct definitions *definitions, const struct mp_trace *trace);

/* After the file has grown: greater ids are justified now. */
void definitions_raise_limit(struct definitions *definitions, const struct mp_trace *trace);

void definitions_free(struct definitions *definitions);

/* Which definition tables a pass reads (profile/reading.h). */
enum definitions_kept {
    DEFINITIONS_USUAL, /* all but nodes of graphs, which can be many, and their paths */
    DEFINITIONS_ALL,   /* those too */
    DEFINITIONS_TEXTS, /* the texts alone */
    DEFINITIONS_TEXTS_AND_NODES,
};

/* Adds the columns that definitions_take needs to the masks, which stand in the order of
 * mp_tables(). */
void definitions_columns(uint32_t *masks, enum definitions_kept kept);

/* Keeps the rows of a batch of any selected definition table; other tables are passed over. MP_OK
 * or MP_ERR_MEMORY. */
enum mp_status definitions_take(struct definitions *definitions, const struct mp_batch *batch);

/* All definitions are there: finds whose each stream is (contexts.h). reading_run does it at the
 * end of a pass. MP_OK or MP_ERR_MEMORY. */
enum mp_status definitions_finish(struct definitions *definitions);

/* The text of a string id; NULL for 0 and for what is not defined. */
const char *definitions_text(const struct definitions *definitions, uint64_t id);

/* Name of a launch shape's kernel in the wanted style; NULL when it is not defined. Owned by
 * `definitions`. */
const char *definitions_kernel(struct definitions *definitions, uint64_t shape,
                               enum names_style style);

/* Name of an API function with its version suffix; NULL when it is not defined. */
const char *definitions_function(const struct definitions *definitions, uint64_t function);

/* Name of the device with this ordinal; NULL when it is not defined, or has none. */
const char *definitions_device(const struct definitions *definitions, uint64_t ordinal);

/* What a reference to a row of the definition table called `table` means, in words for a person.
 * The text is written to `buffer` unless it exists elsewhere already. NULL when the reference is 0
 * or not defined. */
const char *definitions_label(struct definitions *definitions, const char *table, uint64_t id,
                              char *buffer, size_t size);

#endif
