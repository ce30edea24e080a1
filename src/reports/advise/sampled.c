/* Rules on what was sampled while kernels and copies ran: device memory at its limit, tensor cores
 * and SMs that idle, a full PCIe, lowered clocks, and NCCL that spins.
 *
 * Each looks at all kernels or copies of an iteration, and says how long one would take after the
 * change, as a factor. What samples do not tell is left alone.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text/strings.h"
#include "base/text/units.h"
#include "reports/advise/build.h"
#include "reports/counters/counters.h"

#include "base/poison.h"

#define FULL_DRAM    90.0 /* percent: a kernel that reaches this cannot be faster */
#define IDLE_TENSORS 10.0 /* percent */
#define FULL_PCIE    0.9  /* of the most that the trace has seen */
#define OFTEN        10.0 /* percent of the time */
#define HALVED       0.5

enum mp_status advise_sampled_load(struct advise *advise)
{
    const struct counters_options options = {.style = advise->deps->style};
    const struct deps *deps = advise->deps;
    struct counters_result *result = &advise->sampled.result;

    advise->sampled.any = profile_has_rows(deps->profile, MP_TABLE_sample);
    if (!advise->sampled.any)
        return MP_OK;
    MP_TRY(counters_build(deps->profile->trace, &options, result, advise->error));
    advise->sampled.briefs = calloc((size_t)deps->names.count + 1, sizeof(struct counters_brief));
    advise->sampled.known = calloc((size_t)deps->names.count + 1, sizeof(bool));
    return advise->sampled.briefs && advise->sampled.known ? MP_OK : MP_ERR_MEMORY;
}

void advise_sampled_free(struct advise *advise)
{
    if (advise->sampled.any)
        counters_result_free(&advise->sampled.result);
    free(advise->sampled.briefs);
    free(advise->sampled.known);
}

/* What work of this name was like, on all devices. */
static const struct counters_brief *brief_of(const struct advise *advise,
                                             const struct deps_activity *work)
{
    const struct advise_sampled *sampled = &advise->sampled;

    if (!sampled->known[work->name]) {
        sampled->known[work->name] = true;
        sampled->briefs[work->name] =
            counters_brief_of(&sampled->result, COUNTERS_ANY_DEVICE, deps_name(advise->deps, work));
    }
    return &sampled->briefs[work->name];
}

double advise_used(const struct advise *advise, const struct deps_activity *work)
{
    static const enum counters_telling limits[] = {COUNTERS_DRAM, COUNTERS_TENSOR, COUNTERS_ISSUE};
    double used = 0;

    for (size_t i = 0; advise->sampled.any && i < sizeof limits / sizeof *limits; i++)
        used = fmax(used, brief_of(advise, work)->values[limits[i]] / 100); /* NAN: not known */
    return used;
}

bool advise_fills_memory(const struct advise *advise, const struct deps_activity *work)
{
    return advise->sampled.any && brief_of(advise, work)->values[COUNTERS_DRAM] >= FULL_DRAM;
}

static const struct counters_cell *of_devices(const struct advise *advise, const char *name,
                                              double *mean, double *max)
{
    const struct counters_result *result = &advise->sampled.result;
    const struct counters_cell *found = NULL;

    for (size_t i = 0; i < result->counter_count; i++) {
        const struct counters_counter *counter = &result->counters[i];

        if (!counter->samples || !counter->name || !mp_text_equal(counter->name, name))
            continue;
        if (!found || counter->all.mean > *mean)
            *mean = counter->all.mean;
        if (!found || counter->all.max > *max)
            *max = counter->all.max;
        found = &counter->all;
    }
    return found;
}

/* ---- What each rule changes: the factor, 1 where the work stays ---- */

typedef double factor_at(struct advise *advise, const struct deps_activity *work,
                         const struct counters_brief *brief);

static double memory_factor(struct advise *advise, const struct deps_activity *work,
                            const struct counters_brief *brief)
{
    (void)advise;
    return work->kind == DEPS_KERNEL && brief->values[COUNTERS_DRAM] >= FULL_DRAM ? HALVED : 1;
}

static double tensor_factor(struct advise *advise, const struct deps_activity *work,
                            const struct counters_brief *brief)
{
    return work->kind == DEPS_KERNEL && advise->kinds[work->name].kind == KERNEL_MATRIX &&
                   brief->values[COUNTERS_TENSOR] < IDLE_TENSORS
               ? HALVED
               : 1;
}

/* Kernels that another limit holds do not gain by more SMs, so the class decides. A kernel in a
 * green context cannot have more, and counters are of the whole GPU. */
static double sms_factor(struct advise *advise, const struct deps_activity *work,
                         const struct counters_brief *brief)
{
    return work->kind == DEPS_KERNEL && !advise->kinds[work->name].communicates &&
                   !advise_is_green(advise, work) && brief->class == COUNTERS_FEW_SMS
               ? fmax(brief->values[COUNTERS_SMS] / 100, advise_used(advise, work))
               : 1;
}

static bool fills(const struct advise *advise, const struct counters_brief *brief,
                  enum counters_telling which)
{
    return counters_fill_pcie(&advise->sampled.result, brief->values, which, FULL_PCIE);
}

/* The direction of PCIe that copies fill; COUNTERS_TELLING: none. Some bytes go the other way too:
 * the GPU requests what comes in. */
static enum counters_telling filled_direction(const struct advise *advise,
                                              const struct counters_brief *brief)
{
    const double *values = brief->values;
    bool in = fills(advise, brief, COUNTERS_RX), out = fills(advise, brief, COUNTERS_TX);

    if (in && (!out || values[COUNTERS_RX] >= values[COUNTERS_TX]))
        return COUNTERS_RX;
    return out ? COUNTERS_TX : COUNTERS_TELLING;
}

static double pcie_factor(struct advise *advise, const struct deps_activity *work,
                          const struct counters_brief *brief)
{
    return work->kind == DEPS_COPY && filled_direction(advise, brief) != COUNTERS_TELLING ? HALVED
                                                                                          : 1;
}

/* Kernels at the highest clock that was seen. */
static double clock_factor(struct advise *advise, const struct deps_activity *work,
                           const struct counters_brief *brief)
{
    double mean = 0, max = 0;

    (void)brief;
    if (work->kind != DEPS_KERNEL || !of_devices(advise, "sm_clock", &mean, &max))
        return 1;
    return mean > 0 && mean < max ? mean / max : 1;
}

/* NCCL's kernels take as long as they transfer something. */
static double nccl_factor(struct advise *advise, const struct deps_activity *work,
                          const struct counters_brief *brief)
{
    double mean = 0, max = 0;

    if (work->kind != DEPS_KERNEL || brief->class != COUNTERS_WAITING)
        return 1;
    if (!of_devices(advise, "nvlink_rx", &mean, &max) || max < 1e9)
        return 0;
    return fmin(fmax(brief->values[COUNTERS_LINK] / max, 0), 1);
}

/* ---- Judging ---- */

static double factor_of(const void *context, uint32_t index)
{
    const struct advise *advise = context;

    return advise->sampled.factors[advise->deps->activities[index].name];
}

/* The mean of what is known, by time. */
struct known_mean {
    double sum; /* value times ns */
    double time;
};

/* `means` is by enum counters_telling; the last one is that of the factor, in percent. */
struct judged {
    struct advise_picked picked;
    struct known_mean means[COUNTERS_TELLING + 1];
};

/* `shown` is the counter of the evidence, COUNTERS_TELLING the factor. Without a meaning it is one
 * of PCIe, in the direction that each copy fills. */
struct rule {
    factor_at *factor;
    enum counters_telling shown;
    const char *what;    /* the work */
    const char *meaning; /* of the value */
};

static void note_value(struct known_mean *mean, double value, double time)
{
    if (isnan(value))
        return;
    mean->sum += value * time;
    mean->time += time;
}

static double value_of(const struct judged *judged, enum counters_telling which)
{
    const struct known_mean *mean = &judged->means[which];

    return mean->time > 0 ? mean->sum / mean->time : (double)NAN;
}

static void pick(struct advise *advise, const struct rule *rule, struct judged *judged)
{
    const struct deps *deps = advise->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];
        enum counters_telling which = rule->shown;

        if (advise->iterations->of[i] == DEPS_NONE ||
            (work->kind != DEPS_KERNEL && work->kind != DEPS_COPY))
            continue;
        const struct counters_brief *brief = brief_of(advise, work);
        double changed = rule->factor(advise, work, brief);
        if (changed >= 1)
            continue;
        advise->sampled.factors[work->name] = changed;
        advise->edits[i] |= DEPS_EDIT_SCALED;
        advise_picked_add(advise, &judged->picked, i);
        if (!rule->meaning)
            which = filled_direction(advise, brief);
        if (advise_counts(advise, i))
            note_value(&judged->means[which],
                       which == COUNTERS_TELLING ? 100 * changed : brief->values[which],
                       (double)(work->end - work->begin));
    }
}

/* ---- Telling ---- */

#define VALUE_BYTES 128 /* of a text with values */

/* `17.1 GB/s to the GPU and 16.9 GB/s from it`. */
static void tell_directions(struct advise_finding *finding, const struct judged *judged,
                            char text[VALUE_BYTES])
{
    double in = value_of(judged, COUNTERS_RX), out = value_of(judged, COUNTERS_TX);

    if (!isnan(in))
        advise_number(finding, "pcie_in_bytes_per_second", in);
    if (!isnan(out))
        advise_number(finding, "pcie_out_bytes_per_second", out);
    if (isnan(in))
        snprintf(text, VALUE_BYTES, "%.3g GB/s from the GPU", out / 1e9);
    else if (isnan(out))
        snprintf(text, VALUE_BYTES, "%.3g GB/s to the GPU", in / 1e9);
    else
        snprintf(text, VALUE_BYTES, "%.3g GB/s to the GPU and %.3g GB/s from it", in / 1e9,
                 out / 1e9);
}

static void tell(const struct advise *advise, struct advise_finding *finding,
                 const struct rule *rule, const struct judged *judged)
{
    const struct advise_picked *picked = &judged->picked;
    char values[VALUE_BYTES] = "";

    if (!rule->meaning) {
        tell_directions(finding, judged, values);
    } else if (!isnan(value_of(judged, rule->shown))) {
        snprintf(values, sizeof values, "%.3g %s", value_of(judged, rule->shown), rule->meaning);
        advise_number(finding, "sampled_percent", value_of(judged, rule->shown));
    }
    advise_evidence(finding, "%s %s an iteration take %s%s%s%s",
                    mp_figure(advise_mean(advise, picked->count)).text, rule->what,
                    advise_time(advise_mean(advise, picked->time)).text, *values ? ", with " : "",
                    values, *values ? " in the mean" : "");
    advise_picked_tell(advise, picked, finding);
}

static enum mp_status judge(struct advise *advise, struct advise_finding *finding,
                            const struct rule *rule)
{
    struct judged judged = {.means = {{0}}};
    enum mp_status status = advise_picked_init(&judged.picked, advise->deps);

    advise->sampled.factors = calloc((size_t)advise->deps->names.count + 1, sizeof(double));
    if (!status && !advise->sampled.factors)
        status = MP_ERR_MEMORY;
    if (!status)
        pick(advise, rule, &judged);
    if (!status && judged.picked.time) {
        advise->factor_of = factor_of;
        status = advise_replay(advise, &finding->gain);
        tell(advise, finding, rule, &judged);
    }
    advise_tally_free(&judged.picked.tally);
    free(advise->sampled.factors);
    advise->sampled.factors = NULL;
    return status;
}

/* ---- The rules ---- */

enum mp_status advise_memory_bound(struct advise *advise, struct advise_finding *finding)
{
    static const struct rule rule = {memory_factor, COUNTERS_DRAM, "kernels",
                                     "% of what device memory can do"};

    finding->assumes = "half the bytes, by lower precision or by fusing; another kernel of the "
                       "same bytes is no faster";
    return judge(advise, finding, &rule);
}

enum mp_status advise_idle_tensor_cores(struct advise *advise, struct advise_finding *finding)
{
    static const struct rule rule = {tensor_factor, COUNTERS_TENSOR, "matrix kernels",
                                     "% of the tensor pipes busy"};

    finding->assumes = "on tensor cores these kernels take half the time";
    return judge(advise, finding, &rule);
}

enum mp_status advise_few_sms(struct advise *advise, struct advise_finding *finding)
{
    static const struct rule rule = {sms_factor, COUNTERS_SMS, "kernels", "% of the SMs active"};

    finding->assumes = "at best: with more work at once each of these kernels fills all SMs in the "
                       "time that it takes now; the gain is that of the same work";
    return judge(advise, finding, &rule);
}

enum mp_status advise_full_pcie(struct advise *advise, struct advise_finding *finding)
{
    static const struct rule rule = {pcie_factor, COUNTERS_RX, "copies", NULL};

    finding->assumes = "half the bytes";
    return judge(advise, finding, &rule);
}

/* Whether the iterations that count came with lowered clocks. */
static bool is_lowered(const struct advise *advise)
{
    double mean = 0, hot = 0, max = 0;

    of_devices(advise, "power_capped", &mean, &max);
    of_devices(advise, "too_hot", &hot, &max);
    return mean >= OFTEN || hot >= OFTEN;
}

enum mp_status advise_low_clocks(struct advise *advise, struct advise_finding *finding)
{
    static const struct rule rule = {clock_factor, COUNTERS_TELLING, "kernels",
                                     "% of the highest clock"};

    if (!is_lowered(advise))
        return MP_OK;
    finding->assumes = "kernels run at the highest clock that was sampled";
    return judge(advise, finding, &rule);
}

enum mp_status advise_nccl_waiting(struct advise *advise, struct advise_finding *finding)
{
    static const struct rule rule = {nccl_factor, COUNTERS_SMS, "kernels of NCCL",
                                     "% of the SMs active while little is transferred,"};

    finding->assumes = "all ranks come at the same time";
    return judge(advise, finding, &rule);
}
