/* Folded stacks, one a line, for flame graphs: flamegraph.pl, inferno, speedscope.
 *
 *     step;layer 3;void gemm<float>(...) 128344
 *
 * The frames are the functions and lines that called, outermost first, where the trace has them
 * (--frames callers). Else, or with --frames ranges, they are the NVTX ranges around the launch,
 * and then the ranges in which the node of a graph was captured. The kernel or call comes last. A
 * part of the captured ranges that the launch is in already is left out, as `miniprof layers` does.
 * The number is ns:
 *
 *     device     of the GPU's work, as summary counts it
 *     waiting    that calls and threads waited, as `miniprof deps` counts it
 *     critical   on the critical path of the iterations, of work, calls and waits
 *
 * `;` separates frames, so in names it becomes `:`, and what acts
 * (base/text/foreign.h) becomes `?`. Memory: each different stack once, the ranges
 * (reports/nvtx/spans.h), and the paths of nodes.
 */
#ifndef MP_EXPORT_FOLDED_FOLDED_H
#define MP_EXPORT_FOLDED_FOLDED_H

#include "export/common/format.h"

extern const struct export_format export_folded;

#endif
