/* Reads the table `step`, chooses the name that took most of the time, and sums up its steps. */
#include "reports/recording_cost/baseline.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "profile/reading.h"
#include "trace/schema.h"

#include "base/poison.h"

struct step {
    uint64_t name, duration;
    bool recorded;
};

struct pass {
    const struct profile *profile;
    struct step *steps;
    size_t count, capacity;
};

static enum mp_status reserve(struct pass *pass, size_t more)
{
    size_t capacity = pass->capacity ? pass->capacity : 1024;
    struct step *steps;

    if (pass->count + more <= pass->capacity)
        return MP_OK;
    while (capacity < pass->count + more)
        capacity *= 2;
    steps = realloc(pass->steps, capacity * sizeof *steps);
    if (!steps)
        return MP_ERR_MEMORY;
    pass->steps = steps;
    pass->capacity = capacity;
    return MP_OK;
}

static enum mp_status take_steps(void *context, const struct mp_batch *batch)
{
    const struct mp_step_columns step = mp_step_columns(batch->columns);
    struct pass *pass = context;

    MP_TRY(reserve(pass, batch->rows));
    for (uint32_t row = 0; row < batch->rows; row++)
        pass->steps[pass->count++] = (struct step){
            .name = step.name[row],
            .duration = step.duration[row],
            .recorded = step.recorded[row] != 0,
        };
    return MP_OK;
}

MP_COMPARE(compare_names, struct step, MP_ORDER(a->name, b->name));

/* The steps of the name that took most of the time: the first of them, and their number. The steps
 * are sorted by name. */
static const struct step *choose(const struct pass *pass, size_t *count)
{
    const struct step *best = pass->steps;
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

static void sum_up(struct baseline_side *side, const struct step *steps, size_t count,
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

static enum mp_status sum_up_steps(struct pass *pass, struct baseline *baseline)
{
    uint64_t *values;
    size_t count;

    baseline->steps = pass->count;
    if (!pass->count)
        return MP_OK;
    qsort(pass->steps, pass->count, sizeof *pass->steps, compare_names);
    const struct step *steps = choose(pass, &count);
    const char *name = definitions_text(&pass->profile->definitions, steps->name);
    baseline->name = strdup(name ? name : "");
    values = malloc(count * sizeof *values);
    if (values) {
        sum_up(&baseline->recorded, steps, count, true, values);
        sum_up(&baseline->unrecorded, steps, count, false, values);
    }
    free(values);
    return values && baseline->name ? MP_OK : MP_ERR_MEMORY;
}

static const struct reading_table tables[] = {
    {MP_TABLE_step, MP_MASK(step, name, duration, recorded), .take = take_steps},
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
    if (!baseline->asked)
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
    baseline->name = NULL;
}

bool baseline_is_known(const struct baseline *baseline)
{
    return baseline->recorded.count >= BASELINE_MIN && baseline->unrecorded.count >= BASELINE_MIN;
}
