/* Who told of the NCCL operations in a trace: rows of `collective` by their source. */
#ifndef MP_REPORTS_SUMMARY_TOLD_H
#define MP_REPORTS_SUMMARY_TOLD_H

#include <miniprof/trace.h>
#include <stdbool.h>

struct told {
    uint64_t by_plugin;
    uint64_t by_nvtx;
    uint64_t by_name; /* NVTX ranges without payloads: no sizes, no communicators */
    bool kernels;     /* the trace names a kernel of NCCL */
};

/* For a pass over the trace (profile/reading.h): the column that is needed, and a batch of any
 * table. Texts come with the columns `id` and `text` of `string`. */
void told_select(struct mp_cursor *cursor);
void told_take(struct told *told, const struct mp_batch *batch);

#endif
