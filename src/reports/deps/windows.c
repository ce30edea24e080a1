/* Windows: capture ranges, and what a thread does in them (docs/dependency-analysis.md, section 5).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/text/units.h"
#include "reports/deps/build.h"
#include "reports/deps/lookup.h"

#include "base/poison.h"

/* By the begins that there are now, or as recorded. */
static uint32_t first_from(const struct deps *deps, const struct deps_lane *lane, uint64_t time,
                           bool recorded)
{
    const struct deps_activity *activities = deps->activities;

    return (uint32_t)MP_SEARCH(
        lane->first, lane->first + lane->count, i,
        (recorded ? deps_recorded_begin(deps, &activities[i]) : activities[i].begin) < time);
}

uint32_t deps_first_from(const struct deps *deps, const struct deps_lane *lane, uint64_t time)
{
    return first_from(deps, lane, time, false);
}

uint32_t deps_piece_before(const struct deps *deps, const struct deps_lane *lane, uint64_t time)
{
    uint32_t at = deps_first_from(deps, lane, time);

    return at == lane->first ? DEPS_NONE : at - 1;
}

uint32_t deps_call_before(const struct deps *deps, const struct deps_lane *lane, uint64_t time,
                          uint64_t from)
{
    for (uint32_t at = deps_first_from(deps, lane, time); at-- > lane->first;) {
        if (deps->activities[at].begin < from)
            break;
        if (deps->activities[at].kind == DEPS_CALL)
            return at;
    }
    return DEPS_NONE;
}

uint32_t deps_window_first(const struct deps *deps, const struct deps_lane *lane,
                           const struct deps_window *window)
{
    uint64_t skew = lane->is_thread || !window->range ? 0 : DEPS_TOLERANCE_NS;

    return first_from(deps, lane, window->from > skew ? window->from - skew : 0, true);
}

/* The thread whose last call in the window ends last; of those that take part only, if `part`. */
static uint32_t last_thread(const struct deps *deps, const struct deps_window *window, bool part)
{
    uint32_t found = DEPS_NONE;
    uint64_t last = 0;

    for (uint32_t i = 0; i < deps->thread_count; i++) {
        uint32_t piece = deps_call_before(deps, &deps->lanes[i], window->host_end, window->begin);

        if (piece == DEPS_NONE || (part && !deps->lanes[i].takes_part))
            continue;
        uint64_t end = deps->activities[piece].end;
        if (end > window->host_end)
            end = window->host_end;
        if (found == DEPS_NONE || end > last ||
            (end == last && deps->lanes[i].id < deps->lanes[found].id)) {
            found = i;
            last = end;
        }
    }
    return found;
}

uint32_t deps_window_thread(const struct deps *deps, const struct deps_window *window)
{
    if (window->thread != DEPS_NONE)
        return window->thread;
    uint32_t found = last_thread(deps, window, true);
    return found == DEPS_NONE ? last_thread(deps, window, false) : found;
}

bool deps_in_window(const struct deps *deps, const struct deps_window *window,
                    const struct deps_activity *activity)
{
    uint64_t begin = deps_recorded_begin(deps, activity);

    if (!window->range)
        return begin >= window->from &&
               (begin < window->until || (!window->id && begin == window->until));
    if (deps_is_call(activity))
        return range_has_call(window->range, begin);
    return range_has_work(window->range, activity->correlation, begin);
}

/* ---- Capture ranges ---- */

struct span {
    uint64_t begin;
    uint64_t end;
};

static void widen(struct span *span, const struct deps_activity *activity)
{
    if (activity->begin < span->begin)
        span->begin = activity->begin;
    if (activity->end > span->end)
        span->end = activity->end;
}

static struct span span_of(const struct deps *deps, uint32_t first, uint32_t end)
{
    struct span span = {UINT64_MAX, 0};

    for (uint32_t i = first; i < end; i++)
        widen(&span, &deps->activities[i]);
    return span;
}

static enum mp_status new_windows(struct deps_windows *windows, size_t count)
{
    *windows = (struct deps_windows){.count = count};
    windows->items = calloc(count + 1, sizeof *windows->items);
    return windows->items ? MP_OK : MP_ERR_MEMORY;
}

static void note_recorded(struct deps_windows *windows)
{
    for (size_t i = 0; i < windows->count; i++) {
        windows->items[i].from = windows->items[i].begin;
        windows->items[i].until = windows->items[i].end;
    }
}

/* Of the threads that take part; if none does, of all. */
static struct span span_of_threads(const struct deps *deps)
{
    struct span span = {UINT64_MAX, 0};

    for (uint32_t i = 0; i < deps->host_count; i++) {
        if (deps->lanes[deps->activities[i].lane].takes_part)
            widen(&span, &deps->activities[i]);
    }
    return span.end ? span : span_of(deps, 0, deps->host_count);
}

/* The whole trace as one window. */
static enum mp_status whole_trace(const struct deps *deps, struct deps_windows *windows)
{
    struct span host = span_of_threads(deps);
    struct span all = span_of(deps, 0, deps->count);

    MP_TRY(new_windows(windows, 1));
    if (!deps->count)
        all = (struct span){0, 0};
    windows->items[0] = (struct deps_window){
        .begin = all.begin, .end = all.end, .thread = DEPS_NONE, .host_end = all.end};
    if (deps->host_count)
        windows->items[0].host_end = host.end;
    return MP_OK;
}

/* The capture ranges stand in the order of their begins. */
const struct capture_range *deps_range_of(const struct deps *deps, const struct deps_activity *work,
                                          size_t *index)
{
    const struct capture_range *ranges = deps->profile->ranges.items.items;
    size_t low = 0;
    size_t count = ranges_count(&deps->profile->ranges);

    while (count) {
        const struct capture_range *middle = &ranges[low + count / 2];
        bool begun = work->correlation && middle->begin_correlation
                         ? middle->begin_correlation <= work->correlation
                         : middle->begin_time <= work->begin;
        if (begun) {
            low += count / 2 + 1;
            count -= count / 2 + 1;
        } else {
            count /= 2;
        }
    }
    if (!low || !range_has_work(&ranges[low - 1], work->correlation, work->begin))
        return NULL;
    *index = low - 1;
    return &ranges[low - 1];
}

/* Work that was launched inside a range is part of the range up to the work's end. */
static void prolong(const struct deps *deps, struct deps_windows *windows)
{
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        size_t index;

        if (deps_range_of(deps, &deps->activities[i], &index) &&
            deps->activities[i].end > windows->items[index].end)
            windows->items[index].end = deps->activities[i].end;
    }
}

static enum mp_status all_ranges(const struct deps *deps, struct deps_windows *windows)
{
    const struct capture_range *ranges = deps->profile->ranges.items.items;
    struct span all = span_of(deps, 0, deps->count);

    MP_TRY(new_windows(windows, ranges_count(&deps->profile->ranges)));
    for (size_t i = 0; i < windows->count; i++) {
        struct deps_window *window = &windows->items[i];

        *window = (struct deps_window){.id = ranges[i].id,
                                       .begin = ranges[i].begin_time,
                                       .end = ranges[i].end_time,
                                       .thread = DEPS_NONE,
                                       .range = &ranges[i]};
        /* The range's end was lost, as when the process was killed. */
        if (!window->begin)
            window->begin = deps->count ? all.begin : 0;
        if (window->end == UINT64_MAX)
            window->end = i + 1 < windows->count ? ranges[i + 1].begin_time : all.end;
        if (window->end < window->begin)
            window->end = window->begin;
        window->host_end = window->end;
    }
    prolong(deps, windows);
    return MP_OK;
}

enum mp_status deps_windows_ranges(const struct deps *deps, uint64_t range,
                                   struct deps_windows *windows, struct mp_error *error)
{
    enum mp_status status = ranges_count(&deps->profile->ranges) ? all_ranges(deps, windows)
                                                                 : whole_trace(deps, windows);

    MP_TRY(mp_error_from(error, status, "cannot analyse the trace"));
    note_recorded(windows);
    if (!range)
        return MP_OK;
    for (size_t i = 0; i < windows->count; i++) {
        if (windows->items[i].id == range) {
            windows->items[0] = windows->items[i];
            windows->count = 1;
            return MP_OK;
        }
    }
    deps_windows_free(windows);
    return mp_error_set(error, MP_ERR_ARGUMENT,
                        "there is no capture range %" PRIu64 "; the trace has %s", range,
                        mp_count(ranges_count(&deps->profile->ranges)).text);
}

void deps_windows_free(struct deps_windows *windows)
{
    free(windows->items);
    free(windows->of);
    *windows = (struct deps_windows){.items = NULL};
}

/* ---- Windows of a thread ---- */

/* False: the thread has nothing in the window. */
static bool make_thread_window(const struct deps *deps, uint32_t lane, struct deps_window *window)
{
    if (window->thread != DEPS_NONE) /* an NVTX range */
        return window->thread == lane;
    uint32_t piece = deps_piece_before(deps, &deps->lanes[lane], window->host_end);
    if (piece == DEPS_NONE || deps->activities[piece].begin < window->begin)
        return false;
    uint64_t end = deps->activities[piece].end;
    window->thread = lane;
    window->end = end < window->host_end ? end : window->host_end;
    window->host_end = window->end;
    window->range = NULL;
    window->id = window->id ? window->id : 1;
    return true;
}

enum mp_status deps_windows_of_thread(const struct deps *deps, const char *thread,
                                      struct deps_windows *windows, struct mp_error *error)
{
    uint32_t lane = deps_find_thread(deps, thread);
    char text[DEPS_REFUSAL_BYTES];
    size_t kept = 0;

    for (size_t i = 0; i < windows->count && lane != DEPS_NONE; i++) {
        windows->items[kept] = windows->items[i];
        kept += make_thread_window(deps, lane, &windows->items[kept]);
    }
    windows->count = kept;
    note_recorded(windows);
    if (kept)
        return MP_OK;
    deps_windows_free(windows);
    if (lane == DEPS_NONE)
        return mp_error_set(error, MP_ERR_ARGUMENT, "%s", deps_refuse_thread(deps, thread, text));
    return mp_error_set(error, MP_ERR_ARGUMENT,
                        "thread '%s' has no call and no wait in what was asked for%s", thread,
                        deps_list_threads(deps, text));
}

/* ---- Threads, as people name them ---- */

#define THREADS_SHOWN     6
#define THREAD_NAME_BYTES 40

_Static_assert(DEPS_THREADS_BYTES > THREADS_SHOWN * (THREAD_NAME_BYTES + 32), "all that is shown");

static const char *name_of_thread(const struct deps *deps, const struct deps_lane *lane)
{
    const struct definition_thread *found = dense_at(&deps->profile->definitions.threads, lane->id);

    return found && found->name ? definitions_text(&deps->profile->definitions, found->name) : NULL;
}

static uint32_t group_of(const struct deps *deps, uint32_t thread)
{
    const char *name = name_of_thread(deps, &deps->lanes[thread]);

    for (uint32_t i = 0; i < thread && name && *name; i++) {
        const char *other =
            deps->lanes[i].group == i ? name_of_thread(deps, &deps->lanes[i]) : NULL;

        if (other && !strcmp(name, other))
            return i;
    }
    return thread;
}

/* A thread without a name is alone in its group. */
void deps_group_threads(struct deps *deps)
{
    for (uint32_t i = 0; i < deps->thread_count; i++)
        deps->lanes[i].group = group_of(deps, i);
}

static bool has_id(const struct deps_lane *lane, const char *asked)
{
    char tid[24];

    snprintf(tid, sizeof tid, "%" PRIu64, lane->tid);
    return !strcmp(asked, tid);
}

/* How many threads have the name; *last is one of them. */
static uint32_t count_of_name(const struct deps *deps, const char *asked, uint32_t *last)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < deps->thread_count; i++) {
        const char *name = name_of_thread(deps, &deps->lanes[i]);

        if (name && !strcmp(asked, name)) {
            *last = i;
            count++;
        }
    }
    return count;
}

/* Threads inherit the system's name from the thread that made them, so many may have one. */
uint32_t deps_find_thread(const struct deps *deps, const char *asked)
{
    uint32_t found = DEPS_NONE;

    for (uint32_t i = 0; i < deps->thread_count; i++) {
        if (has_id(&deps->lanes[i], asked))
            return i;
    }
    return count_of_name(deps, asked, &found) == 1 ? found : DEPS_NONE;
}

const char *deps_refuse_thread(const struct deps *deps, const char *asked,
                               char text[DEPS_REFUSAL_BYTES])
{
    char list[DEPS_THREADS_BYTES];
    uint32_t last;

    snprintf(text, DEPS_REFUSAL_BYTES,
             count_of_name(deps, asked, &last) > 1
                 ? "several threads are called '%.64s', name one by its id%s"
                 : "there is no thread '%.64s'%s",
             asked, deps_list_threads(deps, list));
    return text;
}

void deps_name_thread(const struct deps *deps, uint32_t lane, char text[DEPS_THREAD_BYTES])
{
    const struct deps_lane *thread = &deps->lanes[lane];
    const char *name = name_of_thread(deps, thread);

    if (name && *name)
        snprintf(text, DEPS_THREAD_BYTES, "'%.*s'", THREAD_NAME_BYTES, name);
    else
        snprintf(text, DEPS_THREAD_BYTES, "thread %" PRIu64, thread->tid);
}

/* "1075 'name'", with the rank in a job; returns the length. */
static size_t write_thread(const struct deps *deps, const struct deps_lane *lane, char *text,
                           size_t size)
{
    const char *name = deps->ranks ? NULL : name_of_thread(deps, lane);
    int length;

    if (deps->ranks)
        length =
            snprintf(text, size, "rank%" PRIu32 ":%" PRIu64, deps->ranks[lane->process], lane->tid);
    else if (name && *name)
        length = snprintf(text, size, "%" PRIu64 " '%.*s'", lane->tid, THREAD_NAME_BYTES, name);
    else
        length = snprintf(text, size, "%" PRIu64, lane->tid);
    return (size_t)length;
}

/* Of all threads, or of those that only watch; how many there are. */
static uint32_t list_threads(const struct deps *deps, bool watching, char text[DEPS_THREADS_BYTES])
{
    uint32_t count = 0;
    size_t used = 0;

    *text = '\0';
    for (uint32_t i = 0; i < deps->thread_count; i++) {
        if (watching && !deps->lanes[i].watches)
            continue;
        if (count && count <= THREADS_SHOWN)
            used += (size_t)snprintf(text + used, DEPS_THREADS_BYTES - used, "%s",
                                     count < THREADS_SHOWN ? ", " : ", ...");
        if (count++ < THREADS_SHOWN)
            used += write_thread(deps, &deps->lanes[i], text + used, DEPS_THREADS_BYTES - used);
    }
    return count;
}

const char *deps_list_threads(const struct deps *deps, char text[DEPS_THREADS_BYTES])
{
    static const char intro[] = "; there are: ";
    char list[DEPS_THREADS_BYTES];

    *text = '\0';
    if (list_threads(deps, false, list))
        snprintf(text, DEPS_THREADS_BYTES, "%s%.*s", intro,
                 (int)(DEPS_THREADS_BYTES - sizeof intro), list);
    return text;
}

uint32_t deps_list_watchers(const struct deps *deps, char text[DEPS_THREADS_BYTES])
{
    return list_threads(deps, true, text);
}
