/* What work was bound by: classes, from the means of its counters.
 *
 * A class is said only if the counters that it rests on are known. `few SMs` and `latency` are what
 * remains: they rest on all counters that could have meant another class.
 */
#include <math.h>
#include <string.h>

#include "base/text/strings.h"
#include "profile/names/kernel_kinds.h"
#include "reports/counters/pass.h"

#include "base/poison.h"

#define MUCH_DRAM   60.0 /* percent, as all up to FEW_SMS */
#define MUCH_TENSOR 50.0
#define MUCH_ISSUE  60.0
#define FEW_SMS     40.0
#define MUCH_PCIE   0.6 /* of the most that was seen */
#define MUCH_LINK   0.3
#define MIN_LINK    1e9  /* bytes a second, of NVLink */
#define IDLE_DRAM   10.0 /* percent */

/* Bytes a second. A trace does not know the link of its GPU, and the most that it has seen may be
 * little. PCIe 3.0 has 8 GT/s a lane in 128b/130b (PCI Express Base Specification 3.0). With 16
 * lanes that is 15.8 GB/s, of which packets leave about 12 for data. So no GPU with 16 lanes is at
 * its limit below this: copies of pageable or little memory are slow for other reasons. */
#define MIN_PCIE 10e9

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

/* The greatest sample of a counter on any device; 0 without any. */
static double max_sample(const struct counters_result *result, enum counters_telling which)
{
    double max = 0;

    for (size_t i = 0; i < result->counter_count; i++)
        if (result->counters[i].name && mp_text_equal(result->counters[i].name, telling[which]))
            max = fmax(max, result->counters[i].all.max);
    return max;
}

/* Copies and sets: many are the work of copy engines, none has a grid that could be larger. */
static bool is_transfer(const char *name)
{
    static const char start[] = "[CUDA mem"; /* names_copy, and sets */

    return name && strncmp(name, start, sizeof start - 1) == 0;
}

/* The greatest mean that copies of a kind have for sure. It is more than any sample if they are
 * shorter than a sample. */
static double max_copy(const struct counters_result *result, enum counters_telling which)
{
    double max = 0;

    for (size_t i = 0; i < result->group_count; i++) {
        const struct counters_group *group = &result->groups[i];
        const struct counters_cell *cell =
            is_transfer(group->name) ? counters_find(result, group, telling[which]) : NULL;

        if (cell && cell->mean - cell->error > max)
            max = cell->mean - cell->error;
    }
    return max;
}

bool counters_fill_pcie(const struct counters_result *result, const double *values,
                        enum counters_telling which, double share)
{
    double value = values[which];

    return value >= MIN_PCIE && value >= share * max_sample(result, which) &&
           value >= share * max_copy(result, which);
}

static bool is_full(const struct counters_result *result, const double *values)
{
    return counters_fill_pcie(result, values, COUNTERS_RX, MUCH_PCIE) ||
           counters_fill_pcie(result, values, COUNTERS_TX, MUCH_PCIE);
}

/* Whether a kernel of NCCL transfers little: then it spins until other ranks are there. GPUs
 * without NVLink have no samples of it. */
static bool is_waiting(const struct counters_result *result, const double *values, const char *name)
{
    double max = fmax(max_sample(result, COUNTERS_LINK), MIN_LINK);

    return name && kernel_communicates(name) && values[COUNTERS_DRAM] < IDLE_DRAM &&
           !(values[COUNTERS_LINK] >= MUCH_LINK * max) && !is_full(result, values);
}

/* What it is if no part of the GPU is at its limit. */
static enum counters_class remaining_class(const double *values, const char *name)
{
    bool compute_known = !isnan(values[COUNTERS_TENSOR]) || !isnan(values[COUNTERS_ISSUE]);

    if (isnan(values[COUNTERS_SMS]) || isnan(values[COUNTERS_DRAM]) || !compute_known ||
        is_transfer(name))
        return COUNTERS_UNKNOWN;
    return values[COUNTERS_SMS] < FEW_SMS ? COUNTERS_FEW_SMS : COUNTERS_LATENCY;
}

/* No comparison with an unknown value holds. */
enum counters_class counters_class_of(const struct counters_result *result, const double *values,
                                      const char *name)
{
    if (is_waiting(result, values, name))
        return COUNTERS_WAITING;
    if (values[COUNTERS_DRAM] >= MUCH_DRAM)
        return COUNTERS_MEMORY;
    if (values[COUNTERS_TENSOR] >= MUCH_TENSOR || values[COUNTERS_ISSUE] >= MUCH_ISSUE)
        return COUNTERS_COMPUTE;
    return is_full(result, values) ? COUNTERS_PCIE : remaining_class(values, name);
}

/* The mean of a counter while the group ran; not a number: unknown. */
double counters_mean_of(const struct counters_result *result, const struct counters_group *group,
                        enum counters_telling which)
{
    const struct counters_cell *cell = counters_find(result, group, telling[which]);

    return cell ? cell->mean : (double)NAN;
}

/* The half width of its 95 % confidence. */
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
