/* nvprof's GPU trace and API trace: a row for each record, in order of time, printed as it is read.
 *
 *     GPU trace   kernels, copies, memory sets, whole graph launches, unified memory
 *     API trace   CUDA calls and NVTX events; a launch carries the name of its kernel
 *     both        one table in the layout of the GPU trace; rows of the host have no device
 *
 * Starts count from the first printed record. Of the columns those that hold nothing in the whole
 * trace are left out, in CSV as in text.
 */
#ifndef MP_REPORT_TRACE_TRACE_H
#define MP_REPORT_TRACE_TRACE_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "model/kernels/names.h"
#include "model/trace/quality.h"
#include "model/trace/set.h"
#include "report/table/table.h"

struct traces_options {
    bool gpu; /* at least one of the two */
    bool api;
    bool head;              /* print_head above; JSON has it always */
    enum names_style style; /* of C++ names */
    uint64_t range;         /* only this capture range; 0: all of them */
    bool captured; /* rows say in which NVTX ranges their graph node was captured: JSON does */
    const struct names_patterns *patterns; /* of contexts and streams; NULL: plain numbers */
    const struct quality *told; /* what the caller's own head said, not to be said again; or NULL */
};

/* Prints `==PID== Profiling result:` and the table, or the whole document in JSON. *quality is
 * filled in here, whatever it held, and to be freed with quality_free also after a failure; it is
 * complete when this returns, which is after the head was printed: what turned up on the way is
 * told below the table. MP_ERR_ARGUMENT: there is no such range; MP_ERR_IO; MP_ERR_MEMORY. */
enum mp_status print_traces(const struct report_out *out, struct mp_trace *trace,
                            const struct traces_options *options, struct quality *quality,
                            struct mp_error *error);

/* The rows of all processes of the set in one table, in order of aligned time (trace/set.h), then
 * of the processes, with a column that names the process; starts count from the first printed
 * record, in JSON they are ns since 1970. All files are open at once, each with the memory that it
 * takes alone. *whole says whether nothing is missing. As print_traces fails; options->head and
 * options->told are not looked at. */
enum mp_status print_traces_merged(const struct report_out *out, const struct trace_set *set,
                                   const struct traces_options *options, bool *whole,
                                   struct mp_error *error);

#endif
