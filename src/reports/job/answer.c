/* Who is late, and for how long the others wait. A rank that is late because it waited for another
 * one passes lateness on: such causes are left out, so what remains is where lateness begins.
 */
#include "reports/job/answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "reports/advise/advise.h"

#include "base/poison.h"

/* ---- Who is late ---- */

/* How late a process is in one instance, for one cause. */
struct delay {
    uint32_t process; /* of the set */
    uint32_t cause;
    uint32_t activity; /* in lateness->names */
    uint64_t ns;
};

struct delays {
    struct delay *items; /* owned */
    size_t count, capacity;
};

MP_COMPARE(compare_delays, struct delay,
           MP_ORDER(a->process, b->process) ?: MP_ORDER(a->cause, b->cause) ?:
           MP_ORDER(a->activity, b->activity));

static bool is_in(const struct job *job, const struct deps_window *window, size_t instance)
{
    uint64_t begin = job->ranks->instances[instance].begin - job->axis;

    return begin >= window->begin && begin <= window->end;
}

static enum mp_status add_delay(const struct job *job, const struct lateness *lateness,
                                size_t instance, struct delays *delays)
{
    const struct lateness_reason *why = &lateness->reasons[instance];
    const struct ranks_side *side;

    if (why->last == RANKS_NONE || why->cause == LATENESS_COLLECTIVE)
        return MP_OK;
    side = &job->ranks->sides[job->ranks->instances[instance].first_side + why->last];
    MP_TRY(MP_RESERVE(delays->items, delays->count, delays->capacity));
    delays->items[delays->count++] =
        (struct delay){side->process, why->cause, why->activity, why->behind / side->fused};
    return MP_OK;
}

/* The sum of delays from `first` on that are alike in their first `keys` of process, cause and
 * activity; *end is set after the last one. */
static uint64_t sum_alike(const struct delays *delays, size_t first, int keys, size_t *end)
{
    const struct delay *one = &delays->items[first];
    uint64_t sum = 0;
    size_t i = first;

    for (; i < delays->count; i++) {
        const struct delay *other = &delays->items[i];

        if (other->process != one->process || (keys > 1 && other->cause != one->cause) ||
            (keys > 2 && other->activity != one->activity))
            break;
        sum += other->ns;
    }
    *end = i;
    return sum;
}

/* The largest group by one key more, among the delays from `first` to `end`. */
static size_t largest(const struct delays *delays, size_t first, size_t end, int keys,
                      uint64_t *max)
{
    size_t found = first, next;

    *max = 0;
    for (size_t i = first; i < end; i = next) {
        uint64_t sum = sum_alike(delays, i, keys, &next);

        if (sum > *max) {
            *max = sum;
            found = i;
        }
    }
    return found;
}

static uint32_t graph_process(const struct job *job, uint32_t process)
{
    for (uint32_t i = 0; i < job->deps.process_count; i++) {
        if (job_process(job, i) == process)
            return i;
    }
    return RANKS_NONE;
}

/* How often the late process was last. */
static void count_last(const struct job *job, const struct deps_window *window, uint32_t process,
                       struct job_answer *answer)
{
    const struct ranks *ranks = job->ranks;

    for (size_t i = 0; i < ranks->instance_count; i++) {
        const struct ranks_instance *instance = &ranks->instances[i];

        if (!is_in(job, window, i))
            continue;
        for (uint32_t k = 0; k < instance->side_count; k++) {
            if (ranks->sides[instance->first_side + k].process != process)
                continue;
            answer->of++;
            answer->last += instance->last == k;
        }
    }
}

static enum mp_status take_latest(const struct job *job, const struct deps_window *window,
                                  const struct lateness *lateness, const struct delays *delays,
                                  struct job_answer *answer)
{
    uint64_t sum = 0, max;
    size_t at = largest(delays, 0, delays->count, 1, &max), end;
    uint32_t process = delays->items[at].process;

    for (size_t i = 0; i < delays->count; i++)
        sum += delays->items[i].ns;
    answer->late = graph_process(job, process);
    if (answer->late == RANKS_NONE || !max)
        return MP_OK;
    answer->late_rank = job->deps.ranks[answer->late];
    answer->behind = max / answer->steps;
    answer->share = 100.0 * (double)max / (double)sum;
    count_last(job, window, process, answer);
    sum_alike(delays, at, 1, &end);
    at = largest(delays, at, end, 2, &max);
    answer->cause = (enum lateness_cause)delays->items[at].cause;
    sum_alike(delays, at, 2, &end);
    at = largest(delays, at, end, 3, &max);
    const char *activity = lateness_name(lateness, delays->items[at].activity);
    answer->activity = activity ? strdup(activity) : NULL;
    return activity && !answer->activity ? MP_ERR_MEMORY : MP_OK;
}

static enum mp_status find_latest(const struct job *job, const struct deps_window *window,
                                  const struct lateness *lateness, struct job_answer *answer)
{
    struct delays delays = {.items = NULL};
    enum mp_status status = MP_OK;

    for (size_t i = 0; i < job->ranks->instance_count && !status; i++) {
        if (is_in(job, window, i))
            status = add_delay(job, lateness, i, &delays);
    }
    if (!status && delays.count) {
        qsort(delays.items, delays.count, sizeof *delays.items, compare_delays);
        status = take_latest(job, window, lateness, &delays, answer);
    }
    free(delays.items);
    return status;
}

/* ---- Who waits ---- */

static void take_waiting(const struct job_usage *usage, struct job_answer *answer)
{
    uint64_t sum = 0, count = 0;

    for (size_t i = 0; i < usage->count; i++) {
        if (i == answer->late)
            continue;
        uint64_t waiting = usage->ranks[i].waiting / answer->steps;
        sum += usage->ranks[i].waiting;
        count++;
        if (waiting > answer->longest || count == 1) {
            answer->longest = waiting;
            answer->longest_rank = usage->ranks[i].rank;
        }
    }
    answer->waiting = count ? sum / count / answer->steps : 0;
}

/* ---- All of it ---- */

static enum mp_status find_steps(const struct deps_windows *iterations, struct job_answer *answer)
{
    uint64_t *values = calloc(iterations->count, sizeof *values);

    if (!values)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < iterations->count; i++)
        values[i] = iterations->items[i].end - iterations->items[i].begin;
    answer->step = statistics_of(values, iterations->count);
    free(values);
    return MP_OK;
}

static enum mp_status find_all(struct job *job, const struct deps_windows *iterations,
                               const struct lateness *lateness, struct job_answer *answer)
{
    struct deps_window window = job_span(iterations);
    const struct deps_windows all = {.items = &window, .count = 1};
    struct job_usage usage;

    answer->basis = (window.end - window.begin) / answer->steps;
    MP_TRY(find_steps(iterations, answer));
    if (lateness)
        MP_TRY(find_latest(job, &window, lateness, answer));
    enum mp_status status = job_use(&job->deps, &all, &usage);
    if (status == MP_OK)
        take_waiting(&usage, answer);
    job_usage_free(&usage);
    return status;
}

enum mp_status job_answer_find(struct job *job, const struct deps_windows *iterations,
                               const struct lateness *lateness, struct job_answer *answer,
                               struct advice *advice)
{
    enum mp_status status = MP_OK;

    *answer = (struct job_answer){.steps = iterations->count,
                                  .late = RANKS_NONE,
                                  .rank = job->deps.process_count ? job->deps.ranks[0] : 0,
                                  .ranks = job->deps.process_count,
                                  .clock = (double)NAN,
                                  .balanced = JOB_UNKNOWN,
                                  .in_time = JOB_UNKNOWN};
    *advice = (struct advice){.count = 0};
    if (iterations->count)
        status = find_all(job, iterations, lateness, answer);
    if (status == MP_OK)
        status = job_advise(job, iterations, answer, advice);
    if (status != MP_OK)
        job_answer_free(answer);
    return status;
}

void job_answer_free(struct job_answer *answer)
{
    free(answer->activity);
    *answer = (struct job_answer){.steps = 0};
}

/* ---- From matched traces ---- */

/* The clocks of all ranks that sampled them. */
static enum mp_status find_clocks(struct matched *matched, struct job *job)
{
    job->clocks = (double *)calloc((size_t)job->deps.process_count + 1, sizeof *job->clocks);
    if (!job->clocks)
        return MP_ERR_MEMORY;
    for (uint32_t i = 0; i < job->deps.process_count; i++) {
        struct mp_trace *trace = matched_open_process(matched, job, i);
        struct mp_error error;
        enum mp_status status = MP_OK;

        job->clocks[i] = (double)NAN; /* also of a trace that cannot be read */
        if (trace)
            status = job_read_clock(trace, &job->clocks[i], &error);
        mp_trace_close(trace);
        if (status == MP_ERR_MEMORY)
            return status;
    }
    return MP_OK;
}

enum mp_status job_study_answer(struct matched *matched, struct job_study *study)
{
    struct lateness lateness = {.ranks = NULL};
    enum mp_status status = find_clocks(matched, &study->job);

    if (status == MP_OK)
        status = matched_follow(matched, &lateness);

    if (status == MP_OK)
        status = job_answer_find(&study->job, &study->iterations, &lateness, &study->answer,
                                 &study->advice);
    lateness_free(&lateness);
    return status;
}

enum mp_status job_study_load(struct matched *matched, const struct deps_options *graph,
                              const struct iterations_options *by, struct job_study *study,
                              struct mp_error *error)
{
    struct deps_options with_fronts = *graph;

    with_fronts.fronts = true; /* for replay */
    MP_TRY(matched_join(matched, &with_fronts, &study->job, error));
    MP_TRY(matched_iterations(matched, &study->job, by, &study->iterations, error));
    return mp_error_from(error, job_study_answer(matched, study), "cannot analyse the job");
}

void job_study_free(struct job_study *study)
{
    advise_free(&study->advice);
    job_answer_free(&study->answer);
    deps_windows_free(&study->iterations);
    job_free(&study->job);
}
