/* Findings on a job (docs/advise.md, section 3). Each gain is a replay of the job from the begin of
 * the first iteration to the end of the last one, an iteration.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/text/units.h"
#include "reports/advise/advise.h"
#include "reports/job/answer.h"
#include "reports/job/job.h"

#include "base/poison.h"

#define MAX_RANKS  8   /* the latest ones are tried */
#define MAX_CAUSES 3   /* that a finding names */
#define NOTICEABLE 100 /* a rank is late to an iteration from one hundredth of it on */
#define MIN_LATE   DEPS_TOLERANCE_NS
#define UNEVEN     1.1 /* times the mean: stages are never quite equal */

/* How late a rank is over all iterations. */
struct late_rank {
    uint32_t process;
    uint64_t *by_iteration; /* ns; a part of struct work.late */
    uint64_t sum;
};

struct work {
    struct job *job;
    const struct deps_windows *iterations;
    struct deps_windows all; /* one window over all of them */
    struct deps_window window;
    uint64_t length;         /* ns, of that */
    uint64_t *late;          /* by process, then iteration; owned */
    struct late_rank *ranks; /* the latest first; owned */
    struct job_paces paces;
    struct job_answer *answer; /* NULL */
    struct advice *advice;
};

static uint64_t by_iteration(const struct work *work, uint64_t ns)
{
    return ns / work->iterations->count;
}

/* ---- How late ---- */

/* The last iteration that begins at this time or before; the count: it is before all. */
static size_t iteration_at(const struct deps_windows *iterations, uint64_t time)
{
    size_t low = MP_SEARCH(0, iterations->count, i, iterations->items[i].begin <= time);

    return low ? low - 1 : iterations->count;
}

static void add_side(struct work *work, size_t instance, size_t first, uint32_t side)
{
    const struct job *job = work->job;
    uint32_t arrival = job->arrivals[job->ranks->instances[instance].first_side + side];
    uint64_t late = job_lateness(job, instance, first, side), time;

    if (arrival == DEPS_NONE || !late)
        return;
    time = job->deps.activities[arrival].end;
    size_t iteration = iteration_at(work->iterations, time);
    if (iteration == work->iterations->count || time > work->window.end)
        return;
    uint32_t process = job->deps.lanes[job->deps.activities[arrival].lane].process;
    work->late[(size_t)process * work->iterations->count + iteration] += late;
    work->ranks[process].sum += late;
}

MP_COMPARE(compare_late_ranks, struct late_rank,
           MP_ORDER(b->sum, a->sum) ?: MP_ORDER(a->process, b->process));

static enum mp_status measure(struct work *work)
{
    const struct job *job = work->job;
    size_t count = work->iterations->count, processes = job->deps.process_count;

    work->late = calloc(processes * count + 1, sizeof *work->late);
    work->ranks = calloc(processes + 1, sizeof *work->ranks);
    if (!work->late || !work->ranks)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < processes; i++)
        work->ranks[i] =
            (struct late_rank){.process = (uint32_t)i, .by_iteration = &work->late[i * count]};
    for (size_t i = 0; i < job->ranks->instance_count; i++) {
        size_t first = job_first_side(job, i);

        for (uint32_t k = 0; k < job->ranks->instances[i].side_count; k++)
            add_side(work, i, first, k);
    }
    qsort(work->ranks, processes, sizeof *work->ranks, compare_late_ranks);
    return MP_OK;
}

/* ---- Replay ---- */

/* How much shorter an iteration gets with these changes. */
static enum mp_status replay_gain(struct work *work, const struct deps_changes *changes,
                                  struct job_taken *taken, uint64_t *gain)
{
    uint64_t length = work->length;
    enum mp_status status = job_replay(work->job, changes, &work->all, &length, taken);

    *gain = length < work->length ? by_iteration(work, work->length - length) : 0;
    return status;
}

static enum mp_status gain_of(struct work *work, const char *change, struct job_taken *taken,
                              uint64_t *gain)
{
    struct deps_changes changes = {.items = NULL};
    enum mp_status status = deps_changes_add(&changes, change, NULL);

    if (status == MP_OK)
        status = replay_gain(work, &changes, taken, gain);
    deps_changes_free(&changes);
    return status;
}

/* ---- Late ranks ---- */

static const char *part_name(enum deps_part part)
{
    static const char *const names[DEPS_PARTS] = {
        [DEPS_HOST_CODE] = "host code",        [DEPS_LAUNCH_LATENCY] = "launch latency",
        [DEPS_STREAM_GAP] = "gaps of streams", [DEPS_DEPENDENCY_LATENCY] = "dependency latency",
        [DEPS_RETURN] = "return from wait",
    };

    return names[part] ? names[part] : "other";
}

/* Names what most time was taken from. */
static void name_causes(const struct work *work, uint32_t process, const struct job_taken *taken,
                        struct advise_finding *finding)
{
    const struct deps *deps = &work->job->deps;
    uint64_t *parts = &taken->by_part[(size_t)process * DEPS_PARTS];

    for (int i = 0; i < MAX_CAUSES; i++) {
        const char *name = NULL;
        uint64_t *max = NULL;
        char text[MP_FORMATTED_BYTES];

        for (uint32_t id = 1; id <= deps->names.count; id++) {
            if (taken->by_name[id] && (!max || taken->by_name[id] > *max)) {
                max = &taken->by_name[id];
                name = mp_intern_get(&deps->names, id, NULL);
            }
        }
        for (int part = 0; part < DEPS_PARTS; part++) {
            if (parts[part] && (!max || parts[part] > *max)) {
                max = &parts[part];
                name = part_name((enum deps_part)part);
            }
        }
        if (!max || !by_iteration(work, *max))
            return;
        advise_line(finding, name, "%s",
                    mp_format_time(text, sizeof text, by_iteration(work, *max)));
        *max = 0;
    }
}

static void describe_rank(const struct work *work, const struct late_rank *rank,
                          struct advise_finding *finding)
{
    size_t count = work->iterations->count, late = 0;
    uint64_t sum = 0, min = by_iteration(work, work->length) / NOTICEABLE;
    char text[MP_FORMATTED_BYTES];

    min = min > MIN_LATE ? min : MIN_LATE;
    for (size_t i = 0; i < count; i++) {
        late += rank->by_iteration[i] >= min;
        sum += rank->by_iteration[i] >= min ? rank->by_iteration[i] : 0;
    }
    mp_format_time(text, sizeof text, late ? sum / late : by_iteration(work, rank->sum));
    advise_evidence(finding,
                    "rank %" PRIu32 " is late to %s of %s iterations (%.0f %%), by %s on "
                    "average; where it could save that time, an iteration:",
                    work->job->deps.ranks[rank->process], mp_count(late).text, mp_count(count).text,
                    100.0 * (double)late / (double)count, text);
    advise_number(finding, "rank", work->job->deps.ranks[rank->process]);
    advise_number(finding, "late_iterations", (double)late);
    advise_number(finding, "late_ns", late ? (double)sum / (double)late : 0);
}

static enum mp_status judge_rank(struct work *work, const struct late_rank *rank)
{
    struct advise_finding finding = advise_finding_of(ADVISE_LATE_RANK);
    struct job_taken taken = {.by_name = NULL};
    char change[32];

    snprintf(change, sizeof change, "rank%" PRIu32 ":late=0", work->job->deps.ranks[rank->process]);
    enum mp_status status = gain_of(work, change, &taken, &finding.gain);
    if (status == MP_OK) {
        finding.method = ADVISE_BY_REPLAY;
        finding.assumes = "it comes to each collective as early as the first rank";
        describe_rank(work, rank, &finding);
        name_causes(work, rank->process, &taken, &finding);
        if (work->answer && work->answer->late == rank->process)
            work->answer->in_time = finding.gain;
        advise_add(work->advice, &finding);
    }
    job_taken_free(&taken);
    return status;
}

/* ---- Slow GPUs ---- */

static struct job_pace pace_of(const struct work *work, size_t process)
{
    return work->paces.items ? work->paces.items[process] : (struct job_pace){.ratio = 0};
}

/* How much shorter an iteration gets if the kernels of a process take what they take on the others.
 */
static enum mp_status gain_of_pace(const struct work *work, uint32_t process, uint64_t *gain)
{
    const struct deps *deps = &work->job->deps;
    struct deps_replayer replayer;
    struct deps_less less;
    struct deps_window window;
    const uint32_t *excess = work->paces.excess;
    enum mp_status status = deps_less_new(deps->count, &less);

    for (uint32_t i = deps->host_count; i < deps->count && !status && excess; i++) {
        if (deps->lanes[deps->activities[i].lane].process == process)
            less.own[i] = excess[i];
    }
    if (!status) {
        status = deps_replayer_init(&replayer, deps);
        replayer.less = &less;
        if (!status)
            status = deps_replayer_run(&replayer, NULL);
        if (!status) {
            deps_replayer_windows(&replayer, &work->all, &window);
            uint64_t length = window.end - window.begin;
            *gain = length < work->length ? by_iteration(work, work->length - length) : 0;
        }
        deps_replayer_free(&replayer);
    }
    deps_less_free(&less);
    return status;
}

static void describe_pace(const struct work *work, uint32_t process, const struct job_pace *pace,
                          struct advise_finding *finding)
{
    char excess[MP_FORMATTED_BYTES], clock[64];

    if (isnan(pace->clock))
        snprintf(clock, sizeof clock, "its clock was not sampled (MINIPROF_SAMPLE)");
    else
        snprintf(clock, sizeof clock, "its clock is %.2f times theirs", pace->clock);
    advise_evidence(finding,
                    "kernels of rank %" PRIu32 " take %.2f times as long as those of the same name "
                    "and shape on the other ranks, %s an iteration; %s",
                    work->job->deps.ranks[process], pace->ratio,
                    mp_format_time(excess, sizeof excess, by_iteration(work, pace->excess)), clock);
    advise_number(finding, "rank", work->job->deps.ranks[process]);
    advise_number(finding, "kernel_ratio", pace->ratio);
    if (!isnan(pace->clock))
        advise_number(finding, "clock_ratio", pace->clock);
    advise_number(finding, "excess_ns", (double)by_iteration(work, pace->excess));
}

/* Lower clocks that explain most of it. */
static bool is_by_clock(const struct job_pace *pace)
{
    return pace->clock > 0 && 1 / pace->clock - 1 >= (pace->ratio - 1) / 2;
}

static enum mp_status judge_pace(struct work *work, uint32_t process)
{
    const struct job_pace pace = pace_of(work, process);
    struct advise_finding finding;

    if (pace.ratio < JOB_SLOWER)
        return MP_OK;
    finding = advise_finding_of(is_by_clock(&pace) ? ADVISE_SLOWER_CLOCKS : ADVISE_SLOWED_GPU);
    MP_TRY(gain_of_pace(work, process, &finding.gain));
    finding.method = ADVISE_BY_REPLAY;
    finding.assumes = "its kernels take what they take on the other ranks, by their medians";
    describe_pace(work, process, &pace, &finding);
    advise_add(work->advice, &finding);
    return MP_OK;
}

static enum mp_status judge_paces(struct work *work)
{
    struct job_answer *answer = work->answer;

    MP_TRY(job_find_paces(work->job, &work->window, &work->paces));
    for (uint32_t i = 0; i < work->job->deps.process_count; i++)
        MP_TRY(judge_pace(work, i));
    if (answer && answer->late < work->job->deps.process_count) {
        answer->pace = pace_of(work, answer->late).ratio;
        answer->clock = pace_of(work, answer->late).clock;
    }
    return MP_OK;
}

/* ---- Stages ---- */

/* What a rank computes, less what a slow GPU adds: its share of the work. */
static uint64_t work_of(const struct work *work, const struct job_usage *usage, size_t process)
{
    const struct job_pace pace = pace_of(work, process);
    uint64_t computing = usage->ranks[process].computing;

    if (pace.ratio < JOB_SLOWER)
        return computing;
    return computing > pace.excess ? computing - pace.excess : 0;
}

/* All ranks compute equally long: the same work in all, divided anew. */
static enum mp_status even_out(const struct job_usage *usage, uint64_t mean,
                               struct deps_changes *changes)
{
    char change[64];

    for (size_t i = 0; i < usage->count; i++) {
        if (!usage->ranks[i].computing)
            continue;
        snprintf(change, sizeof change, "rank%" PRIu32 ":kernel=%.6fx", usage->ranks[i].rank,
                 (double)mean / (double)usage->ranks[i].computing);
        MP_TRY(deps_changes_add(changes, change, NULL));
    }
    return MP_OK;
}

static void describe_stages(const struct work *work, const struct job_usage *usage,
                            const struct job_rank *longest, uint64_t mean,
                            struct advise_finding *finding)
{
    char text[2][MP_FORMATTED_BYTES];

    mp_format_time(text[0], sizeof text[0], by_iteration(work, longest->computing));
    mp_format_time(text[1], sizeof text[1], by_iteration(work, mean));
    advise_evidence(finding,
                    "rank %" PRIu32 " computes for %s of an iteration, a rank on average for %s; "
                    "ranks wait in sends and receives",
                    longest->rank, text[0], text[1]);
    for (size_t i = 0; i < usage->count && i < MAX_RANKS; i++) {
        mp_format_time(text[0], sizeof text[0], by_iteration(work, usage->ranks[i].computing));
        advise_line(finding, "computing", "%s of rank %" PRIu32, text[0], usage->ranks[i].rank);
    }
    advise_number(finding, "rank", longest->rank);
    advise_number(finding, "computing_ns", (double)by_iteration(work, longest->computing));
    advise_number(finding, "mean_ns", (double)by_iteration(work, mean));
}

static enum mp_status gain_of_balance(struct work *work, const struct job_usage *usage,
                                      uint64_t mean, uint64_t *gain)
{
    struct deps_changes changes = {.items = NULL};
    enum mp_status status = even_out(usage, mean, &changes);

    if (status == MP_OK)
        status = replay_gain(work, &changes, NULL, gain);
    deps_changes_free(&changes);
    return status;
}

/* Where ranks wait in sends and receives, and one of them computes for clearly longer. */
static enum mp_status judge_stages(struct work *work, const struct job_usage *usage)
{
    struct advise_finding finding = advise_finding_of(ADVISE_UNEVEN_STAGES);
    uint64_t sum = 0, work_sum = 0, bubbles = 0;
    size_t longest = 0;

    for (size_t i = 0; i < usage->count; i++) {
        sum += usage->ranks[i].computing;
        work_sum += work_of(work, usage, i);
        bubbles += usage->ranks[i].bubbles;
        longest = work_of(work, usage, i) > work_of(work, usage, longest) ? i : longest;
    }
    uint64_t mean = usage->count ? sum / usage->count : 0;
    bool uneven =
        usage->count && bubbles &&
        (double)work_of(work, usage, longest) * (double)usage->count >= UNEVEN * (double)work_sum;
    if (!mean || !(uneven || work->answer))
        return MP_OK;
    MP_TRY(gain_of_balance(work, usage, mean, &finding.gain));
    if (work->answer)
        work->answer->balanced = finding.gain;
    if (!uneven)
        return MP_OK;
    finding.method = ADVISE_BY_REPLAY;
    finding.assumes = "the same kernels, divided so that all ranks compute equally long";
    describe_stages(work, usage, &usage->ranks[longest], mean, &finding);
    advise_add(work->advice, &finding);
    return MP_OK;
}

/* The lower median of what the other ranks compute. */
static enum mp_status median_of_others(const struct job_usage *usage, size_t but, uint64_t *median)
{
    uint64_t *values = calloc(usage->count + 1, sizeof *values);
    size_t count = 0;

    if (!values)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < usage->count; i++) {
        if (i != but)
            values[count++] = usage->ranks[i].computing;
    }
    qsort(values, count, sizeof *values, mp_compare_u64);
    *median = count ? values[(count - 1) / 2] : 0;
    free(values);
    return MP_OK;
}

/* A stage is in time if it computes no longer than the others: it is late to no collective, and
 * data cannot be there before it is sent. */
static enum mp_status judge_late_stage(struct work *work, const struct job_usage *usage)
{
    struct job_answer *answer = work->answer;
    uint64_t median;
    char change[64];

    if (!answer || answer->in_time != JOB_UNKNOWN || answer->cause != LATENESS_KERNEL ||
        answer->late >= usage->count)
        return MP_OK;
    const struct job_rank *late = &usage->ranks[answer->late];
    MP_TRY(median_of_others(usage, answer->late, &median));
    if (!median || late->computing <= median)
        return MP_OK;
    answer->by_work = true;
    snprintf(change, sizeof change, "rank%" PRIu32 ":kernel=%.6fx", late->rank,
             (double)median / (double)late->computing);
    return gain_of(work, change, NULL, &answer->in_time);
}

/* ---- Bubbles and transfers ---- */

/* The least of all ranks' bubbles: more can the job not gain. */
static void judge_bubbles(struct work *work, const struct job_usage *usage)
{
    struct advise_finding finding = advise_finding_of(ADVISE_BUBBLES);
    uint64_t min = UINT64_MAX, sum = 0;
    char text[MP_FORMATTED_BYTES];

    for (size_t i = 0; i < usage->count; i++) {
        sum += usage->ranks[i].bubbles;
        min = usage->ranks[i].bubbles < min ? usage->ranks[i].bubbles : min;
    }
    if (!usage->count || !sum)
        return;
    finding.gain = by_iteration(work, min);
    finding.method = ADVISE_BY_TIMES;
    finding.assumes = "the stage that waits least has always work";
    mp_format_time(text, sizeof text, by_iteration(work, sum / usage->count));
    advise_evidence(&finding,
                    "a GPU is idle for %s of an iteration, in the mean of %s ranks, because a "
                    "receive waits for its send or a send for its receive",
                    text, mp_count(usage->count).text);
    advise_number(&finding, "bubbles_ns", (double)by_iteration(work, sum / usage->count));
    advise_add(work->advice, &finding);
}

static enum mp_status judge_transfers(struct work *work, const struct job_usage *usage)
{
    struct advise_finding finding = advise_finding_of(ADVISE_TRANSFERS);
    uint64_t transfer = 0, hidden = 0;
    char text[2][MP_FORMATTED_BYTES];

    for (size_t i = 0; i < usage->count; i++) {
        transfer += usage->ranks[i].transfer;
        hidden += usage->ranks[i].hidden;
    }
    if (!transfer)
        return MP_OK;
    transfer = by_iteration(work, transfer / usage->count);
    hidden = by_iteration(work, hidden / usage->count);
    MP_TRY(gain_of(work, "nccl*=0", NULL, &finding.gain));
    finding.method = ADVISE_BY_REPLAY;
    finding.assumes = "transfers take no time, or all are hidden behind computation";
    advise_evidence(&finding,
                    "transfers take %s of an iteration, in the mean of all ranks; during %s of it "
                    "the GPU computes",
                    mp_format_time(text[0], sizeof text[0], transfer),
                    mp_format_time(text[1], sizeof text[1], hidden));
    advise_number(&finding, "transfer_ns", (double)transfer);
    advise_number(&finding, "hidden_ns", (double)hidden);
    advise_add(work->advice, &finding);
    return MP_OK;
}

static enum mp_status judge_usage(struct work *work)
{
    struct job_usage usage;
    enum mp_status status = job_use(&work->job->deps, &work->all, &usage);

    if (status == MP_OK)
        status = judge_stages(work, &usage);
    if (status == MP_OK)
        status = judge_late_stage(work, &usage);
    if (status == MP_OK)
        judge_bubbles(work, &usage);
    if (status == MP_OK)
        status = judge_transfers(work, &usage);
    job_usage_free(&usage);
    return status;
}

/* ---- All of them ---- */

struct deps_window job_span(const struct deps_windows *iterations)
{
    struct deps_window span = iterations->items[0];

    for (size_t i = 1; i < iterations->count; i++) {
        const struct deps_window *one = &iterations->items[i];

        if (one->end > span.end) {
            span.end = one->end;
            span.host_end = one->host_end;
            span.until = one->until;
        }
    }
    return span;
}

static void span_iterations(struct work *work)
{
    work->window = job_span(work->iterations);
    work->all = (struct deps_windows){.items = &work->window, .count = 1};
    work->length = work->window.end - work->window.begin;
    work->advice->step = work->advice->basis = by_iteration(work, work->length);
    work->advice->judged = work->iterations->count;
}

enum mp_status job_advise(struct job *job, const struct deps_windows *iterations,
                          struct job_answer *answer, struct advice *advice)
{
    struct work work = {.job = job, .iterations = iterations, .answer = answer, .advice = advice};

    *advice = (struct advice){.count = 0};
    if (!iterations->count)
        return MP_OK;
    span_iterations(&work);
    enum mp_status status = measure(&work);
    for (size_t i = 0; i < job->deps.process_count && i < MAX_RANKS && status == MP_OK; i++) {
        if (work.ranks[i].sum)
            status = judge_rank(&work, &work.ranks[i]);
    }
    if (status == MP_OK)
        status = judge_paces(&work);
    if (status == MP_OK)
        status = judge_usage(&work);
    job_paces_free(&work.paces);
    free(work.late);
    free(work.ranks);
    return status;
}
