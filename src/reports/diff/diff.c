/* Compares two sides. All runs must be cut into iterations in the same way. If each run would take
 * the same by itself, it is that. Otherwise it is the first one that every run has: of those that a
 * run would take by itself, in the order of enum iterations_way, then of `others`. So it does not
 * matter which side is A.
 */
#include "reports/diff/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "reports/recording_cost/recording_cost.h"

#include "base/poison.h"

#define MAX_OWN 16

struct own_way {
    enum iterations_way way;
    char *name; /* NVTX: as --iterations takes it; owned */
};

/* A comparison being made. */
struct building {
    const char *const *paths[DIFF_SIDES];
    size_t counts[DIFF_SIDES];
    const struct diff_options *options;
    struct diff *diff;
    struct mp_error *error;
    /* The way that all runs must have; AUTO until the first run has chosen. */
    struct iterations_options way;
    struct own_way own[MAX_OWN]; /* what runs would take by themselves, each once */
    size_t own_count;
    bool differ; /* they are several: ways are tried one after the other */
    size_t next; /* of own, then of all ways */
    bool again;  /* a run does not have this way: all are read once more */
};

const char *diff_change_name(enum diff_change change)
{
    static const char *const names[DIFF_CHANGES] = {
        [DIFF_UNCHANGED] = "unchanged", [DIFF_ADDED] = "added",   [DIFF_REMOVED] = "removed",
        [DIFF_SLOWER] = "slower",       [DIFF_FASTER] = "faster", [DIFF_UNKNOWN] = "unknown",
    };

    return names[change];
}

const char *diff_quantity_change_name(enum diff_change change)
{
    if (change == DIFF_SLOWER)
        return "more";
    return change == DIFF_FASTER ? "less" : diff_change_name(change);
}

double diff_percent(const struct diff *diff)
{
    double usual = (double)diff->sides[DIFF_A].latency.p50;

    return usual > 0 ? 100 * diff->latency.center / usual : 0;
}

bool diff_is_above(const struct diff *diff, double percent)
{
    return diff->latency.bounded && diff->latency.low > 0 && diff_percent(diff) > percent;
}

bool diff_is_whole(const struct diff *diff)
{
    for (int side = 0; side < DIFF_SIDES; side++)
        for (size_t i = 0; i < diff->sides[side].run_count; i++)
            if (!diff->sides[side].runs[i].whole)
                return false;
    return true;
}

const struct quality_gap *diff_gap(const struct diff *diff)
{
    for (int side = 0; side < DIFF_SIDES; side++)
        for (size_t i = 0; i < diff->sides[side].run_count; i++)
            if (diff->sides[side].runs[i].gap)
                return diff->sides[side].runs[i].gap;
    return NULL;
}

/* ---- One way for all runs ---- */

/* NAME or NAME@DOMAIN, as --iterations takes it; owned by the caller. NULL: it has none, or no
 * memory. */
static char *name_of(const struct iterations *found)
{
    char *name = NULL;

    if (found->name && asprintf(&name, "%s%s%s", found->name, found->domain ? "@" : "",
                                found->domain ? found->domain : "") < 0)
        return NULL;
    return name;
}

static void describe_way(const struct iterations *found, char *text, size_t size)
{
    static const char *const names[ITERATIONS_WAYS] = {
        [ITERATIONS_AUTO] = "",
        [ITERATIONS_RANGES] = "capture ranges",
        [ITERATIONS_GRAPH] = "launches of a CUDA graph",
        [ITERATIONS_KERNELS] = "a sequence of kernels",
        [ITERATIONS_SYNCS] = "waits of a thread",
        [ITERATIONS_REQUESTS] = "requests of threads",
        [ITERATIONS_WHOLE] = "the whole trace",
    };

    if (found->way == ITERATIONS_NVTX)
        snprintf(text, size, "NVTX ranges \"%.80s\"", found->name);
    else
        snprintf(text, size, "%s", names[found->way]);
}

static void note_difference(struct building *building, const char *path,
                            const struct iterations *found)
{
    char *why = building->diff->why;
    char own[112], first[112];
    const struct iterations chosen = {.way = building->diff->way, .name = building->diff->name};

    if (*why)
        return;
    describe_way(found, own, sizeof own);
    describe_way(&chosen, first, sizeof first);
    snprintf(why, sizeof building->diff->why,
             "by itself '%.120s' would have iterations by %s, '%.120s' by %s", path, own,
             building->paths[DIFF_A][0], first);
}

/* The first run's way is that of all. */
static enum mp_status diff_choose(struct building *building, const struct iterations *found)
{
    struct diff *diff = building->diff;

    diff->way = found->way;
    free(diff->name);
    diff->name = name_of(found);
    if (found->name && !diff->name)
        return MP_ERR_MEMORY;
    building->way.way = found->way;
    building->way.name = diff->name;
    return MP_OK;
}

static enum mp_status find_way(const struct building *building, struct diff_reading *reading,
                               enum iterations_way way, const char *name, struct iterations *found,
                               struct mp_error *error)
{
    const struct iterations_options options = {
        .way = way, .name = name, .range = building->options->iterations.range};

    return iterations_find(reading->deps, reading->trace, &options, found, error);
}

MP_COMPARE(compare_ways, struct own_way,
           MP_ORDER(a->way, b->way) ?: strcmp(a->name ? a->name : "", b->name ? b->name : ""));

/* Notes what a run would take by itself. */
static enum mp_status note_own(struct building *building, const struct iterations *found)
{
    struct own_way own = {found->way, found->way == ITERATIONS_NVTX ? name_of(found) : NULL};

    if (found->way == ITERATIONS_NVTX && !own.name)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < building->own_count; i++) {
        if (!compare_ways(&building->own[i], &own)) {
            free(own.name);
            return MP_OK;
        }
    }
    if (building->own_count == MAX_OWN) {
        free(own.name);
        return MP_OK;
    }
    building->own[building->own_count++] = own;
    return MP_OK;
}

/* Each run by itself. After a difference the others are only asked what they would take. */
static enum mp_status find_own(struct building *building, struct diff_reading *reading,
                               const char *path, struct iterations *found)
{
    MP_TRY(find_way(building, reading, ITERATIONS_AUTO, NULL, found, building->error));
    MP_TRY(note_own(building, found));
    if (building->own_count > 1) {
        note_difference(building, path, found);
        building->again = true;
        return MP_OK;
    }
    return building->way.way == ITERATIONS_AUTO ? diff_choose(building, found) : MP_OK;
}

/* Number `next` of those that are tried; the last one is the whole trace, which every run has. */
static struct own_way way_to_try(const struct building *building)
{
    static const enum iterations_way others[] = {ITERATIONS_GRAPH,  ITERATIONS_KERNELS,
                                                 ITERATIONS_SYNCS,  ITERATIONS_REQUESTS,
                                                 ITERATIONS_RANGES, ITERATIONS_WHOLE};
    size_t behind = building->next - building->own_count;

    if (building->next < building->own_count)
        return building->own[building->next];
    return (struct own_way){others[behind], NULL};
}

static enum mp_status find_common(struct building *building, struct diff_reading *reading,
                                  struct iterations *found)
{
    const struct own_way try = way_to_try(building);
    struct mp_error error;
    enum mp_status status = find_way(building, reading, try.way, try.name, found, &error);

    if (!status && (found->count >= 2 || found->way == ITERATIONS_WHOLE))
        return building->way.way == ITERATIONS_AUTO ? diff_choose(building, found) : MP_OK;
    if (!status)
        iterations_free(found);
    else if (status != MP_ERR_ARGUMENT)
        return mp_error_set(building->error, status, "%s", error.text);
    building->again = true;
    return MP_OK;
}

static enum mp_status find_asked(struct building *building, struct diff_reading *reading,
                                 struct iterations *found)
{
    const struct iterations_options *asked = &building->options->iterations;

    MP_TRY(find_way(building, reading, asked->way, building->way.name, found, building->error));
    if (building->way.way != ITERATIONS_AUTO)
        return MP_OK;
    building->diff->found = false;
    return diff_choose(building, found);
}

/* ---- A run ---- */

static enum mp_status diff_take(struct building *building, int side, const char *path,
                                struct diff_reading *reading, struct iterations *found)
{
    struct iterations_study study = {.iterations = *found};
    enum mp_status status = iterations_study_of(reading->deps, &study);

    *found = (struct iterations){.count = 0};
    reading->iterations = &study.iterations;
    reading->measures = study.measures;
    reading->summary = &study.summary;
    if (!status)
        status = diff_run_take(&building->diff->sides[side], reading, path, building->error);
    *found = study.iterations;
    study.iterations = (struct iterations){.count = 0};
    iterations_study_free(&study);
    reading->iterations = found;
    return status;
}

static enum mp_status find_and_take(struct building *building, int side, const char *path,
                                    struct diff_reading *reading, struct diff_marks *marks)
{
    struct iterations found = {.count = 0};
    enum mp_status status;

    if (building->options->iterations.way == ITERATIONS_AUTO)
        status = building->differ ? find_common(building, reading, &found)
                                  : find_own(building, reading, path, &found);
    else
        status = find_asked(building, reading, &found);
    if (!status && !building->again)
        status = diff_take(building, side, path, reading, &found);
    if (!status && !building->again)
        status = diff_marks_make(reading, marks);
    iterations_free(&found);
    return status;
}

/* The event graph is freed before the layers are read, because there is no room for both. */
static enum mp_status read_graph(struct building *building, int side, const char *path,
                                 struct mp_trace *trace, struct diff_marks *marks)
{
    const struct deps_options options = {.style = building->options->style};
    struct deps deps;
    struct diff_reading reading = {.trace = trace,
                                   .options = building->options,
                                   .deps = &deps,
                                   .median = building->diff->by_runs};

    MP_TRY(deps_load(trace, &options, &deps, building->error));
    enum mp_status status = recording_cost_lay(&deps, trace);
    if (!status)
        status = find_and_take(building, side, path, &reading, marks);
    deps_free(&deps);
    return status;
}

static enum mp_status read_run(struct building *building, int side, const char *path)
{
    struct diff_marks marks = {.items = NULL};
    struct mp_trace *trace;

    MP_TRY(mp_trace_open(path, &trace, building->error));
    enum mp_status status = read_graph(building, side, path, trace, &marks);
    if (!status && !building->again)
        status = diff_layers_take(&building->diff->sides[side], trace, &marks, building->options,
                                  building->diff->by_runs, building->error);
    free(marks.items);
    mp_trace_close(trace);
    return status;
}

/* ---- All runs ---- */

static void side_free(struct diff_side *side)
{
    free(side->runs);
    free(side->latencies);
    diff_samples_free(&side->quantities);
    diff_samples_free(&side->kernels);
    diff_samples_free(&side->layers);
    diff_sequences_free(&side->sequences);
    diff_facts_free(side);
    *side = (struct diff_side){.run_count = 0};
}

/* A failure says in which trace. */
static enum mp_status fail(struct building *building, const char *path, enum mp_status status)
{
    struct mp_error *error = building->error;
    char text[sizeof error->text];

    snprintf(text, sizeof text, "%s", error->status ? error->text : mp_status_name(status));
    if (strstr(text, path))
        return status;
    return mp_error_set(error, status, "'%.200s': %s", path, text);
}

static enum mp_status read_all(struct building *building)
{
    building->again = false;
    building->way.way = ITERATIONS_AUTO;
    building->way.name = building->options->iterations.name;
    for (int side = 0; side < DIFF_SIDES; side++) {
        side_free(&building->diff->sides[side]);
        for (size_t i = 0; i < building->counts[side]; i++) {
            const char *path = building->paths[side][i];
            enum mp_status status = read_run(building, side, path);

            if (status)
                return fail(building, path, status);
            if (building->again && building->differ)
                return MP_OK;
        }
    }
    return MP_OK;
}

/* ---- What differs ---- */

static uint64_t *medians_of(const struct diff_side *side)
{
    uint64_t *medians = calloc(side->run_count + 1, sizeof *medians);

    for (size_t i = 0; medians && i < side->run_count; i++)
        medians[i] = side->runs[i].p50 < SHIFT_MAX ? side->runs[i].p50 : SHIFT_MAX;
    return medians;
}

/* The certainty of the shift decides, not its size. */
static enum diff_change judge_latency(const struct shift *shift)
{
    if (!shift->bounded)
        return DIFF_UNKNOWN;
    if (shift->low > 0)
        return DIFF_SLOWER;
    return shift->high < 0 ? DIFF_FASTER : DIFF_UNCHANGED;
}

/* The run's latencies by length, or NULL; the side's own stay in order of time. */
static uint64_t *sorted_of(struct diff_side *side)
{
    uint64_t *sorted = malloc((side->iterations + 1) * sizeof *sorted);

    if (!sorted)
        return NULL;
    if (side->iterations)
        memcpy(sorted, side->latencies, side->iterations * sizeof *sorted);
    side->latency = statistics_of(sorted, side->iterations);
    return sorted;
}

static enum mp_status compare_medians(struct diff *diff)
{
    const struct diff_side *a = &diff->sides[DIFF_A];
    const struct diff_side *b = &diff->sides[DIFF_B];
    uint64_t *before = medians_of(a);
    uint64_t *after = medians_of(b);
    enum mp_status status = before && after ? MP_OK : MP_ERR_MEMORY;

    if (!status)
        diff->latency = shift_between(before, a->run_count, after, b->run_count);
    free(before);
    free(after);
    return status;
}

static enum mp_status compare_latencies(struct diff *diff)
{
    struct diff_side *a = &diff->sides[DIFF_A];
    struct diff_side *b = &diff->sides[DIFF_B];
    uint64_t *before = sorted_of(a);
    uint64_t *after = sorted_of(b);
    enum mp_status status = before && after ? MP_OK : MP_ERR_MEMORY;

    if (!status && !diff->by_runs)
        diff->latency = shift_between(before, a->iterations, after, b->iterations);
    free(before);
    free(after);
    if (!status && diff->by_runs)
        status = compare_medians(diff);
    if (!status)
        diff->change = judge_latency(&diff->latency);
    return status;
}

enum { ITEMS_QUANTITIES, ITEMS_KERNELS, ITEMS_LAYERS };

static enum mp_status make_items(struct diff *diff)
{
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct diff_side *own = &diff->sides[side];

        MP_TRY(diff_items_make(&own->quantities, &diff->items[side][ITEMS_QUANTITIES]));
        MP_TRY(diff_items_make(&own->kernels, &diff->items[side][ITEMS_KERNELS]));
        MP_TRY(diff_items_make(&own->layers, &diff->items[side][ITEMS_LAYERS]));
    }
    return MP_OK;
}

/* The range of the iterations themselves says nothing about what is inside. */
static bool has_layers(const struct diff *diff, const struct diff_items *layers)
{
    size_t min = diff->way == ITERATIONS_NVTX ? 2 : 1;
    size_t found = 0;

    for (size_t i = 0; i < layers->count; i++)
        found += layers->items[i].calls > 0 && strcmp(layers->items[i].name, DIFF_NO_LAYER) != 0;
    return found >= min;
}

static enum mp_status diff_compare(struct diff *diff)
{
    struct diff_side *a = &diff->sides[DIFF_A];
    struct diff_side *b = &diff->sides[DIFF_B];

    MP_TRY(diff_facts_finish(a));
    MP_TRY(diff_facts_finish(b));
    MP_TRY(compare_latencies(diff));
    MP_TRY(make_items(diff));
    MP_TRY(diff_match_in_order(&diff->items[DIFF_A][ITEMS_QUANTITIES],
                               &diff->items[DIFF_B][ITEMS_QUANTITIES], &diff->quantities));
    MP_TRY(diff_match(&diff->items[DIFF_A][ITEMS_KERNELS], &diff->items[DIFF_B][ITEMS_KERNELS],
                      &diff->kernels));
    a->has_layers = has_layers(diff, &diff->items[DIFF_A][ITEMS_LAYERS]);
    b->has_layers = has_layers(diff, &diff->items[DIFF_B][ITEMS_LAYERS]);
    if (a->has_layers && b->has_layers)
        MP_TRY(diff_match(&diff->items[DIFF_A][ITEMS_LAYERS], &diff->items[DIFF_B][ITEMS_LAYERS],
                          &diff->layers));
    return diff_positions_make(&a->sequences, &a->kernels, &b->sequences, &b->kernels,
                               &diff->positions);
}

/* ---- The whole ---- */

static enum mp_status read_and_compare(struct building *building)
{
    MP_TRY(read_all(building));
    if (building->again) {
        building->differ = true;
        qsort(building->own, building->own_count, sizeof *building->own, compare_ways);
        if (building->own[building->own_count - 1].way == ITERATIONS_WHOLE)
            building->own_count--; /* the last resort */
    }
    while (building->again) {
        MP_TRY(read_all(building));
        building->next++;
    }
    enum mp_status status = diff_compare(building->diff);
    return mp_error_from(building->error, status, "cannot compare them");
}

enum mp_status diff_build(const char *const *a, size_t a_count, const char *const *b,
                          size_t b_count, const struct diff_options *options, struct diff *diff,
                          struct mp_error *error)
{
    struct mp_error own = {.status = MP_OK};
    struct building building = {
        .paths = {a, b},
        .counts = {a_count, b_count},
        .options = options,
        .diff = diff,
        .error = &own,
    };

    *diff = (struct diff){.found = true,
                          .by_runs = a_count >= DIFF_MIN_RUNS && b_count >= DIFF_MIN_RUNS &&
                                     shift_can_bound(a_count, b_count, SHIFT_95_PERCENT)};
    enum mp_status status = read_and_compare(&building);
    for (size_t i = 0; i < MAX_OWN; i++)
        free(building.own[i].name);
    if (!status)
        return MP_OK;
    diff_free(diff);
    if (error)
        *error = own;
    return status;
}

void diff_free(struct diff *diff)
{
    for (int side = 0; side < DIFF_SIDES; side++) {
        side_free(&diff->sides[side]);
        for (int i = 0; i < 3; i++)
            diff_items_free(&diff->items[side][i]);
    }
    diff_rows_free(&diff->quantities);
    diff_rows_free(&diff->kernels);
    diff_rows_free(&diff->layers);
    diff_positions_free(&diff->positions);
    free(diff->name);
    *diff = (struct diff){.found = false};
}
