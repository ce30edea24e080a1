/* What this family shows to others: the NVTX ranges of a trace (spans.h), the calls inside of them
 * (calls.h), and what happened in each, as nvprof prints it (result.h). */
#ifndef MP_ANALYZE_NVTX_NVTX_H
#define MP_ANALYZE_NVTX_NVTX_H

#include "analyze/nvtx/calls.h"
#include "analyze/nvtx/result.h"
#include "analyze/nvtx/spans.h"

#endif
