/* A trace loaded once: what every analysis needs apart from its rows. Definitions, launch shapes,
 * capture ranges, how complete it is, and what it has of each table.
 *
 *     struct profile profile;
 *
 *     MP_TRY(profile_load(&profile, trace, DEFINITIONS_ALL, error));
 *     if (profile_has_rows(&profile, MP_TABLE_nvtx))
 *         ...
 *     profile_free(&profile);
 *
 * Commands that stream (summary, dump, check, top) do without: their memory stays small.
 */
#ifndef MP_PROFILE_PROFILE_H
#define MP_PROFILE_PROFILE_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/status.h"
#include "profile/definitions.h"
#include "profile/names/shapes.h"
#include "profile/quality.h"
#include "profile/ranges.h"
#include "profile/reading.h"
#include "trace/schema.h"

/* From the headers of the chunks. */
struct profile_table {
    uint64_t rows;
    uint64_t chunks;
    uint64_t bytes;     /* in the file, chunk headers included */
    uint64_t raw_bytes; /* of the columns before compression */
};

/* Operations of NCCL: rows of `collective` by their source. */
struct nccl_sources {
    uint64_t by_plugin;
    uint64_t by_nvtx;
    uint64_t by_name; /* NVTX ranges without payloads: no sizes, no communicators */
    bool kernels;     /* the trace names a kernel of NCCL */
};

struct profile {
    struct mp_trace *trace; /* the caller's */
    struct definitions definitions;
    struct shapes shapes; /* with DEFINITIONS_ALL */
    struct capture_ranges ranges;
    struct quality quality; /* of the file. An analysis counts what it leaves out in its own copy */
    struct profile_table tables[MP_TABLE_COUNT]; /* in the order of mp_tables() */
    struct profile_table total;                  /* of all tables */
    uint64_t bytes;                              /* of the whole file: header and index too */
    uint64_t other_bytes; /* that belong to no table: header, index, unknown tables, damage */
    uint64_t records;     /* rows of event tables except `capture` and `quality`, which are the
                             recorder's own notes; bytes per record refers to these rows */
    uint64_t first_time;  /* ns; of the event tables; 0 without records */
    uint64_t last_time;
    struct nccl_sources nccl_sources;
};

/* Reads the small tables, and the headers of all chunks. The trace stays open as long as the
 * profile is used. MP_ERR_IO or MP_ERR_MEMORY, with a text in *error, leave it empty; on success
 * profile_free gives it back. */
enum mp_status profile_load(struct profile *profile, struct mp_trace *trace,
                            enum definitions_kept kept, struct mp_error *error);

struct profile_options {
    bool check; /* the checksum of every chunk: counts and quality are then of the intact ones */
    const struct reading *with; /* its tables are read in the same pass, when the definitions that
                                   their rows use are known; NULL: none */
};

enum mp_status profile_load_with(struct profile *profile, struct mp_trace *trace,
                                 enum definitions_kept kept, const struct profile_options *options,
                                 struct mp_error *error);

void profile_free(struct profile *profile);

/* Whether the trace has rows of the table with this id. */
bool profile_has_rows(const struct profile *profile, unsigned table);

#endif
