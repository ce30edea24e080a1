/* What work was bound by: classes, from the means of its counters. */
#include <math.h>

#include "analyze/counters/pass.h"
#include "base/text/strings.h"
#include "model/kernels/kernel_rules.h"

#include "base/poison.h"

#define MUCH_PCIE  0.6 /* of the most that was seen */
#define LEAST_PCIE 1e9 /* bytes a second */

static const char *const telling[COUNTERS_TELLING] = {
    [COUNTERS_SMS] = "sm_active",  [COUNTERS_TENSOR] = "tensor_active",
    [COUNTERS_ISSUE] = "sm_issue", [COUNTERS_DRAM] = "dram_active",
    [COUNTERS_RX] = "pcie_rx",     [COUNTERS_TX] = "pcie_tx",
    [COUNTERS_LINK] = "nvlink_rx",
};

const char *counters_class_name(enum counters_class class)
{
    static const char *const names[] = {
        [COUNTERS_UNKNOWN] = "-",       [COUNTERS_MEMORY] = "memory",
        [COUNTERS_COMPUTE] = "compute", [COUNTERS_PCIE] = "PCIe",
        [COUNTERS_WAITING] = "waiting", [COUNTERS_FEW_SMS] = "few SMs",
        [COUNTERS_LATENCY] = "latency",
    };

    return names[class];
}

/* The most that a direction of PCIe has seen on any device, if that is much. */
static double greatest_of(const struct counters_result *result, const char *name)
{
    double most = LEAST_PCIE;

    for (size_t i = 0; i < result->counter_count; i++)
        if (result->counters[i].name && mp_text_equal(result->counters[i].name, name))
            most = fmax(most, result->counters[i].all.greatest);
    return most;
}

/* Whether a kernel of NCCL transfers little: then it spins until other ranks are there. */
static bool is_waiting(const struct counters_result *result, const double *values, const char *name)
{
    return name && kernel_communicates(name) && values[COUNTERS_DRAM] < 10 &&
           !(values[COUNTERS_LINK] >= 0.3 * greatest_of(result, telling[COUNTERS_LINK]));
}

enum counters_class counters_class_of(const struct counters_result *result, const double *values,
                                      const char *name)
{
    if (isnan(values[COUNTERS_SMS]))
        return COUNTERS_UNKNOWN;
    if (is_waiting(result, values, name))
        return COUNTERS_WAITING;
    if (values[COUNTERS_DRAM] >= 60)
        return COUNTERS_MEMORY;
    if (values[COUNTERS_TENSOR] >= 50 || values[COUNTERS_ISSUE] >= 60)
        return COUNTERS_COMPUTE;
    if (values[COUNTERS_RX] >= MUCH_PCIE * greatest_of(result, telling[COUNTERS_RX]) ||
        values[COUNTERS_TX] >= MUCH_PCIE * greatest_of(result, telling[COUNTERS_TX]))
        return COUNTERS_PCIE;
    return values[COUNTERS_SMS] < 40 ? COUNTERS_FEW_SMS : COUNTERS_LATENCY;
}

double counters_mean_of(const struct counters_result *result, const struct counters_group *group,
                        enum counters_telling which)
{
    const struct counters_cell *cell = counters_find(result, group, telling[which]);

    return cell ? cell->mean : (double)NAN;
}

double counters_error_of(const struct counters_result *result, const struct counters_group *group,
                         enum counters_telling which)
{
    const struct counters_cell *cell = counters_find(result, group, telling[which]);

    return cell ? cell->error : (double)NAN;
}

void counters_classify(const struct counters_result *result, struct counters_group *group)
{
    double values[COUNTERS_TELLING];

    for (int i = 0; i < COUNTERS_TELLING; i++)
        values[i] = counters_mean_of(result, group, (enum counters_telling)i);
    group->class = group->idle || group->is_cause ? COUNTERS_UNKNOWN
                                                  : counters_class_of(result, values, group->name);
}
