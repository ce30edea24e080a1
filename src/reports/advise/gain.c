/* What a change gains an iteration, by replay, and whose lines it is about.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "profile/stacks/where.h"
#include "reports/advise/build.h"
#include "reports/deps/lookup.h"

#include "base/poison.h"

/* What a change gains an iteration, by replay.
 *
 *     iterations   |--- 1 ---|   |--- 2 ---|            |--- 1 -|  |- 2 -|
 *     steps        |<--- 1 -->|<---- 2 --->|     ->     |<- 1 ->|<-- 2 ->|
 *
 * Steps go from end to end, so they are also correct where iterations overlap: a pipeline gains
 * throughput, while its latencies may even grow. The step of a request is its own: from its begin
 * to where its thread has the result, whatever other threads do.
 */

/* When work ends, and where a moment of a thread is: in the last replay, or as recorded if there
 * was none yet. */
static uint64_t end_of_work(const struct advise *advise, uint32_t work)
{
    return advise->solved ? deps_replayer_end(&advise->replayer, work)
                          : advise->deps->activities[work].end;
}

static uint64_t on_host(const struct advise *advise, uint32_t thread, uint64_t time, bool ends)
{
    return advise->solved ? deps_replayer_host(&advise->replayer, thread, time, ends) : time;
}

/* Where each iteration ends. */
static void find_ends(const struct advise *advise, uint64_t *ends)
{
    const struct deps *deps = advise->deps;
    const struct iterations *iterations = advise->iterations;

    memset(ends, 0, iterations->count * sizeof *ends);
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        uint32_t of = iterations->of[i];

        if (of != DEPS_NONE)
            ends[of] = mp_max(ends[of], end_of_work(advise, i));
    }
    for (size_t i = 0; i < iterations->count; i++) {
        const struct iteration *iteration = &iterations->items[i];

        if (iteration->thread != DEPS_NONE)
            ends[i] =
                mp_max(ends[i], on_host(advise, iteration->thread, iteration->host_end, true));
        else if (!ends[i])
            ends[i] = iteration->end;
    }
}

static bool has_requests(const struct advise *advise)
{
    return advise->iterations->way == ITERATIONS_REQUESTS;
}

static void find_requests(const struct advise *advise, uint64_t *steps)
{
    for (size_t i = 0; i < advise->iterations->count; i++) {
        const struct iteration *request = &advise->iterations->items[i];
        uint64_t begin = on_host(advise, request->thread, request->begin, false);
        uint64_t end = on_host(advise, request->thread, request->host_end, true);

        steps[i] = end > begin ? end - begin : 0;
    }
}

static void find_steps(const struct advise *advise, uint64_t *steps)
{
    const struct iterations *iterations = advise->iterations;
    const struct iteration *first = &iterations->items[0];
    uint64_t before = first->begin;

    if (has_requests(advise)) {
        find_requests(advise, steps);
        return;
    }
    find_ends(advise, steps);
    if (first->thread != DEPS_NONE)
        before = on_host(advise, first->thread, first->begin, false);
    for (size_t i = 0; i < iterations->count; i++) {
        uint64_t end = mp_max(steps[i], before);

        steps[i] = end - before;
        before = end;
    }
}

/* Of the steps of what counts; `values` has room for them. */
static struct statistics usual_step(const struct advise *advise, const uint64_t *steps,
                                    uint64_t *values)
{
    size_t count = 0;

    for (size_t i = 0; i < advise->iterations->count; i++) {
        if (advise->regular[i])
            values[count++] = steps[i];
    }
    return statistics_of(values, count);
}

/* Solves the run that gains are of. Its P50 and mean are those of the recorded run at most. */
static enum mp_status find_usual_step(struct advise *advise)
{
    uint64_t *values = calloc(advise->judged + 1, sizeof *values);

    if (!values)
        return MP_ERR_MEMORY;
    find_steps(advise, advise->before);
    struct statistics recorded = usual_step(advise, advise->before, values);
    advise->replayer.less = advise->deps->recording.before ? &advise->deps->recording : NULL;
    enum mp_status status = deps_replayer_run(&advise->replayer, NULL);
    if (!status) {
        advise->solved = true;
        find_steps(advise, advise->before);
        struct statistics solved = usual_step(advise, advise->before, values);
        bool bare = advise->replayer.less;

        advise->step = bare ? recorded.p50 : solved.p50;
        advise->basis = solved.p50 < advise->step ? solved.p50 : advise->step;
        advise->mean =
            (uint64_t)(bare && recorded.mean < solved.mean ? recorded.mean : solved.mean);
    }
    free(values);
    return status;
}

enum mp_status advise_gain_init(struct advise *advise)
{
    size_t count = advise->iterations->count;

    advise->before = calloc(count + 1, sizeof *advise->before);
    advise->after = calloc(count + 1, sizeof *advise->after);
    if (!advise->before || !advise->after)
        return MP_ERR_MEMORY;
    MP_TRY(deps_replayer_init(&advise->replayer, advise->deps));
    return find_usual_step(advise);
}

void advise_gain_free(struct advise *advise)
{
    free(advise->before);
    free(advise->after);
    deps_replayer_free(&advise->replayer);
}

enum mp_status advise_gone_init(struct advise *advise)
{
    const struct deps_less *recording = advise->replayer.less;
    size_t count = advise->deps->count;

    MP_TRY(deps_less_new(count, &advise->gone));
    if (recording) {
        memcpy(advise->gone.before, recording->before, count * sizeof *recording->before);
        memcpy(advise->gone.within, recording->within, count * sizeof *recording->within);
        memcpy(advise->gone.own, recording->own, count * sizeof *recording->own);
    }
    return MP_OK;
}

void advise_gone_free(struct advise *advise)
{
    deps_less_free(&advise->gone);
}

static void add_gone(uint32_t *gone, uint64_t ns)
{
    *gone = ns < UINT32_MAX - *gone ? *gone + (uint32_t)ns : UINT32_MAX;
}

void advise_shorten(struct advise *advise, const struct advise_call *call, uint64_t ns)
{
    for (uint32_t i = call->first; i <= call->last; i++) {
        uint64_t own = deps_own_time(advise->deps, &advise->deps->activities[i]);
        uint64_t part = own < ns ? own : ns;

        add_gone(&advise->gone.within[i], part);
        ns -= part;
        /* Of a call whose time changes; the factor is 1. */
        advise->edits[i] |= DEPS_EDIT_SCALED;
    }
}

/* How much shorter the launch of the work is. */
static uint64_t gone_before(const struct advise *advise, const struct deps_activity *work)
{
    const uint32_t *recording = advise->replayer.less ? advise->replayer.less->within : NULL;
    uint64_t sum = 0;

    if (work->bound != DEPS_LAUNCH || work->launch == DEPS_NONE)
        return 0;
    uint32_t last = advise->deps->activities[work->launch].last_of_call;
    for (uint32_t i = work->launch; i <= last; i++)
        sum += advise->gone.within[i] - (recording ? recording[i] : 0);
    return sum;
}

static void shorten_launches(struct advise *advise)
{
    for (uint32_t i = advise->deps->host_count; i < advise->deps->count; i++)
        add_gone(&advise->gone.before[i], gone_before(advise, &advise->deps->activities[i]));
}

/* Solves the run with what is gone, if anything is. */
static enum mp_status solve(struct advise *advise, const struct deps_edits *edits)
{
    const struct deps_less *recording = advise->replayer.less;

    if (advise->gone.within) {
        shorten_launches(advise);
        advise->replayer.less = &advise->gone;
    }
    enum mp_status status = deps_replayer_run(&advise->replayer, edits);
    advise->replayer.less = recording;
    return status;
}

/* By how much the edits make the steps of `counted` iterations shorter, and those steps without
 * them, ns. */
static enum mp_status replay(struct advise *advise, const uint8_t *counted, uint64_t *gain,
                             uint64_t *before)
{
    const struct deps_edits edits = {
        .flags = advise->edits,
        .factor = advise->factor,
        .factor_of = advise->factor_of,
        .host_kept = advise_host_kept,
        .context = advise,
    };
    uint64_t after = 0;

    MP_TRY(solve(advise, &edits));
    find_steps(advise, advise->after);
    *before = 0;
    for (size_t i = 0; i < advise->iterations->count; i++) {
        if (!counted[i])
            continue;
        *before += advise->before[i];
        after += advise->after[i];
    }
    *gain = after < *before ? *before - after : 0;
    return MP_OK;
}

enum mp_status advise_replay(struct advise *advise, uint64_t *gain)
{
    uint64_t before;

    MP_TRY(replay(advise, advise->regular, gain, &before));
    *gain /= advise->judged;
    return MP_OK;
}

enum mp_status advise_replay_steady(struct advise *advise, uint64_t *gain)
{
    uint64_t before;

    MP_TRY(replay(advise, advise->steady, gain, &before));
    double share = before ? (double)*gain / (double)before : 0;
    *gain /= advise->steady_count;
    if (*gain > advise->basis)
        *gain = (uint64_t)(share * (double)advise->basis);
    return MP_OK;
}

uint64_t advise_usual_gain(const struct advise *advise, uint64_t gain)
{
    if (gain <= advise->basis)
        return gain;
    double share = gain < advise->mean ? (double)gain / (double)advise->mean : 1;
    return (uint64_t)(share * (double)advise->basis);
}

/* Whose lines a finding is about: the callers of the calls and the work that the rule changed in
 * its replay. Waits and calls weigh what they take, work its time, host code its length.
 *
 * Host code that goes together with the call after it belongs to that call's line: it is the
 * operator that makes the call. Host code that goes alone belongs to the line that the thread was
 * in, as `deps` and `iters` have it.
 */

/* One own line with more says too little: the packages that it calls are listed too. */
#define ALMOST_ALL 90.0

#define MIN_SHARE 1.0 /* percent; what has less tells nothing */

/* ns of a line, by what they are; of a package's frame only `package`. */
struct advise_weight {
    uint64_t called, host, package;
};

struct weighing {
    const struct advise *advise;
    struct advise_weight *lines; /* by frame, of lines by their first one; [0] not known */
    uint64_t all;
};

enum mp_status advise_callers_load(struct advise *advise)
{
    const struct call_stacks *stacks = &advise->advice->stacks;
    struct advise_callers *callers = &advise->callers;

    if (!call_stacks_has_any(stacks))
        return MP_OK;
    callers->first = alike_lines(stacks);
    if (!callers->first)
        return MP_ERR_MEMORY;
    MP_TRY(host_samples_load(&callers->samples, advise->deps->profile->trace, advise->error));
    return stacks_makers_load(&callers->makers, advise->deps->profile->trace, stacks,
                              advise->error);
}

void advise_callers_free(struct advise *advise)
{
    free(advise->callers.first);
    host_samples_free(&advise->callers.samples);
    stacks_makers_free(&advise->callers.makers);
}

/* ---- What belongs to which line ---- */

static struct advise_weight *line_of(struct weighing *weighing, uint32_t stack)
{
    const struct call_stacks *stacks = &weighing->advise->advice->stacks;
    const uint32_t *first = weighing->advise->callers.first;
    uint32_t frame = stack ? call_stacks_link(stacks, stack)->frame : 0;

    return &weighing->lines[frame < stacks->frames.count ? first[frame] : 0];
}

static void add(struct weighing *weighing, uint32_t stack, uint64_t called, uint64_t host)
{
    const struct call_stacks *stacks = &weighing->advise->advice->stacks;
    struct advise_weight *own = line_of(weighing, stack ? call_stacks_own(stacks, stack) : 0);

    own->called += called;
    own->host += host;
    line_of(weighing, stack ? call_stacks_package(stacks, stack) : 0)->package += called + host;
    weighing->all += called + host;
}

static void take_host(void *context, uint32_t stack, uint64_t ns)
{
    add(context, stack, 0, ns);
}

/* The stack of an activity; 0: unknown. */
static uint32_t stack_of(const struct advise *advise, uint32_t index)
{
    const struct deps_activity *activity = &advise->deps->activities[index];
    uint32_t maker = stacks_maker(&advise->callers.makers, advise->deps, index);

    if (maker)
        return maker;
    if (index >= advise->deps->host_count && activity->launch != DEPS_NONE)
        activity = &advise->deps->activities[activity->launch];
    return call_stacks_of_call(&advise->advice->stacks, activity->correlation);
}

static void add_host(struct weighing *weighing, uint32_t piece)
{
    const struct advise *advise = weighing->advise;
    const struct stacks_host host = {advise->deps, &advise->advice->stacks,
                                     &advise->callers.samples, take_host, weighing};
    const struct deps_lane *lane = &advise->deps->lanes[advise->deps->activities[piece].lane];
    struct advise_span spans[2];
    size_t count = advise_counts_host(advise, piece) ? advise_host_spans(advise, piece, spans) : 0;

    for (size_t i = 0; i < count; i++)
        stacks_in_front_of(&host, lane, piece, spans[i].begin, spans[i].end);
}

static void add_changed(struct weighing *weighing, uint32_t index)
{
    const struct advise *advise = weighing->advise;
    const struct deps_activity *activity = &advise->deps->activities[index];
    unsigned edits = advise->edits[index];
    uint64_t host = 0;

    if (edits == DEPS_EDIT_NO_HOST) {
        if (index < advise->deps->host_count)
            add_host(weighing, index);
        return;
    }
    if (!edits || !advise_counts(advise, index))
        return;
    if (index < advise->deps->host_count && edits & DEPS_EDIT_NO_HOST)
        host = advise_host_before(advise, index);
    add(weighing, stack_of(advise, index), host + activity->end - activity->begin, 0);
}

/* ---- Those with most ---- */

static uint64_t weight_of(const struct advise_weight *line, bool packages)
{
    return packages ? line->package : line->called + line->host;
}

static enum advise_caller_kind kind_of(const struct advise_weight *line, bool packages)
{
    if (packages)
        return ADVISE_IN_PACKAGE;
    return line->host > line->called ? ADVISE_HOST_CODE : ADVISE_CALLED_FROM;
}

/* Takes the line that has most, whose weight is gone then. False: none that matters is left. */
static bool take_largest(struct weighing *weighing, bool packages, struct advise_caller *caller)
{
    const struct dense *frames = &weighing->advise->advice->stacks.frames;
    struct advise_weight *max = &weighing->lines[0];

    max->called = max->host = max->package = 0;
    for (size_t i = 1; i < frames->count; i++)
        if (weight_of(&weighing->lines[i], packages) > weight_of(max, packages))
            max = &weighing->lines[i];
    double percent =
        100 * (double)weight_of(max, packages) / (double)(weighing->all + !weighing->all);
    if (percent < MIN_SHARE)
        return false;
    *caller = (struct advise_caller){
        .frame = *(const struct stack_frame *)dense_at(frames, (size_t)(max - weighing->lines)),
        .percent = percent,
        .kind = kind_of(max, packages),
    };
    if (packages)
        max->package = 0;
    else
        max->called = max->host = 0;
    return true;
}

static void list_callers(struct weighing *weighing, struct advise_finding *finding)
{
    size_t *count = &finding->caller_count;

    while (*count < ADVISE_CALLERS && take_largest(weighing, false, &finding->callers[*count]))
        ++*count;
    if (!*count || finding->callers[0].percent <= ALMOST_ALL)
        return;
    for (size_t max = *count + ADVISE_CALLERS;
         *count < max && take_largest(weighing, true, &finding->callers[*count]);)
        ++*count;
}

enum mp_status advise_find_callers(struct advise *advise, struct advise_finding *finding)
{
    const struct call_stacks *stacks = &advise->advice->stacks;
    struct weighing weighing = {.advise = advise};

    if (!call_stacks_has_any(stacks))
        return MP_OK;
    weighing.lines = calloc(stacks->frames.count + 1, sizeof *weighing.lines);
    if (!weighing.lines)
        return MP_ERR_MEMORY;
    for (uint32_t i = 0; i < advise->deps->count; i++)
        add_changed(&weighing, i);
    list_callers(&weighing, finding);
    free(weighing.lines);
    return MP_OK;
}
