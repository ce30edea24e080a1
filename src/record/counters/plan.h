/* From the names of metrics that the user asks for to what one GPU counts.
 *
 *     MINIPROF_METRICS      choices                          raw
 *     flop_count_sp    ->   exact: fadd + fmul + 2 * ffma    gpu__time_duration.sum
 *     l2_load_bytes    ->   substitute: xbar2l1tex bytes     ...fadd_pred_on.sum
 *     nonsense         ->   unknown                          ...
 *
 * Each name becomes the first of its expressions (base/metrics/metrics.h) whose inputs CUPTI has on
 * this chip. The GPU counts the inputs of all expressions, each input once, in as many passes as
 * CUPTI says. The duration of the kernel is always among them, because CUPTI's activity records
 * have no times for profiled kernels (CUDA 13.0, H100).
 *
 * Immutable once built.
 */
#ifndef MP_RECORD_COUNTERS_PLAN_H
#define MP_RECORD_COUNTERS_PLAN_H

#include "base/metrics/metrics.h"
#include "record/counters/profiler_api.h"

#define METRIC_PLAN_MAX 1024u /* metrics in a plan, and raw ones after them */

struct metric_choice {
    char name[METRIC_NAME_BYTES];
    struct metric_entry entry;   /* may point to `name` */
    const char *description;     /* static, or CUPTI's */
    const char *expression_text; /* NULL: not available */
    unsigned state;              /* MP_metric_state_* */
    struct metric_expression expression;
    uint16_t inputs[METRIC_MAX_INPUTS]; /* positions in the plan's `raw` */
};

struct metric_plan {
    const struct profiler_api *api;
    unsigned device; /* ordinal */
    struct metric_choice *choices;
    size_t choice_count;
    const char **raw; /* point into the choices; [0] is the kernel's duration in ns */
    size_t raw_count;
    void *host; /* CUPTI's, with all of `raw` */
    uint8_t *config;
    size_t config_bytes;
    size_t passes;
    char device_name[128]; /* for a query only: otherwise CUPTI's records tell it */
    const char **base;     /* for a query: CUPTI's names without rollups, owned by `host` */
    size_t base_count;
};

/* Makes a plan for the names in `list` (MINIPROF_METRICS). `context` belongs to the device: CUPTI
 * is asked what the GPU can count now. With `only_listed` the plan tells for each name whether it
 * is available, and is not for counting. Takes tens to hundreds of ms. MP_ERR_UNSUPPORTED with the
 * reason, MP_ERR_MEMORY; *plan is then NULL. */
enum mp_status metric_plan_build(struct metric_plan **plan, const struct profiler_api *api,
                                 const char *list, CUdevice device, CUcontext context,
                                 bool only_listed, struct mp_error *error);

/* Adds the names of all of CUPTI's metrics for the chip, if memory allows. */
void metric_plan_add_base(struct metric_plan *plan);

void metric_plan_free(struct metric_plan *plan);

/* The value of a choice that has an expression, from those of `raw`. */
double metric_plan_value(const struct metric_choice *choice, const double *raw);

#endif
