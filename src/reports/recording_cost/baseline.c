/* Reads the table `step`, and sums up its steps: those of the name that took most of the time, or
 * those without CUPTI. */
#include "reports/recording_cost/baseline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/reading.h"
#include "trace/schema.h"

#include "base/poison.h"

struct pass {
    const struct profile *profile;
    struct baseline_step *steps;
    size_t count, capacity;
};

static enum mp_status take_steps(void *context, const struct mp_batch *batch)
{
    const struct mp_step_columns step = mp_step_columns(batch->columns);
    struct pass *pass = context;

    for (uint32_t row = 0; row < batch->rows; row++) {
        MP_TRY(MP_RESERVE(pass->steps, pass->count, pass->capacity));
        pass->steps[pass->count++] = (struct baseline_step){
            .name = step.name[row],
            .duration = step.duration[row],
            .run = step.run[row],
            .recorded = step.recorded[row] != 0,
            .bare = step.bare[row] != 0,
        };
    }
    return MP_OK;
}

MP_COMPARE(compare_names, struct baseline_step, MP_ORDER(a->name, b->name));

/* The steps of the name that took most of the time: the first of them, and their number. The steps
 * are sorted by name. */
static const struct baseline_step *choose(const struct pass *pass, size_t *count)
{
    const struct baseline_step *best = pass->steps;
    uint64_t max = 0;

    *count = 0;
    for (size_t i = 0, next; i < pass->count; i = next) {
        uint64_t sum = 0;

        for (next = i; next < pass->count && pass->steps[next].name == pass->steps[i].name; next++)
            sum += pass->steps[next].duration;
        if (!*count || sum > max) {
            max = sum;
            best = &pass->steps[i];
            *count = next - i;
        }
    }
    return best;
}

static void sum_up(struct baseline_side *side, const struct baseline_step *steps, size_t count,
                   bool recorded, uint64_t *values)
{
    side->count = 0;
    for (size_t i = 0; i < count; i++)
        if (steps[i].recorded == recorded)
            values[side->count++] = steps[i].duration;
    side->times = statistics_of(values, side->count);
    if (!side->count)
        return;
    side->low = statistics_percentile(values, side->count, 25);
    side->high = statistics_percentile(values, side->count, 75);
}

static enum mp_status copy_name(const struct pass *pass, const struct baseline_step *step,
                                char **name)
{
    const char *text = definitions_text(&pass->profile->definitions, step->name);

    *name = strdup(text ? text : "");
    return *name ? MP_OK : MP_ERR_MEMORY;
}

/* Steps of --baseline. */
static enum mp_status sum_up_baseline(struct pass *pass, struct baseline *baseline)
{
    uint64_t *values;
    size_t count;

    baseline->steps = pass->count;
    if (!pass->count)
        return MP_OK;
    qsort(pass->steps, pass->count, sizeof *pass->steps, compare_names);
    const struct baseline_step *steps = choose(pass, &count);
    MP_TRY(copy_name(pass, steps, &baseline->name));
    values = malloc(count * sizeof *values);
    if (!values)
        return MP_ERR_MEMORY;
    sum_up(&baseline->recorded, steps, count, true, values);
    sum_up(&baseline->unrecorded, steps, count, false, values);
    free(values);
    return MP_OK;
}

/* ---- Without CUPTI ----
 *
 * Steps of one run are alike, and runs differ: by what the machine does, and by what memory they
 * get. So each run counts once. The interval is where the median of another run is, 95 of 100
 * times, if the logarithms of the medians are normal: Student's t times s * sqrt(1 + 1/n).
 */

/* 97.5 % points of Student's t, by degrees of freedom; beyond, those of the normal distribution. */
static const double student[] = {0,     12.71, 4.303, 3.182, 2.776, 2.571,
                                 2.447, 2.365, 2.306, 2.262, 2.228};

#define DEGREES (sizeof student / sizeof *student)

/* Of the logarithms of medians of runs, where fewer than MIN_RUNS tell it (docs/recording-cost.md).
 */
#define USUAL_DEVIATION 0.03
#define MIN_RUNS        3
#define MIN_DEVIATION   0.003 /* runs that agree by chance */

static double deviation_of(const uint64_t *medians, size_t count)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < count; i++)
        sum += log((double)medians[i]);
    for (size_t i = 0; i < count; i++) {
        double off = log((double)medians[i]) - sum / (double)count;
        squares += off * off;
    }
    return sqrt(squares / (double)(count - 1));
}

/* Half of the interval's width, as a factor's logarithm. */
static double half_width(const uint64_t *medians, size_t count)
{
    double t = count >= MIN_RUNS && count - 1 < DEGREES ? student[count - 1] : 1.96;
    double deviation = count < MIN_RUNS ? USUAL_DEVIATION : deviation_of(medians, count);

    return t * fmax(deviation, MIN_DEVIATION) * sqrt(1 + 1 / (double)count);
}

/* The median of the values, which are sorted; of an even number the mean of the middle two. */
static uint64_t middle(uint64_t *values, size_t count)
{
    mp_sort_u64(values, count);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void set_time(struct bare_time *time, uint64_t *medians, size_t count, double least)
{
    double half = fmax(half_width(medians, count), least);

    time->without = middle(medians, count);
    time->low = (uint64_t)((double)time->without * exp(-half));
    time->high = (uint64_t)((double)time->without * exp(half));
}

/* ---- In other runs ---- */

MP_COMPARE(compare_runs, struct baseline_step, MP_ORDER(a->run, b->run));

/* The medians of the runs, bare ones or the others; how many there are. A step of no time tells
 * nothing. */
static size_t medians_of_runs(const struct pass *pass, bool bare, uint64_t *values,
                              uint64_t *medians, size_t *steps)
{
    size_t runs = 0;

    *steps = 0;
    for (size_t i = 0, next; i < pass->count; i = next) {
        size_t count = 0;

        next = i + 1;
        if (!pass->steps[i].run) /* of --baseline, in the last run */
            continue;
        for (next = i; next < pass->count && pass->steps[next].run == pass->steps[i].run; next++)
            if (pass->steps[next].bare == bare && pass->steps[next].duration)
                values[count++] = pass->steps[next].duration;
        if (count)
            medians[runs++] = statistics_of(values, count).p50;
        *steps += count;
    }
    return runs;
}

static void measure_pairs(struct pass *pass, uint64_t *values, uint64_t *medians,
                          struct bare_time *time)
{
    size_t recorded_steps;

    qsort(pass->steps, pass->count, sizeof *pass->steps, compare_runs);
    size_t recorded = medians_of_runs(pass, false, values, medians, &recorded_steps);
    if (recorded)
        time->with = middle(medians, recorded);
    size_t bare = medians_of_runs(pass, true, values, medians, &time->steps);
    time->count = bare < recorded ? bare : recorded;
    if (time->count)
        set_time(time, medians, bare, 0);
}

/* ---- In this run, before CUPTI came ---- */

#define MAX_TREND   0.03 /* between the halves: more is a trend */
#define BLOCKS      4
#define MIN_OF_HALF 0.03 /* the program may go on at another speed than it began with */

/* How many of the last steps show no trend; 0: there are too few of these. */
static size_t steady(const uint64_t *times, size_t count, uint64_t *scratch)
{
    for (size_t n = count; n >= BASELINE_MIN; n -= (n + 3) / 4) {
        const uint64_t *from = times + count - n;
        size_t half = n / 2;

        memcpy(scratch, from, half * sizeof *scratch);
        double first = (double)statistics_of(scratch, half).p50;
        memcpy(scratch, from + half, (n - half) * sizeof *scratch);
        double second = (double)statistics_of(scratch, n - half).p50;
        if (fabs(first - second) <= MAX_TREND * second)
            return n;
    }
    return 0;
}

static void measure_before(const struct pass *pass, uint64_t *values, uint64_t *scratch,
                           struct bare_time *time)
{
    uint64_t medians[BLOCKS];
    size_t count = 0, recorded = 0;

    for (size_t i = 0; i < pass->count; i++)
        if (pass->steps[i].bare)
            values[count++] = pass->steps[i].duration;
    size_t last = steady(values, count, scratch);
    if (!last)
        time->why_not = "the steps before CUPTI came are too few, or their times change";
    for (size_t i = 0; i < BLOCKS && last; i++) {
        const uint64_t *block = values + count - last + i * (last / BLOCKS);

        memcpy(scratch, block, last / BLOCKS * sizeof *scratch);
        medians[i] = statistics_of(scratch, last / BLOCKS).p50;
    }
    if (last && medians[0])
        set_time(time, medians, BLOCKS, MIN_OF_HALF);
    for (size_t i = 0; i < pass->count; i++)
        if (!pass->steps[i].bare)
            values[recorded++] = pass->steps[i].duration;
    if (recorded)
        time->with = middle(values, recorded);
    time->count = time->steps = recorded >= BASELINE_MIN ? last : 0;
}

static bool has_runs(const struct baseline_step *steps, size_t count)
{
    bool any = false;

    for (size_t i = 0; i < count; i++)
        any |= steps[i].run != 0;
    return any;
}

enum mp_status baseline_measure(struct baseline_step *steps, size_t count,
                                struct baseline *baseline)
{
    struct pass pass = {.steps = steps, .count = count};
    uint64_t *values = malloc(2 * (count + 1) * sizeof *values);
    uint64_t *more = values ? values + count + 1 : NULL;

    if (!values)
        return MP_ERR_MEMORY;
    if (has_runs(steps, count))
        measure_pairs(&pass, values, more, &baseline->paired);
    else
        measure_before(&pass, values, more, &baseline->before);
    free(values);
    return MP_OK;
}

static enum mp_status measure_bare(struct pass *pass, struct baseline *baseline)
{
    const struct baseline_step *bare = pass->steps;

    while (!bare->bare)
        bare++;
    MP_TRY(copy_name(pass, bare, &baseline->bare_name));
    return baseline_measure(pass->steps, pass->count, baseline);
}

/* All steps are of one kind: --pairs, --baseline, or those before CUPTI came. */
static enum mp_status sum_up_steps(struct pass *pass, struct baseline *baseline)
{
    bool bare = false;

    for (size_t i = 0; i < pass->count; i++)
        bare |= pass->steps[i].bare;
    if (bare)
        return measure_bare(pass, baseline);
    return baseline->asked ? sum_up_baseline(pass, baseline) : MP_OK;
}

static const struct reading_table tables[] = {
    {MP_TABLE_step, MP_MASK(step, name, duration, recorded, run, bare), .take = take_steps},
};

enum mp_status baseline_build(const struct profile *profile, struct baseline *baseline,
                              struct mp_error *error)
{
    const char *setting = mp_trace_property(profile->trace, "MINIPROF_BASELINE");
    struct pass pass = {.profile = profile};
    const struct reading reading = {
        .trace = profile->trace,
        .what = "the steps",
        .context = &pass,
        READING_TABLES(tables),
    };

    *baseline = (struct baseline){.asked = setting && *setting};
    if (!profile_has_rows(profile, MP_TABLE_step))
        return MP_OK;
    enum mp_status status = reading_run(&reading, error);
    if (status == MP_OK && sum_up_steps(&pass, baseline) != MP_OK)
        status = mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    free(pass.steps);
    return status;
}

void baseline_free(struct baseline *baseline)
{
    free(baseline->name);
    free(baseline->bare_name);
    baseline->name = baseline->bare_name = NULL;
}

bool baseline_is_known(const struct baseline *baseline)
{
    return baseline->recorded.count >= BASELINE_MIN && baseline->unrecorded.count >= BASELINE_MIN;
}
