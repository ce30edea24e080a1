/* What this family shows to others: the NVTX ranges of a trace (spans.h), the calls inside of them
 * (calls.h), and what happened in each, as nvprof prints it (result.h). */
#ifndef MP_REPORTS_NVTX_NVTX_H
#define MP_REPORTS_NVTX_NVTX_H

#include "reports/nvtx/calls.h"
#include "reports/nvtx/result.h"
#include "reports/nvtx/spans.h"

#endif
