/* What is inside a trace file: rows and bytes of each table, time span, capture ranges, quality. */
#ifndef MP_REPORTS_SUMMARY_CONTENTS_H
#define MP_REPORTS_SUMMARY_CONTENTS_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/status.h"
#include "profile/definitions.h"
#include "profile/quality.h"
#include "profile/ranges.h"
#include "reports/recording_cost/baseline.h"
#include "reports/summary/running.h"

struct table_contents {
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

struct contents {
    struct table_contents *tables; /* one for each of mp_tables(), in its order */
    size_t table_count;
    struct table_contents total; /* of all tables */
    uint64_t bytes;              /* of the whole file: header and index too */
    uint64_t other_bytes; /* that belong to no table: header, index, unknown tables, damage */
    uint64_t records;     /* rows of event tables except `capture` and `quality`, which are the
                             recorder's own notes; bytes per record refers to these rows */
    uint64_t first_time;  /* ns; of the event tables; 0 without records */
    uint64_t last_time;
    struct capture_ranges ranges;
    struct quality quality;
    struct baseline baseline;
    struct nccl_sources nccl_sources;
    struct running running; /* at the end of the program */
    struct definitions definitions;
};

/* Reads every chunk and checks its checksum. MP_ERR_IO or MP_ERR_MEMORY leave `contents` empty; on
 * success contents_free gives it back. */
enum mp_status contents_build(struct mp_trace *trace, struct contents *contents,
                              struct mp_error *error);

void contents_free(struct contents *contents);

#endif
