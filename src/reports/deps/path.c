/* The critical path of a window, followed backwards: docs/dependency-analysis.md, section 5.
 *
 *     thread    |--call--|..host code..|launch|        |------wait------|
 *     stream                              ..|==kernel==|..|==kernel==|..|
 *                                        <2>          <1>            <0> return from wait
 *
 * The walk holds one moment, which only goes back. Every step adds the time between the new moment
 * and the old one to a row or a part, so their sum is the window.
 */
#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "reports/deps/build.h"
#include "reports/deps/lookup.h"

#include "base/poison.h"

struct walk {
    const struct deps *deps;
    const struct deps_window *window;
    struct deps_result *result;
    uint64_t *critical;       /* by activity; NULL: nobody asks */
    struct deps_steps *steps; /* the last one first; NULL: nobody asks */
    enum mp_status status;    /* of `steps` */
    uint64_t moment;          /* ns: everything after it is handed out */
    uint32_t at;              /* device activity; DEPS_NONE: the walk is on a thread */
    uint32_t lane;            /* that thread, */
    uint32_t below;           /* and a piece of it that begins at that moment or later; DEPS_NONE */
    uint64_t idle_steps;      /* that did not move the moment */
    bool by_time;             /* it came to `at` by DEPS_BY_TIME */
};

static void note_step(struct walk *walk, uint64_t begin, uint32_t activity, enum deps_part part)
{
    struct deps_steps *steps = walk->steps;
    bool on_thread = walk->at == DEPS_NONE || part == DEPS_HOST_CODE || part == DEPS_LAUNCH_LATENCY;
    uint32_t lane = on_thread ? walk->lane : walk->deps->activities[walk->at].lane;

    if (!steps || walk->status || begin == walk->moment)
        return;
    walk->status = MP_RESERVE(steps->items, steps->count, steps->capacity);
    if (!walk->status)
        steps->items[steps->count++] =
            (struct deps_step){begin, walk->moment, activity, lane, (uint8_t)part};
}

/* Goes back to `until`, but not before the window's begin; returns the time in between. */
static uint64_t go_back(struct walk *walk, uint64_t until, uint32_t activity, enum deps_part part)
{
    uint64_t stop = mp_max(until, walk->window->begin);
    uint64_t time = 0;

    if (stop < walk->moment) {
        note_step(walk, stop, activity, part);
        time = walk->moment - stop;
        walk->moment = stop;
        walk->idle_steps = 0;
    } else {
        walk->idle_steps++;
    }
    return time;
}

static void give_part(struct walk *walk, enum deps_part part, uint64_t until)
{
    walk->result->parts[part] += go_back(walk, until, DEPS_NONE, part);
}

/* ---- What recording costs ----
 *
 * Each piece of the path ends with what recording adds to it: the host code before a call, the
 * call, the return from a wait, a latency, a gap, and work whose own time has some. This is what a
 * replay with recording=0 takes away from the same piece (replay/solve.c), so the rest of the piece
 * is what the piece takes then.
 */

/* Of the time back to `until`, what belongs to the last `costs[index]` ns before `end`. Returns it.
 */
static uint64_t give_recording(struct walk *walk, uint64_t until, uint64_t end,
                               const uint32_t *costs, uint32_t index)
{
    uint64_t cost = costs ? costs[index] : 0;
    uint64_t from = end > cost ? end - cost : 0;

    from = mp_max(mp_max(from, until), walk->window->begin);
    if (!cost || from >= walk->moment)
        return 0;
    uint64_t time = go_back(walk, from, DEPS_NONE, DEPS_RECORDING);
    walk->result->parts[DEPS_RECORDING] += time;
    return time;
}

/* The same of device work before the moment. */
static uint64_t give_recording_of_work(struct walk *walk, uint64_t until, const uint32_t *costs)
{
    return give_recording(walk, until, walk->moment, costs, walk->at);
}

/* ---- Steps ---- */

/* The time back to `from` is the activity's own. */
static void give_activity(struct walk *walk, uint32_t index, uint64_t from)
{
    const struct deps_activity *activity = &walk->deps->activities[index];
    uint64_t time = go_back(walk, from, index, DEPS_NO_PART);

    if (walk->by_time)
        walk->result->by_time += time;
    walk->by_time = false;
    if (walk->result->rows)
        walk->result->rows[activity->name].critical += time;
    if (walk->critical)
        walk->critical[index] += time;
}

static void divide_host_code(struct walk *walk, uint64_t from)
{
    struct deps_result *result = walk->result;
    uint32_t group = walk->deps->lanes[walk->lane].group;
    uint64_t parts[DEPS_PARTS] = {0};

    deps_divide_host_code(walk->deps, walk->lane, from, walk->moment, parts);
    for (int part = 0; part < DEPS_HOST_PARTS; part++) {
        result->parts[part] += parts[part];
        result->host[group][part] += parts[part];
    }
}

/* The time back to `until` is host code of the thread that the walk is on, before the piece `next`.
 */
static void give_host_code(struct walk *walk, uint32_t next, uint64_t until)
{
    const struct deps_lane *lane = &walk->deps->lanes[walk->lane];
    uint64_t stop = mp_max(until, walk->window->begin);

    if (next < lane->first + lane->count)
        give_recording(walk, stop, walk->deps->activities[next].begin, walk->deps->recording.before,
                       next);

    if (stop < walk->moment && walk->result->host)
        divide_host_code(walk, stop);
    go_back(walk, until, DEPS_NONE, DEPS_HOST_CODE);
}

/* The last piece of the thread that began before the moment; DEPS_NONE. */
static uint32_t find_piece(const struct walk *walk)
{
    const struct deps_lane *lane = &walk->deps->lanes[walk->lane];
    uint32_t at = walk->below;

    if (at == DEPS_NONE)
        return deps_piece_before(walk->deps, lane, walk->moment);
    while (at > lane->first) {
        if (walk->deps->activities[--at].begin < walk->moment)
            return at;
    }
    return DEPS_NONE;
}

/* One step back on a thread: over host code, then to the piece before it, or to what that piece
 * waited for. */
static void step_on_thread(struct walk *walk)
{
    const struct deps *deps = walk->deps;
    const uint32_t *costs = deps->recording.within;
    uint32_t piece = find_piece(walk);
    uint32_t next = piece == DEPS_NONE ? deps->lanes[walk->lane].first : piece + 1;

    if (piece == DEPS_NONE || deps->activities[piece].end <= walk->window->begin) {
        give_host_code(walk, next, walk->window->begin);
        return;
    }
    const struct deps_activity *call = &deps->activities[piece];
    give_host_code(walk, next, call->end);
    if (call->bound == DEPS_WOKEN) {
        const struct deps_wait *how = deps_wait_of(deps, call);

        give_part(walk, DEPS_RETURN, how->woken);
        walk->at = how->host_function;
        walk->lane = how->waker;
        walk->below = DEPS_NONE;
    } else if (deps_call_waits(call)) {
        give_recording(walk, deps->activities[call->awaited].end, call->end, costs, piece);
        give_part(walk, DEPS_RETURN, deps->activities[call->awaited].end);
        walk->at = call->awaited;
        walk->by_time = call->bound == DEPS_BY_TIME;
    } else {
        give_recording(walk, call->begin, call->end, costs, piece);
        give_activity(walk, piece, call->begin);
        walk->below = piece;
    }
}

static enum deps_part part_of(enum deps_reason reason)
{
    return reason == DEPS_STREAM_ORDER ? DEPS_STREAM_GAP : DEPS_DEPENDENCY_LATENCY;
}

/* A launch is late if work waits this many times the usual latency inside of its call. */
#define TIMES_USUAL 5

/* How much longer than usual work waits inside of a late launch, ns; 0: it is not late. */
static uint64_t late_inside(const struct deps *deps, const struct deps_activity *work)
{
    const struct deps_activity *call = &deps->activities[work->launch];
    uint64_t end = deps->activities[call->last_of_call].end;
    uint64_t inside = (end < work->begin ? end : work->begin) - call->begin;
    uint64_t usual = deps->launch_latencies[work->launch_class].p50;

    return work->begin > call->begin && inside > TIMES_USUAL * usual ? inside - usual : 0;
}

/* One step back from a device activity to what bound it. */
static void step_on_device(struct walk *walk)
{
    const struct deps *deps = walk->deps;
    const struct deps_activity *activity = &deps->activities[walk->at];
    const struct deps_less *costs = &deps->recording;
    uint32_t to = deps_bound_to(deps, walk->at);

    walk->result->recording_inside +=
        give_recording_of_work(walk, deps_alone_from(deps, activity), costs->own);
    give_activity(walk, walk->at, deps_alone_from(deps, activity));
    if (to == DEPS_NONE) {
        give_part(walk, DEPS_NO_KNOWN_CAUSE, walk->window->begin);
    } else if (activity->bound == DEPS_LAUNCH) {
        walk->lane = deps->activities[to].lane;
        if (walk->moment > walk->window->begin)
            walk->result->late_launches += late_inside(deps, activity);
        give_recording_of_work(walk, deps->activities[to].begin, costs->before);
        give_part(walk, DEPS_LAUNCH_LATENCY, deps->activities[to].begin);
        walk->below = deps->activities[to].begin >= walk->moment ? to : DEPS_NONE;
        walk->at = DEPS_NONE;
    } else {
        give_recording_of_work(walk, deps->activities[to].end, costs->within);
        give_part(walk, part_of((enum deps_reason)activity->bound), deps->activities[to].end);
        walk->at = to;
        walk->by_time = activity->bound == DEPS_BY_TIME;
    }
}

/* The device activity of the window that ends last; DEPS_NONE. */
static uint32_t last_work(const struct deps *deps, const struct deps_window *window)
{
    uint32_t last = DEPS_NONE;

    for (uint32_t i = deps->thread_count; i < deps->lane_count; i++) {
        const struct deps_lane *lane = &deps->lanes[i];
        uint32_t at = deps_window_first(deps, lane, window);

        for (; at < lane->first + lane->count; at++) {
            if (deps_is_behind(deps, window, &deps->activities[at]))
                break;
            if (deps_in_window(deps, window, &deps->activities[at]) &&
                (last == DEPS_NONE || deps_ends_later(deps, at, last)))
                last = at;
        }
    }
    return last;
}

static void find_end(struct walk *walk)
{
    const struct deps_window *window = walk->window;
    bool prolonged = window->end > window->host_end;

    walk->moment = window->end;
    walk->at = DEPS_NONE;
    walk->below = DEPS_NONE;
    walk->lane = deps_window_thread(walk->deps, window);
    if (prolonged || walk->lane == DEPS_NONE)
        walk->at = last_work(walk->deps, window);
    if (walk->at != DEPS_NONE && walk->deps->activities[walk->at].end < window->end)
        give_part(walk, DEPS_HOST_CODE, walk->deps->activities[walk->at].end);
}

/* Goes back from the moment on. */
static void follow(struct walk *walk)
{
    while (walk->moment > walk->window->begin) {
        if (walk->at != DEPS_NONE)
            step_on_device(walk);
        else if (walk->lane != DEPS_NONE)
            step_on_thread(walk);
        else
            break;
        /* Only in a damaged trace do the times lead round in a circle. */
        if (walk->idle_steps > walk->deps->count + UINT64_C(4))
            break;
    }
    give_part(walk, DEPS_NO_KNOWN_CAUSE, walk->window->begin);
}

static void add_up_lane(const struct deps *deps, const struct deps_lane *lane,
                        const struct deps_window *window, struct deps_result *result)
{
    for (uint32_t at = deps_window_first(deps, lane, window); at < lane->first + lane->count;
         at++) {
        const struct deps_activity *activity = &deps->activities[at];
        struct deps_row *row = &result->rows[activity->name];

        if (deps_is_behind(deps, window, activity))
            break;
        if (!deps_in_window(deps, window, activity))
            continue;
        if (lane->is_thread)
            row->waiting += deps_waiting(deps, activity);
        else
            row->device_waiting += deps_waiting(deps, activity);
        if (activity->kind == DEPS_COPY)
            row->calls += deps->copies[activity->copy].count;
        else
            row->calls += !(activity->flags & (DEPS_CONTINUED | DEPS_ARRIVES));
    }
}

void deps_path(const struct deps *deps, const struct deps_window *window,
               struct deps_result *result, uint64_t *critical)
{
    struct walk walk = {.deps = deps, .window = window, .result = result, .critical = critical};

    for (uint32_t i = 0; i < deps->lane_count; i++)
        add_up_lane(deps, &deps->lanes[i], window, result);
    result->window += window->end - window->begin;
    find_end(&walk);
    follow(&walk);
}

/* The steps of a walk that has its end. */
static enum mp_status take_steps(struct walk *walk, struct deps_steps *steps)
{
    follow(walk);
    for (size_t i = 0; i < steps->count / 2; i++) {
        struct deps_step step = steps->items[i];

        steps->items[i] = steps->items[steps->count - 1 - i];
        steps->items[steps->count - 1 - i] = step;
    }
    if (walk->status) {
        free(steps->items);
        steps->items = NULL;
    }
    return walk->status;
}

enum mp_status deps_path_steps(const struct deps *deps, const struct deps_window *window,
                               struct deps_steps *steps)
{
    struct deps_result result;
    struct walk walk = {.deps = deps, .window = window, .result = &result, .steps = steps};

    *steps = (struct deps_steps){.items = NULL};
    MP_TRY(deps_result_init(deps, &result));
    find_end(&walk);
    enum mp_status status = take_steps(&walk, steps);
    deps_result_free(&result);
    return status;
}

enum mp_status deps_path_before(const struct deps *deps, uint32_t activity, uint64_t begin,
                                struct deps_steps *steps)
{
    const struct deps_window window = {.begin = begin, .thread = DEPS_NONE};
    struct deps_result result;
    struct walk walk = {.deps = deps,
                        .window = &window,
                        .result = &result,
                        .steps = steps,
                        .moment = deps->activities[activity].begin,
                        .at = activity,
                        .lane = DEPS_NONE,
                        .below = DEPS_NONE};

    *steps = (struct deps_steps){.items = NULL};
    MP_TRY(deps_result_init(deps, &result));
    enum mp_status status = take_steps(&walk, steps);
    deps_result_free(&result);
    return status;
}

/* Whether one latency before `work` is all of the path from `begin` on, as it is of most gaps; then
 * *costs are of that. */
static bool is_one_latency(const struct deps *deps, uint32_t work, uint64_t begin,
                           const uint32_t **costs)
{
    const struct deps_activity *activity = &deps->activities[work];
    bool launched = activity->bound == DEPS_LAUNCH;
    uint32_t to = activity->overlapped == DEPS_NONE ? deps_bound_to(deps, work) : DEPS_NONE;

    *costs = launched ? deps->recording.before : deps->recording.within;
    return to != DEPS_NONE &&
           (launched ? deps->activities[to].begin : deps->activities[to].end) <= begin;
}

uint64_t deps_recording_before(const struct deps *deps, uint32_t work, uint32_t thread,
                               uint64_t begin, uint64_t end)
{
    const uint32_t *costs;

    if (!deps->recording.before)
        return 0;
    if (work != DEPS_NONE && is_one_latency(deps, work, begin, &costs))
        return costs[work] < end - begin ? costs[work] : end - begin;
    const struct deps_window window = {.begin = begin, .thread = DEPS_NONE};
    struct deps_result parts = {.rows = NULL}; /* nobody asks for names */
    struct walk walk = {.deps = deps,
                        .window = &window,
                        .result = &parts,
                        .moment = end,
                        .at = work,
                        .lane = thread,
                        .below = DEPS_NONE};

    follow(&walk);
    return parts.parts[DEPS_RECORDING];
}

/* ---- The paths of many windows ---- */

/* A window's value of a row or part: kept only where it is not 0, since most names have nothing on
 * most paths. */
struct value {
    uint32_t column; /* 2 * name: critical; 2 * name + 1: waiting; after them the parts, then host
                        code by thread */
    uint64_t ns;
};

struct collection {
    struct value *items;
    size_t count, capacity;
    uint32_t names; /* and one more */
};

static enum mp_status iterations_keep(struct collection *collection, uint32_t column, uint64_t ns)
{
    if (!ns)
        return MP_OK;
    MP_TRY(MP_RESERVE(collection->items, collection->count, collection->capacity));
    collection->items[collection->count++] = (struct value){column, ns};
    return MP_OK;
}

static enum mp_status keep_threads(struct collection *collection, const struct deps_result *result)
{
    uint32_t column = 2 * collection->names + DEPS_PARTS;

    for (uint32_t thread = 0; thread < result->thread_count; thread++) {
        for (int part = 0; part < DEPS_HOST_PARTS; part++)
            MP_TRY(iterations_keep(collection, column++, result->host[thread][part]));
    }
    return MP_OK;
}

static enum mp_status keep_window(struct collection *collection, const struct deps_result *result)
{
    for (uint32_t name = 1; name < result->row_count; name++) {
        const struct deps_row *row = &result->rows[name];

        MP_TRY(iterations_keep(collection, 2 * name, row->critical));
        MP_TRY(iterations_keep(collection, 2 * name + 1, row->waiting + row->device_waiting));
    }
    for (uint32_t part = 0; part < DEPS_PARTS; part++)
        MP_TRY(iterations_keep(collection, 2 * collection->names + part, result->parts[part]));
    return keep_threads(collection, result);
}

static void iterations_add_up(struct deps_result *total, const struct deps_result *one)
{
    for (uint32_t name = 1; name < one->row_count; name++) {
        total->rows[name].critical += one->rows[name].critical;
        total->rows[name].waiting += one->rows[name].waiting;
        total->rows[name].device_waiting += one->rows[name].device_waiting;
        total->rows[name].calls += one->rows[name].calls;
    }
    for (uint32_t part = 0; part < DEPS_PARTS; part++)
        total->parts[part] += one->parts[part];
    for (uint32_t thread = 0; thread < one->thread_count; thread++) {
        for (int part = 0; part < DEPS_HOST_PARTS; part++)
            total->host[thread][part] += one->host[thread][part];
    }
    total->recording_inside += one->recording_inside;
    total->by_time += one->by_time;
    total->late_launches += one->late_launches;
    total->window += one->window;
}

static int compare_columns(const void *left, const void *right)
{
    uint32_t a = ((const struct value *)left)->column;
    uint32_t b = ((const struct value *)right)->column;

    return MP_ORDER(a, b);
}

static struct statistics *statistics_slot(struct deps_iterations *iterations, uint32_t names,
                                          uint32_t column)
{
    uint32_t part = column - 2 * names;

    if (column >= 2 * names)
        return part < DEPS_PARTS ? &iterations->parts[part]
                                 : &iterations->host[0][0] + (part - DEPS_PARTS);
    return column % 2 ? &iterations->waiting[column / 2] : &iterations->critical[column / 2];
}

/* `values` has room for one value of each window; windows without one count as 0. */
static void sum_up(struct deps_iterations *iterations, struct collection *collection,
                   uint64_t *values, size_t windows)
{
    if (collection->count)
        qsort(collection->items, collection->count, sizeof *collection->items, compare_columns);
    for (size_t at = 0; at < collection->count;) {
        uint32_t column = collection->items[at].column;
        size_t count = 0;

        for (; at < collection->count && collection->items[at].column == column; at++)
            values[count++] = collection->items[at].ns;
        while (count < windows)
            values[count++] = 0;
        *statistics_slot(iterations, collection->names, column) = statistics_of(values, windows);
    }
}

struct length {
    uint64_t ns;
    uint32_t window;
};

MP_COMPARE(compare_lengths, struct length,
           MP_ORDER(b->ns, a->ns) ?: MP_ORDER(a->window, b->window));

static enum mp_status order_by_length(const struct deps_windows *windows,
                                      struct deps_iterations *iterations, uint64_t *values)
{
    struct length *lengths = calloc(windows->count + 1, sizeof *lengths);

    if (!lengths)
        return MP_ERR_MEMORY;
    for (uint32_t i = 0; i < windows->count; i++) {
        values[i] = windows->items[i].end - windows->items[i].begin;
        lengths[i] = (struct length){values[i], i};
    }
    qsort(lengths, windows->count, sizeof *lengths, compare_lengths);
    for (uint32_t i = 0; i < windows->count; i++)
        iterations->by_length[i] = lengths[i].window;
    free(lengths);
    iterations->window = statistics_of(values, windows->count);
    /* P50 is the value with rank (count + 1) / 2 from below. */
    iterations->median = iterations->by_length[windows->count - (windows->count + 1) / 2];
    return MP_OK;
}

static enum mp_status collect(const struct deps *deps, const struct deps_windows *windows,
                              struct deps_iterations *iterations, struct collection *collection)
{
    struct deps_result one;
    enum mp_status status = deps_result_init(deps, &one);

    for (size_t i = 0; i < windows->count && !status; i++) {
        deps_result_clear(&one);
        deps_path(deps, &windows->items[i], &one, NULL);
        iterations_add_up(&iterations->total, &one);
        status = keep_window(collection, &one);
    }
    deps_result_free(&one);
    return status;
}

enum mp_status deps_iterations_build(const struct deps *deps, const struct deps_windows *windows,
                                     struct deps_iterations *iterations)
{
    struct collection collection = {.names = deps->names.count + 1};
    uint64_t *values = calloc(windows->count + 1, sizeof *values);

    *iterations = (struct deps_iterations){.median = 0};
    iterations->critical = calloc(collection.names, sizeof *iterations->critical);
    iterations->waiting = calloc(collection.names, sizeof *iterations->waiting);
    iterations->host = calloc((size_t)deps->thread_count + 1, sizeof *iterations->host);
    iterations->by_length = calloc(windows->count + 1, sizeof *iterations->by_length);
    enum mp_status status = deps_result_init(deps, &iterations->total);
    if (!values || !iterations->critical || !iterations->waiting || !iterations->host ||
        !iterations->by_length)
        status = MP_ERR_MEMORY;
    if (!status && windows->count)
        status = order_by_length(windows, iterations, values);
    if (!status)
        status = collect(deps, windows, iterations, &collection);
    if (!status)
        sum_up(iterations, &collection, values, windows->count);
    free(collection.items);
    free(values);
    if (status)
        deps_iterations_free(iterations);
    return status;
}

void deps_iterations_free(struct deps_iterations *iterations)
{
    free(iterations->critical);
    free(iterations->waiting);
    free(iterations->host);
    free(iterations->by_length);
    deps_result_free(&iterations->total);
    *iterations = (struct deps_iterations){.median = 0};
}
