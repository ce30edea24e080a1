/* Rows of several tables in one order: by time where a table has times. So the trace does not hold
 * all of one table before all of the next. */
#ifndef MP_EXPORT_NVVP_MERGE_H
#define MP_EXPORT_NVVP_MERGE_H

#include "export/nvvp/read.h"

struct nvvp_source {
    const char *table;       /* by which errors name it */
    sqlite3_stmt *statement; /* the merge finalizes it */
    uint64_t rows;           /* read so far */
    uint64_t time;           /* of the row at hand */
    bool at_end;
};

/* Runs through all sources; their statements are ready. `sources` are `count` structs of `bytes`
 * bytes that begin with a struct nvvp_source. `read` takes the statement's present row and sets
 * `time`; `take` passes the row on. */
enum mp_status nvvp_merge(struct nvvp_reader *reader, void *sources, size_t count, size_t bytes,
                          enum mp_status (*read)(void *context, struct nvvp_source *),
                          enum mp_status (*take)(void *context, struct nvvp_source *),
                          void *context);

#endif
