/* nvprof's GPU trace and API trace: a row for each record, in order of time, printed as it is read.
 *
 *     GPU trace   kernels, copies, memory sets, whole graph launches, unified memory
 *     API trace   CUDA calls and NVTX events; a launch carries the name of its kernel
 *     both        one table in the layout of the GPU trace; rows of the host have no device
 *
 * Starts count from the first printed record. Columns that are empty in the whole trace are left
 * out, also in nvprof's CSV. miniprof's own CSV has the columns of JSON, always all of them.
 */
#ifndef MP_REPORTS_TRACE_TRACE_H
#define MP_REPORTS_TRACE_TRACE_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "profile/names/names.h"
#include "profile/quality.h"
#include "profile/set.h"
#include "table/table.h"

struct traces_options {
    bool gpu; /* at least one of the two */
    bool api;
    bool head;              /* print_head above; JSON has it always */
    enum names_style style; /* of C++ names */
    uint64_t range;         /* only this capture range; 0: all of them */
    bool captured; /* rows of JSON and of miniprof's own CSV say in which NVTX ranges their graph
                      node was captured */
    enum mp_style numbers;                 /* of sizes in texts */
    const struct names_patterns *patterns; /* of contexts and streams; NULL: plain numbers */
    const struct quality *reported; /* what the caller's own head has already said, or NULL */
};

/* Prints `==PID== Profiling result:` and the table, or in JSON the whole document. *quality is
 * filled in here, whatever it held; free it with quality_free, also after a failure. It is complete
 * only when this returns, after the head was printed. What is found later is printed below the
 * table. MP_ERR_ARGUMENT: there is no such range; MP_ERR_IO; MP_ERR_MEMORY. */
enum mp_status print_traces(const struct report_out *out, struct mp_trace *trace,
                            const struct traces_options *options, struct quality *quality,
                            struct mp_error *error);

/* The rows of all processes of the set in one table, in order of aligned time (profile/set.h), then
 * of the processes. A column names the process. Starts count from the first printed record; in JSON
 * and in miniprof's own CSV they are ns since 1970. All files are open at the same time, each with
 * the memory that it takes alone. *whole says whether nothing is missing. Fails as print_traces
 * does; options->head and options->reported are ignored. */
enum mp_status print_traces_merged(const struct report_out *out, const struct trace_set *set,
                                   const struct traces_options *options, bool *whole,
                                   struct mp_error *error);

#endif
