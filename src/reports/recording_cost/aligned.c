/* What an iteration of the trace looks like in the marks of its process, and which other marks look
 * like that.
 *
 *     iterations   |----- 1 ------|   |----- 2 ------|        |----- 3 ------|
 *     marks        L  L  L        W   L  L  L        W        L  L  L        W      LLLW
 *
 * The kinds of the marks are the pattern, and the kind before them. A run without CUPTI makes the
 * same calls in the same order, so its steps are where the pattern is. An NVTX range is known by
 * its name instead.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/hash.h"
#include "base/data/storage.h"
#include "reports/recording_cost/marks.h"

#include "base/poison.h"

/* A mark is put before its call is recorded, or after: CUPTI's callbacks are in between. */
#define NEAR_NS 10000u

#define MAX_PATTERN 65536u /* marks; longer iterations are not compared */

/* ---- NVTX ranges ---- */

static enum mp_status add_step(struct marks_steps *steps, uint64_t ns)
{
    MP_TRY(MP_RESERVE(steps->items, steps->count, steps->capacity));
    steps->items[steps->count++] = ns;
    return MP_OK;
}

/* Whether a step from one mark to another counts. */
static bool counts(const struct marks *marks, const struct marks_pattern *pattern,
                   bool before_recording, const struct mark *first, const struct mark *last)
{
    if (before_recording)
        return last->time < marks->attached;
    return first->range && last->range == first->range &&
           (!pattern->range || pattern->range == first->range);
}

struct pushed_range {
    uint32_t name, domain;
    const struct mark *begin;
};

#define MAX_NESTED 256

/* Ranges by push and pop. Deeper ones than MAX_NESTED are passed over. */
static enum mp_status find_pushed(const struct marks *marks, const struct marks_thread *thread,
                                  const struct marks_pattern *pattern, bool before_recording,
                                  struct marks_steps *steps)
{
    struct pushed_range open[MAX_NESTED];
    size_t depth = 0;

    for (size_t i = 0; i < thread->count; i++) {
        const struct mark *mark = &thread->items[i];

        if (mark->kind == STEPS_PUSH && depth < MAX_NESTED)
            open[depth++] = (struct pushed_range){mark->name, mark->domain, mark};
        if (mark->kind != STEPS_POP)
            continue;
        size_t at = depth;
        while (at && open[at - 1].domain != mark->domain)
            at--;
        if (!at)
            continue;
        struct pushed_range range = open[at - 1];
        memmove(&open[at - 1], &open[at], (depth - at) * sizeof *open);
        depth--;
        if (range.name == pattern->name && range.domain == pattern->domain &&
            counts(marks, pattern, before_recording, range.begin, mark))
            MP_TRY(add_step(steps, mark->time - range.begin->time));
    }
    return MP_OK;
}

/* The mark that ends the range with this id, in any thread; NULL. */
static const struct mark *find_end(const struct marks *marks, uint32_t id, uint64_t from)
{
    const struct mark *found = NULL;

    for (size_t i = 0; i < marks->count; i++) {
        const struct mark *mark = &marks->items[i];

        if (mark->kind == STEPS_END && mark->name == id && mark->time >= from &&
            (!found || mark->time < found->time))
            found = mark;
    }
    return found;
}

/* Ranges by start and end. There are few. */
static enum mp_status find_started(const struct marks *marks, const struct marks_thread *thread,
                                   const struct marks_pattern *pattern, bool before_recording,
                                   struct marks_steps *steps)
{
    for (size_t i = 0; i + 1 < thread->count; i++) {
        const struct mark *mark = &thread->items[i];

        if (mark->kind != STEPS_BEGIN || mark->name != pattern->name ||
            mark->domain != pattern->domain || mark[1].kind != STEPS_ID)
            continue;
        const struct mark *end = find_end(marks, mark[1].name, mark->time);
        if (end && counts(marks, pattern, before_recording, mark, end))
            MP_TRY(add_step(steps, end->time - mark->time));
    }
    return MP_OK;
}

/* ---- By kinds ---- */

/* Ranges of NVTX may have other names each time, and are left out. */
static bool is_of_pattern(const struct mark *mark)
{
    return mark->kind == STEPS_LAUNCH || mark->kind == STEPS_GRAPH || mark->kind == STEPS_WAIT ||
           mark->kind == STEPS_START || mark->kind == STEPS_STOP;
}

/* The marks of a thread that belong to patterns. */
struct mark_sequence {
    uint8_t *kinds; /* owned */
    const struct mark **marks;
    size_t count;
};

static enum mp_status sequence_of(const struct marks_thread *thread, struct mark_sequence *sequence)
{
    *sequence = (struct mark_sequence){
        .kinds = malloc(thread->count + 1),
        .marks = calloc(thread->count + 1, sizeof(const struct mark *)),
    };
    if (!sequence->kinds || !sequence->marks)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < thread->count; i++) {
        if (!is_of_pattern(&thread->items[i]))
            continue;
        sequence->kinds[sequence->count] = thread->items[i].kind;
        sequence->marks[sequence->count++] = &thread->items[i];
    }
    return MP_OK;
}

static void sequence_free(struct mark_sequence *sequence)
{
    free(sequence->kinds);
    free(sequence->marks);
}

static bool is_here(const struct mark_sequence *sequence, const struct marks_pattern *pattern,
                    size_t at)
{
    uint8_t before = at ? sequence->kinds[at - 1] : STEPS_NOTHING;
    bool fits = pattern->before == STEPS_NOTHING || before == STEPS_NOTHING ||
                before == STEPS_START || before == pattern->before;

    return fits && at + pattern->count <= sequence->count &&
           memcmp(sequence->kinds + at, pattern->kinds, pattern->count) == 0;
}

static enum mp_status find_in_order(const struct marks *marks, const struct marks_thread *thread,
                                    const struct marks_pattern *pattern, bool before_recording,
                                    struct marks_steps *steps)
{
    struct mark_sequence sequence;
    enum mp_status status = sequence_of(thread, &sequence);

    for (size_t at = 0; !status && at + pattern->count <= sequence.count;) {
        const struct mark *first = sequence.marks[at];
        const struct mark *last = sequence.marks[at + pattern->count - 1];

        if (!is_here(&sequence, pattern, at) ||
            !counts(marks, pattern, before_recording, first, last)) {
            at++;
            continue;
        }
        status = add_step(steps, last->time - first->time);
        at += pattern->count - 1;
    }
    sequence_free(&sequence);
    return status;
}

enum mp_status marks_find_steps(const struct marks *marks, const struct marks_pattern *pattern,
                                bool before_recording, struct marks_steps *steps)
{
    for (size_t i = 0; i < marks->thread_count; i++) {
        const struct marks_thread *thread = &marks->threads[i];

        if (!pattern->by_name) {
            MP_TRY(find_in_order(marks, thread, pattern, before_recording, steps));
            continue;
        }
        MP_TRY(find_pushed(marks, thread, pattern, before_recording, steps));
        MP_TRY(find_started(marks, thread, pattern, before_recording, steps));
    }
    return MP_OK;
}

/* ---- The pattern of the iterations ---- */

/* An iteration among the marks of its thread. */
struct located {
    uint64_t hash; /* of its kinds; 0: it has none */
    uint64_t ns;   /* how long it takes, by its marks */
    uint32_t thread;
    size_t first, count;
    uint8_t before;
};

/* The mark where it begins: put before its first call is recorded, or after the call that ends the
 * one before it. */
static size_t first_mark(const struct mark_sequence *sequence, uint64_t begin)
{
    size_t low = 0, high = sequence->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (sequence->marks[middle]->time <= begin)
            low = middle + 1;
        else
            high = middle;
    }
    if (low && sequence->kinds[low - 1] != STEPS_WAIT &&
        begin - sequence->marks[low - 1]->time <= NEAR_NS)
        low--;
    return low;
}

/* Where the steps of iterations end: the last wait of an iteration, or the begin of the next. */
enum step_end { AT_WAIT, AT_NEXT, STEP_ENDS };

/* How many marks it has; 0: it does not end like this. */
static size_t find_count(const struct mark_sequence *sequence, const struct iteration *iteration,
                         size_t first, size_t next, enum step_end ends)
{
    size_t last = next;

    if (ends == AT_NEXT)
        return next < sequence->count ? next - first + 1 : 0;
    while (last > first && (sequence->kinds[last - 1] != STEPS_WAIT ||
                            sequence->marks[last - 1]->time > iteration->host_end + NEAR_NS))
        last--;
    return last > first + 1 ? last - first : 0;
}

static struct located locate(const struct mark_sequence *sequence,
                             const struct iteration *iteration, const struct iteration *next,
                             enum step_end ends)
{
    size_t first = first_mark(sequence, iteration->begin);
    size_t stop = next ? first_mark(sequence, next->begin) : sequence->count;
    struct located place = {.first = first};

    if (stop <= first || first >= sequence->count)
        return place;
    place.count = find_count(sequence, iteration, first, stop, ends);
    if (place.count < 2 || place.count > MAX_PATTERN)
        return (struct located){.hash = 0};
    place.before = first ? sequence->kinds[first - 1] : STEPS_NOTHING;
    place.ns = sequence->marks[first + place.count - 1]->time - sequence->marks[first]->time;
    place.hash = mp_checksum64(sequence->kinds + first, place.count) | 1;
    return place;
}

MP_COMPARE(compare_places, struct located, MP_ORDER(a->hash, b->hash) ?: MP_ORDER(a->ns, b->ns));

/* The places of the most frequent hash, which are sorted; how many of them. */
static const struct located *most_frequent(const struct located *places, size_t count, size_t *most)
{
    const struct located *best = places;

    *most = 0;
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && places[next].hash == places[i].hash; next++)
            continue;
        if (places[i].hash && next - i > *most) {
            *most = next - i;
            best = &places[i];
        }
    }
    return best;
}

static uint8_t common_before(const struct located *places, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (places[i].before != places[0].before && places[i].before != STEPS_START &&
            places[0].before != STEPS_START)
            return STEPS_NOTHING;
    return places[count - 1].before == STEPS_START ? STEPS_NOTHING : places[count - 1].before;
}

/* The iterations among the marks, if their steps end like this. */
struct locating {
    const struct deps *deps;
    const struct iterations_study *study;
    const struct marks *marks;
    enum step_end ends;
    struct located *items; /* room for all iterations; owned */
    size_t count;
};

/* The iterations of one thread, in order. */
static enum mp_status locate_in(struct locating *locating, uint32_t lane,
                                const struct marks_thread *thread)
{
    const struct iterations *iterations = &locating->study->iterations;
    const struct iteration *before = NULL;
    struct mark_sequence sequence;
    enum mp_status status = sequence_of(thread, &sequence);
    size_t from = locating->count;

    for (size_t i = 0; i < iterations->count && !status; i++) {
        const struct iteration *one = &iterations->items[i];

        if (one->thread != lane)
            continue;
        if (before)
            locating->items[locating->count++] = locate(&sequence, before, one, locating->ends);
        before = one;
    }
    if (before && !status)
        locating->items[locating->count++] = locate(&sequence, before, NULL, locating->ends);
    for (; from < locating->count; from++)
        locating->items[from].thread = thread->tid;
    sequence_free(&sequence);
    return status;
}

static const struct marks_thread *thread_of(const struct marks *marks, uint64_t tid)
{
    for (size_t i = 0; i < marks->thread_count; i++)
        if (marks->threads[i].tid == tid)
            return &marks->threads[i];
    return NULL;
}

static enum mp_status locate_all(struct locating *locating)
{
    locating->count = 0;
    for (uint32_t lane = 0; lane < locating->deps->thread_count; lane++) {
        const struct marks_thread *thread =
            thread_of(locating->marks, locating->deps->lanes[lane].tid);

        if (thread)
            MP_TRY(locate_in(locating, lane, thread));
    }
    if (locating->count)
        qsort(locating->items, locating->count, sizeof *locating->items, compare_places);
    return MP_OK;
}

/* Sets the pattern to this place's. */
static enum mp_status take_kinds(const struct marks *marks, const struct located *place,
                                 struct marks_pattern *pattern)
{
    struct mark_sequence sequence;
    enum mp_status status = sequence_of(thread_of(marks, place->thread), &sequence);

    free(pattern->kinds);
    pattern->count = place->count;
    pattern->kinds = status ? NULL : malloc(place->count);
    if (pattern->kinds)
        memcpy(pattern->kinds, sequence.kinds + place->first, place->count);
    sequence_free(&sequence);
    return pattern->kinds ? MP_OK : MP_ERR_MEMORY;
}

/* Steps end where their time comes closest to the headline's. */
static enum mp_status find_kinds(struct locating *locating, struct marks_pattern *pattern,
                                 bool *found)
{
    const struct iterations_headline *headline = &locating->study->summary.headline;
    uint64_t closest = UINT64_MAX;
    size_t most;

    locating->items = calloc(locating->study->iterations.count + 1, sizeof *locating->items);
    if (!locating->items)
        return MP_ERR_MEMORY;
    for (unsigned ends = headline->queued ? AT_NEXT : AT_WAIT; ends < STEP_ENDS; ends++) {
        locating->ends = (enum step_end)ends;
        MP_TRY(locate_all(locating));
        const struct located *best = most_frequent(locating->items, locating->count, &most);
        if (most * 2 < locating->study->iterations.count ||
            mp_distance(best[most / 2].ns, headline->p50) >= closest)
            continue;
        *found = true;
        closest = mp_distance(best[most / 2].ns, headline->p50);
        pattern->before = common_before(best, most);
        MP_TRY(take_kinds(locating->marks, best, pattern));
    }
    return MP_OK;
}

static const char *name_of_steps(const struct iterations *iterations)
{
    return iterations->way == ITERATIONS_GRAPH      ? "CUDA graph launch"
           : iterations->way == ITERATIONS_RANGES   ? "capture range"
           : iterations->way == ITERATIONS_REQUESTS ? "request"
                                                    : "iteration";
}

/* The range whose iterations the headline is about, if they differ. */
static uint32_t range_of(const struct iterations_headline *headline)
{
    const struct iterations_kind *most = NULL;

    for (size_t i = 0; headline->split == ITERATIONS_BY_RANGE && i < headline->kind_count; i++)
        if (!most || headline->kinds[i].count * headline->kinds[i].p50 > most->count * most->p50)
            most = &headline->kinds[i];
    return most ? (uint32_t)most->range : 0;
}

enum mp_status marks_find_pattern(const struct deps *deps, const struct iterations_study *study,
                                  const struct marks *marks, struct marks_pattern *pattern,
                                  bool *found)
{
    const struct iterations *iterations = &study->iterations;

    *pattern = (struct marks_pattern){.unit = name_of_steps(iterations),
                                      .range = range_of(&study->summary.headline)};
    *found = false;
    if (iterations->way == ITERATIONS_NVTX && iterations->name) {
        pattern->by_name = *found = true;
        pattern->name = steps_hash(iterations->name);
        pattern->domain = iterations->domain ? steps_hash(iterations->domain) & 0xFFFFFFu : 0;
        pattern->unit = iterations->name;
        return MP_OK;
    }
    if (iterations->way == ITERATIONS_WHOLE || !iterations->count)
        return MP_OK;
    struct locating locating = {.deps = deps, .study = study, .marks = marks};
    enum mp_status status = find_kinds(&locating, pattern, found);
    free(locating.items);
    return status;
}

void marks_pattern_free(struct marks_pattern *pattern)
{
    free(pattern->kinds);
    *pattern = (struct marks_pattern){.kinds = NULL};
}
