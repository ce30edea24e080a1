/* Data that moves: pageable_copies, synchronous_copies, exposed_copies, constant_copies,
 * page_faults.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "base/text/units.h"
#include "profile/reading.h"
#include "reports/advise/build.h"
#include "trace/schema.h"

#include "base/poison.h"

/* Copies between host and device: slow ones, ones for which the host waits, and ones during which
 * nothing is computed.
 */

/* For copies of fewer bytes the fixed cost counts more than the bus's rate. */
#define MIN_BYTES 65536

enum direction { TO_DEVICE, TO_HOST, DIRECTIONS };

struct sums {
    uint64_t count;
    uint64_t bytes;
    uint64_t time;
};

static void copies_add(struct sums *sums, uint64_t bytes, uint64_t time)
{
    sums->count++;
    sums->bytes += bytes;
    sums->time += time;
}

/* Bytes a second; 0: none. */
static double rate_of(const struct sums *sums)
{
    return sums->time ? (double)sums->bytes * 1e9 / (double)sums->time : 0;
}

/* The direction of a copy from or to the host; DIRECTIONS for what is none. */
static enum direction direction_of(const struct deps *deps, const struct deps_activity *work)
{
    if (work->kind != DEPS_COPY)
        return DIRECTIONS;
    if (deps->copies[work->copy].kind == MP_copy_kind_HtoD)
        return TO_DEVICE;
    return deps->copies[work->copy].kind == MP_copy_kind_DtoH ? TO_HOST : DIRECTIONS;
}

/* ---- pageable_copies ---- */

struct pageable {
    struct sums all;                /* pageable, in iterations that count */
    struct sums large[DIRECTIONS];  /* of them those of MIN_BYTES and more */
    struct sums pinned[DIRECTIONS]; /* of the whole trace, likewise */
};

static bool is_pageable(const struct deps *deps, const struct deps_activity *work)
{
    return deps->copies[work->copy].pageable;
}

static void add_up_copies(const struct advise *advise, struct pageable *sums)
{
    const struct deps *deps = advise->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];
        enum direction direction = direction_of(deps, work);
        uint64_t time = work->end - work->begin;
        uint64_t bytes = direction == DIRECTIONS ? 0 : deps->copies[work->copy].bytes;

        if (direction == DIRECTIONS)
            continue;
        if (!is_pageable(deps, work) && bytes >= MIN_BYTES)
            copies_add(&sums->pinned[direction], bytes, time);
        if (!is_pageable(deps, work) || !advise_counts(advise, i))
            continue;
        copies_add(&sums->all, bytes, time);
        if (bytes >= MIN_BYTES)
            copies_add(&sums->large[direction], bytes, time);
    }
}

/* How long the large pageable copies would take at the rate of pinned ones, divided by the time
 * that they take. */
static double faster(const struct pageable *sums)
{
    double before = 0;
    double after = 0;

    for (int i = 0; i < DIRECTIONS; i++) {
        double time = (double)sums->large[i].time;
        double rate = rate_of(&sums->pinned[i]);

        before += time;
        after += rate > rate_of(&sums->large[i]) ? (double)sums->large[i].bytes * 1e9 / rate : time;
    }
    return before > 0 ? after / before : 1;
}

static bool is_asynchronous(const struct advise *advise, uint32_t piece)
{
    const struct deps_activity *call = &advise->deps->activities[piece];

    return strstr(deps_name(advise->deps, call), "Async") != NULL;
}

static void edit_pageable(struct advise *advise)
{
    const struct deps *deps = advise->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];
        uint32_t call = work->launch;

        if (direction_of(deps, work) == DIRECTIONS || !is_pageable(deps, work) ||
            advise->iterations->of[i] == DEPS_NONE)
            continue;
        if (deps->copies[work->copy].bytes >= MIN_BYTES)
            advise->edits[i] |= DEPS_EDIT_SCALED;
        if (call != DEPS_NONE && is_asynchronous(advise, call))
            for (uint32_t last = deps->activities[call].last_of_call; call <= last; call++)
                advise->edits[call] |= DEPS_EDIT_NO_WAIT;
    }
}

static void line_of_rate(struct advise_finding *finding, const char *what, const struct sums *sums)
{
    char rate[MP_FORMATTED_BYTES];

    mp_format_throughput(rate, sizeof rate, rate_of(sums));
    if (sums->count)
        advise_line(finding, NULL, "%s, 64 KiB and more: %s", what, rate);
}

enum mp_status advise_pageable_copies(struct advise *advise, struct advise_finding *finding)
{
    struct pageable sums = {.all = {0}};
    char bytes[MP_FORMATTED_BYTES];

    add_up_copies(advise, &sums);
    if (!sums.all.count)
        return MP_OK;
    advise->factor = faster(&sums);
    edit_pageable(advise);
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = "copies of 64 KiB and more reach the rate of the pinned ones in the trace, "
                       "if any; ...Async calls do not wait for theirs";
    mp_format_size(bytes, sizeof bytes, (uint64_t)advise_mean(advise, sums.all.bytes));
    advise_evidence(finding, "%s copies of %s an iteration from or to pageable memory take %s",
                    mp_figure(advise_mean(advise, sums.all.count)).text, bytes,
                    advise_time(advise_mean(advise, sums.all.time)).text);
    line_of_rate(finding, "pageable to the device", &sums.large[TO_DEVICE]);
    line_of_rate(finding, "pinned to the device", &sums.pinned[TO_DEVICE]);
    line_of_rate(finding, "pageable to the host", &sums.large[TO_HOST]);
    line_of_rate(finding, "pinned to the host", &sums.pinned[TO_HOST]);
    advise_number(finding, "copies", advise_mean(advise, sums.all.count));
    advise_number(finding, "copied_bytes", advise_mean(advise, sums.all.bytes));
    advise_number(finding, "copies_ns", advise_mean(advise, sums.all.time));
    advise_number(finding, "factor", advise->factor);
    return MP_OK;
}

/* ---- synchronous_copies ---- */

/* Calls that copy to the host still wait, because the program needs the data. */
static void edit_lane(struct advise *advise, const struct deps_lane *lane,
                      struct advise_tally *tally, struct sums *sums)
{
    const struct deps_activity *activities = advise->deps->activities;
    struct advise_call call;

    for (uint32_t at = lane->first; advise_next_call(advise, lane, &at, &call);) {
        uint64_t time = activities[call.last].end - activities[call.first].begin;

        if (call.iteration == DEPS_NONE || advise_kind_of_call(advise, &call) != ADVISE_CALL_COPIES)
            continue;
        if (!(call.launched & ADVISE_LAUNCHED_DTOH))
            advise_edit_call(advise, &call, DEPS_EDIT_NO_WAIT);
        if (!advise_counts(advise, call.first))
            continue;
        copies_add(sums, 0, time);
        advise_tally_add(tally, activities[call.first].name, time);
    }
}

static enum mp_status judge_synchronous(struct advise *advise, struct advise_finding *finding,
                                        struct advise_tally *tally)
{
    struct sums sums = {0};

    for (uint32_t i = 0;
         i < advise->deps->thread_count && advise_has_call(advise, ADVISE_CALL_COPIES); i++)
        edit_lane(advise, &advise->deps->lanes[i], tally, &sums);
    if (!sums.count)
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = "calls that copy to the host wait as before, the others do not wait";
    advise_evidence(finding, "%s copy calls an iteration wait for their work, which takes %s",
                    mp_figure(advise_mean(advise, sums.count)).text,
                    advise_time(advise_mean(advise, sums.time)).text);
    advise_number(finding, "calls", advise_mean(advise, sums.count));
    advise_number(finding, "calls_ns", advise_mean(advise, sums.time));
    advise_tally_lines(advise, tally, finding);
    return MP_OK;
}

enum mp_status advise_synchronous_copies(struct advise *advise, struct advise_finding *finding)
{
    struct advise_tally tally;
    enum mp_status status = advise_tally_init(&tally, advise->deps);

    if (!status)
        status = judge_synchronous(advise, finding, &tally);
    advise_tally_free(&tally);
    return status;
}

/* ---- exposed_copies ---- */

static enum mp_status judge_exposed(struct advise *advise, struct advise_finding *finding,
                                    struct advise_tally *tally)
{
    const struct deps *deps = advise->deps;
    double copies =
        advise_quantity(advise, ITERATION_HTOD) + advise_quantity(advise, ITERATION_DTOH);
    double overlap = advise_quantity(advise, ITERATION_OVERLAP);
    double exposed = copies > overlap ? copies - overlap : 0;
    double kernels = advise_quantity(advise, ITERATION_KERNEL) - overlap;
    double bound = exposed < kernels ? exposed : kernels;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (advise->iterations->of[i] == DEPS_NONE ||
            direction_of(deps, &deps->activities[i]) == DIRECTIONS)
            continue;
        advise->edits[i] = DEPS_EDIT_NO_TIME;
        if (advise_counts(advise, i))
            advise_tally_add(tally, deps->activities[i].name,
                             deps->activities[i].end - deps->activities[i].begin);
    }
    if (bound <= 0)
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->method = ADVISE_BY_REPLAY_BOUNDED;
    if ((double)finding->gain > bound)
        finding->gain = (uint64_t)bound;
    finding->assumes = "iterations do not need each other's results, memory is pinned; at most the "
                       "time of the kernels that could hide the copies";
    advise_evidence(finding,
                    "copies from and to the host take %s of an iteration, %s; during %s of it no "
                    "kernel of the iteration runs",
                    advise_time(copies).text,
                    advise_percent(copies, advise_quantity(advise, ITERATION_LATENCY)).text,
                    advise_time(exposed).text);
    advise_number(finding, "copies_ns", copies);
    advise_number(finding, "exposed_ns", exposed);
    advise_number(finding, "bound_ns", bound);
    advise_tally_lines(advise, tally, finding);
    return MP_OK;
}

enum mp_status advise_exposed_copies(struct advise *advise, struct advise_finding *finding)
{
    struct advise_tally tally;
    enum mp_status status = advise_tally_init(&tally, advise->deps);

    if (!status)
        status = judge_exposed(advise, finding, &tally);
    advise_tally_free(&tally);
    return status;
}

/* constant_copies: copies to the device that look the same in every iteration, beside the input.
 *
 *     iteration 1   HtoD 600 KB, HtoD 4 KB, HtoD 256 B        the largest one is the input;
 *     iteration 2   HtoD 600 KB, HtoD 4 KB, HtoD 256 B        the others could be constants
 *
 * A trace has no contents, so only sizes, calls and their order are compared.
 */

struct constants {
    uint32_t *copies; /* HtoD of iterations, by begin; owned */
    size_t count;
    uint32_t *places;  /* by iteration: copies so far; owned */
    uint32_t *model;   /* by place: the median iteration's copy; owned */
    bool *alike;       /* by place: all iterations that count have that copy; owned */
    uint32_t expected; /* places */
};

static bool begins_first(const void *context, uint32_t a, uint32_t b)
{
    const struct deps_activity *activities = context;

    return activities[a].begin < activities[b].begin;
}

static uint64_t bytes_of(const struct deps *deps, uint32_t index)
{
    return deps->copies[deps->activities[index].copy].bytes;
}

static bool is_input_copy(const struct advise *advise, uint32_t index)
{
    const struct deps_activity *work = &advise->deps->activities[index];

    return work->kind == DEPS_COPY && advise->iterations->of[index] != DEPS_NONE &&
           advise->deps->copies[work->copy].kind == MP_copy_kind_HtoD;
}

/* The name of what launched a copy, in deps->names; 0: not known. */
static uint32_t launcher(const struct deps *deps, uint32_t index)
{
    uint32_t launch = deps->activities[index].launch;

    return launch == DEPS_NONE ? 0 : deps->activities[launch].name;
}

static enum mp_status list_copies(const struct advise *advise, struct constants *constants)
{
    const struct deps *deps = advise->deps;
    size_t room = (size_t)deps->count - deps->host_count + 1;
    uint32_t *scratch = malloc(room * sizeof *scratch);

    constants->copies = malloc(room * sizeof *constants->copies);
    if (!constants->copies || !scratch) {
        free(scratch);
        return MP_ERR_MEMORY;
    }
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (is_input_copy(advise, i))
            constants->copies[constants->count++] = i;
    }
    mp_sort(constants->copies, constants->count, scratch, begins_first, deps->activities);
    free(scratch);
    return MP_OK;
}

static enum mp_status list_places(const struct advise *advise, struct constants *constants)
{
    constants->places = calloc(advise->iterations->count + 1, sizeof *constants->places);
    constants->model = calloc(constants->count + 1, sizeof *constants->model);
    constants->alike = calloc(constants->count + 1, sizeof *constants->alike);
    if (!constants->places || !constants->model || !constants->alike)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < constants->count; i++) {
        if (advise->iterations->of[constants->copies[i]] == advise->summary->median)
            constants->model[constants->expected++] = constants->copies[i];
    }
    return MP_OK;
}

/* Whether a copy is as the median iteration's at its place. */
static bool is_as_model(const struct deps *deps, const struct constants *constants, uint32_t place,
                        uint32_t copy)
{
    uint32_t model = constants->model[place];

    return bytes_of(deps, copy) == bytes_of(deps, model) &&
           launcher(deps, copy) == launcher(deps, model);
}

/* Finds the places at which all iterations that count agree, without those of the largest copies.
 * If the numbers of copies differ, it is none. */
static bool compare_places(const struct advise *advise, struct constants *constants)
{
    const struct deps *deps = advise->deps;
    uint64_t largest = 0;
    bool any = false;

    for (uint32_t place = 0; place < constants->expected; place++) {
        uint64_t bytes = bytes_of(deps, constants->model[place]);

        constants->alike[place] = true;
        largest = bytes > largest ? bytes : largest;
    }
    for (size_t i = 0; i < constants->count; i++) {
        uint32_t copy = constants->copies[i];
        uint32_t place = constants->places[advise->iterations->of[copy]]++;

        if (advise_counts(advise, copy) && place < constants->expected)
            constants->alike[place] &= is_as_model(deps, constants, place, copy);
    }
    for (size_t i = 0; i < advise->iterations->count; i++) {
        if (advise->regular[i] && constants->places[i] != constants->expected)
            return false;
        constants->places[i] = 0;
    }
    for (uint32_t place = 0; place < constants->expected; place++) {
        constants->alike[place] &= bytes_of(deps, constants->model[place]) < largest;
        any |= constants->alike[place];
    }
    return any;
}

/* Removes the copies at these places, with their calls; returns their bytes in the iterations that
 * count. */
static uint64_t remove_copies(struct advise *advise, struct constants *constants,
                              struct advise_picked *picked)
{
    const struct deps *deps = advise->deps;
    uint64_t bytes = 0;

    for (size_t i = 0; i < constants->count; i++) {
        uint32_t copy = constants->copies[i];
        uint32_t call = deps->activities[copy].launch;
        uint32_t place = constants->places[advise->iterations->of[copy]]++;

        if (place >= constants->expected || !constants->alike[place])
            continue;
        advise_edit_gone(advise, copy);
        if (call != DEPS_NONE && !(deps->activities[copy].flags & DEPS_NODE))
            for (uint32_t last = deps->activities[call].last_of_call; call <= last; call++)
                advise->edits[call] |= DEPS_EDIT_NO_WAIT;
        advise_picked_add(advise, picked, copy);
        bytes += advise_counts(advise, copy) ? bytes_of(deps, copy) : 0;
    }
    return bytes;
}

static enum mp_status judge_constants(struct advise *advise, struct advise_finding *finding,
                                      struct constants *constants, struct advise_picked *picked)
{
    char size[MP_FORMATTED_BYTES];

    MP_TRY(list_copies(advise, constants));
    MP_TRY(list_places(advise, constants));
    if (!compare_places(advise, constants))
        return MP_OK;
    uint64_t bytes = remove_copies(advise, constants, picked);
    if (!picked->count)
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = "the largest copy is the input, and these have the same contents in each "
                       "iteration: the trace does not have contents";
    mp_format_size(size, sizeof size, (uint64_t)advise_mean(advise, bytes));
    advise_evidence(finding,
                    "%s of %s copies to the device have the same size, call and place "
                    "in each iteration, and are not the largest; %s in %s",
                    mp_figure(advise_mean(advise, picked->count)).text,
                    mp_count(constants->expected).text, size,
                    advise_time(advise_mean(advise, picked->time)).text);
    advise_number(finding, "copies", advise_mean(advise, picked->count));
    advise_number(finding, "copied_bytes", advise_mean(advise, bytes));
    advise_number(finding, "copies_ns", advise_mean(advise, picked->time));
    advise_tally_lines(advise, &picked->tally, finding);
    return MP_OK;
}

enum mp_status advise_constant_copies(struct advise *advise, struct advise_finding *finding)
{
    struct constants constants = {.count = 0};
    struct advise_picked picked;
    enum mp_status status = advise_picked_init(&picked, advise->deps);

    if (!status)
        status = judge_constants(advise, finding, &constants, &picked);
    advise_tally_free(&picked.tally);
    free(constants.copies);
    free(constants.places);
    free(constants.model);
    free(constants.alike);
    return status;
}

/* Unified memory: what migrates and faults while iterations run. */

/* A migration or the handling of faults, as far as it lies in an iteration. 16 bytes each. */
struct span {
    uint64_t begin;
    uint64_t end;
};

struct pass {
    const struct advise *advise;
    struct span *spans; /* owned */
    size_t count, capacity;
    uint64_t migrations;
    uint64_t bytes;
    uint64_t fault_groups; /* of GPUs */
    uint64_t cpu_faults;
};

/* The first iteration that counts and is open at that time; NULL: none. Iterations are in order of
 * begin. */
static const struct iteration *open_at(const struct advise *advise, uint64_t time)
{
    const struct iteration *items = advise->iterations->items;
    size_t low = MP_SEARCH(0, advise->iterations->count, i, items[i].begin <= time);

    return low && advise->regular[low - 1] && items[low - 1].end > time ? &items[low - 1] : NULL;
}

static enum mp_status add_span(struct pass *pass, uint64_t begin, uint64_t end, uint64_t stop)
{
    if (end > stop)
        end = stop;
    if (end <= begin)
        return MP_OK;
    MP_TRY(MP_RESERVE(pass->spans, pass->count, pass->capacity));
    pass->spans[pass->count++] = (struct span){begin, end};
    return MP_OK;
}

static enum mp_status faults_take_row(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct pass *pass = context;
    const struct mp_unified_columns unified = mp_unified_columns(batch->columns);
    uint64_t kind = unified.kind[row];
    uint64_t begin = unified.start[row];
    const struct iteration *iteration = open_at(pass->advise, begin);

    if (!iteration || !begin || unified.duration[row] > INT64_MAX - begin)
        return MP_OK;
    if (kind == MP_unified_kind_bytes_HtoD || kind == MP_unified_kind_bytes_DtoH ||
        kind == MP_unified_kind_bytes_DtoD) {
        pass->migrations++;
        pass->bytes += unified.value[row];
    } else if (kind == MP_unified_kind_gpu_page_fault) {
        pass->fault_groups++;
    } else if (kind == MP_unified_kind_cpu_page_fault) {
        pass->cpu_faults++;
    } else {
        return MP_OK;
    }
    return add_span(pass, begin, begin + unified.duration[row], iteration->end);
}

MP_COMPARE(compare_spans, struct span, MP_ORDER(a->begin, b->begin));

/* Time that the spans cover together. */
static uint64_t covered(struct pass *pass)
{
    uint64_t total = 0;
    uint64_t to = 0;

    if (pass->count)
        qsort(pass->spans, pass->count, sizeof *pass->spans, compare_spans);
    for (size_t i = 0; i < pass->count; i++) {
        uint64_t begin = pass->spans[i].begin > to ? pass->spans[i].begin : to;

        if (pass->spans[i].end <= begin)
            continue;
        total += pass->spans[i].end - begin;
        to = pass->spans[i].end;
    }
    return total;
}

static void tell(const struct advise *advise, const struct pass *pass, uint64_t time,
                 struct advise_finding *finding)
{
    char bytes[MP_FORMATTED_BYTES];

    finding->method = ADVISE_BY_TIMES;
    finding->gain = time / advise->judged;
    finding->assumes = "at best: all of it happens before, while something else runs";
    mp_format_size(bytes, sizeof bytes, (uint64_t)advise_mean(advise, pass->bytes));
    advise_evidence(finding,
                    "an iteration has %s migrations of %s, %s groups of page faults of the "
                    "GPU and %s of the CPU; their time is %s",
                    mp_figure(advise_mean(advise, pass->migrations)).text, bytes,
                    mp_figure(advise_mean(advise, pass->fault_groups)).text,
                    mp_figure(advise_mean(advise, pass->cpu_faults)).text,
                    advise_time(advise_mean(advise, time)).text);
    advise_number(finding, "migrations", advise_mean(advise, pass->migrations));
    advise_number(finding, "migrated_bytes", advise_mean(advise, pass->bytes));
    advise_number(finding, "gpu_fault_groups", advise_mean(advise, pass->fault_groups));
    advise_number(finding, "cpu_faults", advise_mean(advise, pass->cpu_faults));
    advise_number(finding, "time_ns", advise_mean(advise, time));
}

static const struct reading_table tables[] = {
    {MP_TABLE_unified, MP_MASK(unified, kind, value, start, duration), .take_row = faults_take_row},
};

enum mp_status advise_page_faults(struct advise *advise, struct advise_finding *finding)
{
    struct pass pass = {.advise = advise};
    const struct reading reading = {
        .trace = advise->deps->profile->trace,
        .what = "what happened to unified memory",
        .context = &pass,
        READING_TABLES(tables),
    };

    if (!profile_has_rows(advise->deps->profile, MP_TABLE_unified))
        return MP_OK;
    enum mp_status status = reading_run(&reading, advise->error);
    uint64_t time = status ? 0 : covered(&pass);
    if (time)
        tell(advise, &pass, time, finding);
    free(pass.spans);
    return status;
}
