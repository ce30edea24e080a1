/* The work that ran in CUDA graphs, by the NVTX ranges in which its nodes were captured: the second
 * half of result.h, which declares the structs.
 */
#ifndef MP_REPORTS_NVTX_CAPTURED_H
#define MP_REPORTS_NVTX_CAPTURED_H

#include "profile/ranges.h"
#include "reports/nvtx/result.h"

/* Fills in result->captured. If any node has a path, the work is read once more. A piece of work
 * counts once in each range of its path, even if two ranges of the path have the same name. Names,
 * definitions of strings and shapes, and quality are the result's. MP_ERR_IO, MP_ERR_MEMORY,
 * MP_ERR_LIMIT. */
enum mp_status nvtx_captured_build(struct nvtx_result *result, const struct nvtx_options *options,
                                   const struct capture_range *range, struct mp_error *error);

#endif
