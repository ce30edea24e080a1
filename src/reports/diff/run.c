/* What a side keeps of one trace. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "reports/diff/diff.h"
#include "reports/diff/shapes.h"
#include "reports/iterations/iterations.h"

#include "base/poison.h"

/* ---- Cells ---- */

static enum mp_status reach(struct diff_cells *cells, uint32_t item)
{
    size_t capacity = item + item / 2 + 64;
    uint32_t *open;

    if (item < cells->open_capacity)
        return MP_OK;
    open = realloc(cells->open, capacity * sizeof *open);
    if (!open)
        return MP_ERR_MEMORY;
    memset(open + cells->open_capacity, 0, (capacity - cells->open_capacity) * sizeof *open);
    cells->open = open;
    cells->open_capacity = capacity;
    return MP_OK;
}

enum mp_status diff_cells_add(struct diff_cells *cells, uint32_t item, uint64_t ns, uint32_t calls)
{
    struct diff_cell *cell;

    MP_TRY(reach(cells, item));
    if (!cells->open[item]) {
        MP_TRY(mp_reserve((void **)&cells->cells, cells->count, &cells->capacity,
                          sizeof *cells->cells));
        cells->cells[cells->count++] = (struct diff_cell){.item = item};
        cells->open[item] = (uint32_t)(cells->count - cells->first);
    }
    cell = &cells->cells[cells->first + cells->open[item] - 1];
    cell->value += ns;
    cell->calls += calls;
    return MP_OK;
}

void diff_cells_next(struct diff_cells *cells)
{
    for (size_t i = cells->first; i < cells->count; i++)
        cells->open[cells->cells[i].item] = 0;
    cells->first = cells->count;
}

void diff_cells_free(struct diff_cells *cells)
{
    free(cells->cells);
    free(cells->open);
}

/* ---- Activities by iteration ---- */

enum mp_status diff_order_make(const struct diff_reading *reading, struct diff_order *order)
{
    const struct deps *deps = reading->deps;
    const uint32_t *of = reading->iterations->of;
    size_t count = reading->iterations->count;

    order->order = malloc(((size_t)deps->count - deps->host_count + 1) * sizeof *order->order);
    order->begins = calloc(count + 2, sizeof *order->begins);
    if (!order->order || !order->begins)
        return MP_ERR_MEMORY;
    for (uint32_t i = deps->host_count; i < deps->count; i++)
        if (of[i] != DEPS_NONE)
            order->begins[of[i] + 2]++;
    for (size_t i = 2; i <= count + 1; i++)
        order->begins[i] += order->begins[i - 1];
    for (uint32_t i = deps->host_count; i < deps->count; i++)
        if (of[i] != DEPS_NONE)
            order->order[order->begins[of[i] + 1]++] = i;
    return MP_OK;
}

void diff_order_free(struct diff_order *order)
{
    free(order->order);
    free(order->begins);
}

/* ---- Kernels, copies and sets ---- */

/* The items of a run's activities. */
struct naming {
    struct diff_samples *samples;
    const struct diff_reading *reading;
    struct diff_shapes shapes;
    uint32_t *items; /* by name in deps; 0: not asked for yet; owned */
    uint32_t graph_count;
};

/* Ids of graphs mean nothing in another process, so graphs are numbered as they appear. */
static enum mp_status name_item(struct naming *naming, const struct deps_activity *work,
                                uint32_t *item)
{
    char text[32];

    if (work->kind != DEPS_GRAPH)
        return diff_samples_item(naming->samples, deps_name(naming->reading->deps, work), item);
    snprintf(text, sizeof text, "[CUDA graph #%" PRIu32 "]", ++naming->graph_count);
    return diff_samples_item(naming->samples, text, item);
}

static enum mp_status item_of(struct naming *naming, const struct deps_activity *work,
                              uint32_t *item)
{
    const struct deps *deps = naming->reading->deps;

    if (naming->reading->options->shapes && work->kind == DEPS_KERNEL)
        return diff_shapes_item(&naming->shapes, naming->samples, work->shape,
                                deps_name(deps, work), item);
    if (!naming->items[work->name])
        MP_TRY(name_item(naming, work, &naming->items[work->name]));
    *item = naming->items[work->name];
    return MP_OK;
}

/* The calls that an activity stands for: a batch of copies is as many. */
static uint32_t calls_of(const struct deps *deps, const struct deps_activity *work)
{
    return work->kind == DEPS_COPY ? deps->copies[work->copy].count : 1;
}

static enum mp_status diff_run_add_up(struct naming *naming, const struct diff_order *order,
                                      struct diff_cells *cells)
{
    const struct deps *deps = naming->reading->deps;

    for (size_t i = 0; i < naming->reading->iterations->count; i++) {
        for (uint32_t at = order->begins[i]; at < order->begins[i + 1]; at++) {
            const struct deps_activity *work = &deps->activities[order->order[at]];
            uint32_t item;

            MP_TRY(item_of(naming, work, &item));
            MP_TRY(diff_cells_add(cells, item, work->end - work->begin, calls_of(deps, work)));
        }
        diff_cells_next(cells);
    }
    return MP_OK;
}

/* ---- The kernels of the median iteration, as they were launched ---- */

static bool launched_before(const void *context, uint32_t left, uint32_t right)
{
    const struct deps *deps = context;
    const struct deps_activity *a = &deps->activities[left];
    const struct deps_activity *b = &deps->activities[right];
    uint64_t x = deps_launched_at(deps, a);
    uint64_t y = deps_launched_at(deps, b);

    if (x != y)
        return x < y;
    return a->begin < b->begin;
}

static enum mp_status fill_places(struct naming *naming, const uint32_t *indexes, uint32_t count,
                                  struct diff_sequence *sequence)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct deps_activity *work = &naming->reading->deps->activities[indexes[i]];
        struct diff_place *place = &sequence->places[sequence->count];

        place->ns = work->end - work->begin;
        MP_TRY(item_of(naming, work, &place->item));
        sequence->count++;
    }
    return MP_OK;
}

static uint32_t list_kernels(const struct deps *deps, const struct diff_order *order,
                             uint32_t iteration, uint32_t *indexes)
{
    uint32_t count = 0;

    for (uint32_t at = order->begins[iteration]; at < order->begins[iteration + 1]; at++) {
        uint8_t kind = deps->activities[order->order[at]].kind;

        if (kind == DEPS_KERNEL || kind == DEPS_GRAPH)
            indexes[count++] = order->order[at];
    }
    return count;
}

static enum mp_status make_sequence(struct naming *naming, const struct diff_order *order,
                                    struct diff_sequence *sequence)
{
    uint32_t median = naming->reading->summary->median;
    size_t max = order->begins[median + 1] - order->begins[median];
    uint32_t *indexes = malloc((2 * max + 1) * sizeof *indexes);
    enum mp_status status = MP_ERR_MEMORY;

    sequence->places = malloc((max + 1) * sizeof *sequence->places);
    if (indexes && sequence->places) {
        uint32_t count = list_kernels(naming->reading->deps, order, median, indexes);

        mp_sort(indexes, count, indexes + max, launched_before, naming->reading->deps);
        status = fill_places(naming, indexes, count, sequence);
    }
    free(indexes);
    return status;
}

static enum mp_status take_sequence(struct diff_side *side, struct naming *naming,
                                    const struct diff_order *order)
{
    struct diff_sequences *all = &side->sequences;
    const struct iterations_summary *summary = naming->reading->summary;

    MP_TRY(mp_reserve((void **)&all->items, all->count, &all->capacity, sizeof *all->items));
    all->items[all->count] = (struct diff_sequence){
        .p50 = summary->statistics[ITERATION_LATENCY].p50,
        .begin = naming->reading->iterations->items[summary->median].begin,
        .iteration = (size_t)summary->median + 1,
        .run = all->count + 1,
    };
    return make_sequence(naming, order, &all->items[all->count++]);
}

static enum mp_status take_kernels(struct diff_side *side, const struct diff_reading *reading,
                                   struct naming *naming)
{
    struct diff_cells cells = {.count = 0};
    struct diff_order order = {.order = NULL};
    enum mp_status status = diff_order_make(reading, &order);

    if (!status)
        status = diff_run_add_up(naming, &order, &cells);
    if (!status)
        status = take_sequence(side, naming, &order);
    diff_order_free(&order);
    if (!status)
        status = diff_samples_run(&side->kernels, cells.cells, cells.count,
                                  reading->iterations->count, reading->median);
    diff_cells_free(&cells);
    return status;
}

static enum mp_status name_kernels(struct diff_side *side, const struct diff_reading *reading,
                                   struct mp_error *error)
{
    struct naming naming = {.samples = &side->kernels, .reading = reading};
    enum mp_status status = MP_OK;

    naming.items = calloc((size_t)reading->deps->names.count + 1, sizeof *naming.items);
    if (!naming.items)
        return MP_ERR_MEMORY;
    if (reading->options->shapes)
        status = diff_shapes_load(&naming.shapes, reading->trace, error);
    if (!status)
        status = take_kernels(side, reading, &naming);
    diff_shapes_free(&naming.shapes);
    free(naming.items);
    return status;
}

/* ---- Iterations ---- */

static enum mp_status take_latencies(struct diff_side *side, const struct diff_reading *reading)
{
    for (size_t i = 0; i < reading->iterations->count; i++) {
        uint64_t latency = reading->measures[i].values[ITERATION_LATENCY];

        MP_TRY(mp_reserve((void **)&side->latencies, side->iterations, &side->latency_capacity,
                          sizeof *side->latencies));
        side->latencies[side->iterations++] = latency < SHIFT_GREATEST ? latency : SHIFT_GREATEST;
    }
    return MP_OK;
}

/* Takes one quantity after the other, because all at once would need too much memory. */
static enum mp_status take_quantities(struct diff_side *side, const struct diff_reading *reading)
{
    size_t count = reading->iterations->count;
    struct diff_cell *cells = calloc(count + 1, sizeof *cells);
    enum mp_status status = cells ? MP_OK : MP_ERR_MEMORY;
    struct diff_samples *samples = &side->quantities;
    uint64_t iterations = samples->iterations;
    size_t kept = samples->samples;

    for (int quantity = 0; quantity < ITERATION_QUANTITIES && !status; quantity++) {
        uint32_t item = 0;

        status = diff_samples_item(
            samples, iteration_quantity_key((enum iteration_quantity)quantity), &item);
        for (size_t i = 0; i < count; i++)
            cells[i] = (struct diff_cell){reading->measures[i].values[quantity], item, 1};
        samples->iterations = iterations;
        samples->samples = kept;
        if (!status)
            status = diff_samples_run(samples, cells, count, count, reading->median);
    }
    free(cells);
    return status;
}

static enum mp_status note_run(struct diff_side *side, const struct diff_reading *reading,
                               const char *path)
{
    const struct deps *deps = reading->deps;
    struct diff_run *run;

    MP_TRY(
        mp_reserve((void **)&side->runs, side->run_count, &side->run_capacity, sizeof *side->runs));
    run = &side->runs[side->run_count++];
    *run = (struct diff_run){
        .path = path,
        .iterations = reading->iterations->count,
        .p50 = reading->summary->statistics[ITERATION_LATENCY].p50,
        .outside = reading->iterations->outside,
        .whole = quality_is_whole(&deps->quality),
        .gap = quality_gap(&deps->quality),
        .no_calls = deps->no_calls,
        .no_work = deps->count == deps->host_count,
    };
    quality_describe(&deps->quality, run->warning, sizeof run->warning);
    return MP_OK;
}

enum mp_status diff_run_take(struct diff_side *side, const struct diff_reading *reading,
                             const char *path, struct mp_error *error)
{
    MP_TRY(note_run(side, reading, path));
    MP_TRY(diff_facts_take(side, reading));
    MP_TRY(take_latencies(side, reading));
    MP_TRY(take_quantities(side, reading));
    return name_kernels(side, reading, error);
}
