/* Counters of the GPU over time (MINIPROF_SAMPLE), and what they were while kernels, copies or the
 * work of layers ran.
 *
 * A sample is a mean over a stretch of time in which several kernels may have run. Its value is
 * taken to be
 *
 *     sum over the groups of (their share of the stretch) * (the group's mean) + noise
 *
 * where one group stands for the time in which nothing ran. Least squares over all samples of a
 * device give the groups' means, also of kernels that are much shorter than a sample, as long as
 * samples mix them differently. Groups that overlap add up, as their bytes do. A clock or the power
 * is one value for all that runs: there they divide the time. How well the samples tell a group
 * apart is its error: with few samples, or with groups that always run together, it is large, and
 * then there is no mean.
 *
 * Percentiles and the greatest value are of samples that lie in the group almost alone.
 *
 * Causes of idle time are groups beside the kernels. An iteration is not solved for: its value is
 * the mean of its samples. Those at its ends count in part, which is its error: parts of a sample
 * may differ as much as neighbouring samples do, or as those before and after it.
 *
 * Memory: 18 bytes a sample and 2 a value, 64 bytes an activity of the device, 12 for each pair of
 * a sample and an activity in it.
 */
#ifndef MP_REPORTS_COUNTERS_COUNTERS_H
#define MP_REPORTS_COUNTERS_COUNTERS_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/metrics/sampled.h"
#include "base/status.h"
#include "profile/definitions.h"
#include "profile/quality.h"

#define COUNTERS_MAX        1024u /* counters of a trace */
#define COUNTERS_MAX_GROUPS 128u  /* groups beyond these, by their time, are one */

enum counters_by {
    COUNTERS_BY_KERNEL,
    COUNTERS_BY_LAYER,
    COUNTERS_BY_ITERATION,
    COUNTERS_BY_IDLE /* why nothing ran: causes of idle time inside of iterations */
};

#define COUNTERS_MAX_ITERATIONS 10000u /* rows; later ones are left out */

struct deps;
struct iterations;
struct layers_options;
struct layers_result;

struct counters_options {
    uint64_t range; /* id of a capture range; 0: everything */
    enum counters_by by;
    enum names_style style;
    const struct layers_options *as;     /* layers are what they are with these; NULL: the usual */
    const struct deps *deps;             /* of iterations and idle time, with times as recorded; */
    const struct iterations *iterations; /* else NULL, both */
};

/* What the samples say of a counter, of a device or of a group. */
struct counters_cell {
    double mean;    /* not a number: unknown */
    double error;   /* of the mean: it is within +- this in 95 of 100 cases; of a device 0 */
    double samples; /* that lie in the group, counted by their shares */
    uint64_t whole; /* that lie in it almost alone; the next three are of these, 0 without any */
    double p50, p95, max;
};

/* A counter that was asked for on a device. Texts belong to the result. */
struct counters_counter {
    uint64_t device;
    const char *name;
    enum sampled_by by;
    enum metric_unit unit;
    double step;
    uint64_t interval; /* ns, as asked for */
    const char *expression;
    const char *note; /* why it has no better source; NULL */
    uint64_t samples;
    uint64_t covered; /* ns */
    uint64_t missing; /* ns without samples in capture ranges, from the device's first work on; 0
                         if the trace has no sample at all */
    struct counters_cell all;
    size_t place; /* among the counters of its device */
};

/* The class of a group: what it is bound by, as its counters show. The first but
 * COUNTERS_WAITING of which the counters are known and that applies; docs/counters.md has the
 * table. */
enum counters_class {
    COUNTERS_UNKNOWN,
    COUNTERS_MEMORY,  /* device memory at 60 % or more */
    COUNTERS_COMPUTE, /* tensor pipes at 50 % or more, or instructions at 60 % */
    COUNTERS_PCIE,    /* PCIe at 60 % of the most that the trace has seen, see counters_fill_pcie */
    COUNTERS_WAITING, /* a kernel of NCCL that spins: memory, NVLink and PCIe have little work */
    COUNTERS_FEW_SMS, /* less than 40 % of the SMs have work; not of copies and sets */
    COUNTERS_LATENCY  /* none of these; not of copies and sets */
};

/* "memory", "few SMs"; "-" if unknown. */
const char *counters_class_name(enum counters_class class);

/* Work of one kind on one device. */
struct counters_group {
    uint64_t device;
    const char *name; /* of the kernel or the layer; NULL: all others, or nothing ran */
    bool idle;        /* the time in which nothing ran, or no cause is known for */
    bool is_cause;    /* of idle time */
    uint64_t calls;
    uint64_t time; /* ns */
    enum counters_class class;
    size_t cells; /* of the result: one for each counter of the device */
};

struct counters_result {
    struct counters_counter *counters; /* by device, in the order in which they were asked for */
    size_t counter_count;
    struct counters_group *groups; /* by device, then by time, idle last */
    size_t group_count;
    struct counters_cell *cells; /* see counters_cell */
    size_t cell_count;
    uint64_t overflows; /* times that samples had no room */
    size_t left_out;    /* iterations */
    bool asked;         /* counters were to be sampled */
    size_t range_count;
    struct quality quality;
    struct definitions definitions;
    struct mp_arena names;
};

/* MP_ERR_ARGUMENT when there is no such range, MP_ERR_IO, MP_ERR_MEMORY; the result is then empty.
 * On success counters_result_free gives it back. */
enum mp_status counters_build(struct mp_trace *trace, const struct counters_options *options,
                              struct counters_result *result, struct mp_error *error);

void counters_result_free(struct counters_result *result);

/* The cell of a group and a counter of its device. */
struct counters_cell *counters_cell(const struct counters_result *result,
                                    const struct counters_group *group,
                                    const struct counters_counter *counter);

/* The cell of a group and the counter with this name on its device; NULL when there is none. */
const struct counters_cell *counters_find(const struct counters_result *result,
                                          const struct counters_group *group, const char *name);

/* ---- At a glance ---- */

/* The counters that tell what work is bound by. */
enum counters_telling {
    COUNTERS_SMS,
    COUNTERS_TENSOR,
    COUNTERS_ISSUE,
    COUNTERS_DRAM,
    COUNTERS_RX,
    COUNTERS_TX,
    COUNTERS_LINK, /* NVLink, received */
    COUNTERS_TELLING
};

/* What a kernel or a layer was like. */
struct counters_brief {
    double values[COUNTERS_TELLING]; /* means; not a number: unknown */
    double errors[COUNTERS_TELLING]; /* half widths of their 95 % confidence; of the same values */
    enum counters_class class;
};

/* Whether one of COUNTERS_RX and COUNTERS_TX is at least `share` of the most that the trace has
 * seen, in samples and as means of copies, and as much as a full PCIe carries at least. */
bool counters_fill_pcie(const struct counters_result *result, const double *values,
                        enum counters_telling which, double share);

#define COUNTERS_ANY_DEVICE UINT64_MAX

/* Kernels, copies or sets of one name on a device. */
struct counters_brief counters_brief_of(const struct counters_result *result, uint64_t device,
                                        const char *name);

/* Each layer with the layers in it, on all devices, by its index. Unknown is what is known of less
 * than 0.9 of its time. NULL if nothing was sampled. Owned by the caller. */
enum mp_status counters_of_layers(struct mp_trace *trace, const struct layers_options *options,
                                  const struct layers_result *layers,
                                  struct counters_brief **briefs, struct mp_error *error);

/* ---- Clocks ---- */

/* How fast the SMs ran during an iteration; not a number: unknown. */
struct counters_clocks {
    double percent;      /* of the clock of the median iteration; of the device where it is least */
    double power_capped; /* percent of the time, of the device where it is most; the same below */
    double too_hot;
    double more_capped; /* percent points beyond the median iteration, of the same devices */
    double hotter;
};

/* By iteration. NULL without samples of the clock or of what lowers it. Owned by the caller. */
enum mp_status counters_clocks(struct mp_trace *trace, const struct iterations *iterations,
                               struct counters_clocks **clocks, struct mp_error *error);

/* Whether the iteration came with clocks that are lower by 5 percent, or lowered for more of its
 * time than in the median iteration, by a tenth of it. A GPU that is always at its limit explains
 * no outlier. *why is what the GPU said ("power", "heat"), or "unknown". */
bool counters_clocks_are_low(const struct counters_clocks *clocks, const char **why);

/* ---- Lines ---- */

/* What samples in a bin were, as they are stored (sampled_unpack). SAMPLED_UNKNOWN: no value. */
struct counters_bin {
    uint16_t mean, min, max;
};

/* Counters that were measured together, over time. A bin has one sample, or several neighbours. */
struct counters_bins {
    uint64_t device;
    enum sampled_by by;
    size_t *counters; /* places in the result; owned, as the others are */
    size_t width;     /* of them */
    uint64_t *begins; /* of bins, ns; they do not overlap */
    uint64_t *ends;
    struct counters_bin *values; /* [counter * most + bin] */
    size_t count, max;
};

struct counters_lines {
    struct counters_result result; /* counters and definitions, nothing else */
    struct counters_bins *sets;
    size_t count; /* 0: there are no samples */
};

struct counters_window {
    uint64_t range;       /* id of a capture range; 0: everything */
    uint64_t from, until; /* ns */
    size_t max;           /* bins of all counters together; each counter has at least one */
};

/* The window's samples as lines. MP_ERR_ARGUMENT when there is no such range, MP_ERR_IO,
 * MP_ERR_MEMORY; the lines are then empty. counters_lines_free may follow in any case. */
enum mp_status counters_lines_build(struct mp_trace *trace, const struct counters_window *window,
                                    struct counters_lines *lines, struct mp_error *error);

void counters_lines_free(struct counters_lines *lines);

#endif
