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

/* For a pass over the trace (profile/reading.h): a batch of `string`, and one of `collective` with
 * the column `source`. */
void told_take_strings(struct told *told, const struct mp_batch *batch);
void told_take_collectives(struct told *told, const struct mp_batch *batch);

#endif
