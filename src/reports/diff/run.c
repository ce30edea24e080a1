/* What a side keeps of one trace, and where it ran. */
#include <inttypes.h>
#include <miniprof/trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "base/status.h"
#include "base/text/strings.h"
#include "profile/dense.h"
#include "profile/names/shapes.h"
#include "profile/reading.h"
#include "reports/deps/lookup.h"
#include "reports/diff/diff.h"

#include "base/poison.h"

/* ---- Where a side ran, in words; each value that its runs have is listed once ---- */

const char *diff_fact_name(enum diff_fact_kind kind)
{
    static const char *const names[DIFF_FACTS] = {
        [DIFF_FACT_DEVICES] = "GPU",           [DIFF_FACT_HOST] = "host",
        [DIFF_FACT_DRIVER] = "driver version", [DIFF_FACT_CUPTI] = "CUPTI version",
        [DIFF_FACT_MINIPROF] = "miniprof",     [DIFF_FACT_COMMAND] = "program",
        [DIFF_FACT_SETTINGS] = "settings",
    };

    return names[kind];
}

/* Adds a text, unless it was said before or is empty. */
static enum mp_status say(struct mp_intern *said, const char *text)
{
    return !*text || mp_intern_add(said, text, strlen(text)) ? MP_OK : MP_ERR_MEMORY;
}

static const char *property(const struct diff_reading *reading, const char *key)
{
    const char *value = mp_trace_property(reading->trace, key);

    return value ? value : "";
}

/* The GPUs that work ran on. */
static enum mp_status take_devices(struct mp_intern *said, const struct deps *deps)
{
    for (uint32_t lane = deps->thread_count; lane < deps->lane_count; lane++) {
        const char *name =
            definitions_device(&deps->profile->definitions, deps->lanes[lane].device);

        MP_TRY(say(said, name ? name : ""));
    }
    return MP_OK;
}

/* A version number as CUDA encodes it, in words; another value as it is. */
static enum mp_status take_version(struct mp_intern *said, const char *value)
{
    uint64_t number;
    char text[32];

    if (!mp_text_to_u64(value, 1000, UINT32_MAX, &number))
        return say(said, value);
    snprintf(text, sizeof text, "%" PRIu64 ".%" PRIu64, number / 1000, number % 1000 / 10);
    return say(said, text);
}

static enum mp_status take_settings(struct mp_intern *said, const struct diff_reading *reading)
{
    static const char prefix[] = "MINIPROF_";
    struct mp_buffer text = {.data = NULL};
    enum mp_status status = MP_OK;
    const char *key, *value;

    for (size_t i = 0; !status && mp_trace_property_at(reading->trace, i, &key, &value); i++) {
        if (strncmp(key, prefix, sizeof prefix - 1) != 0 || !strcmp(key, "MINIPROF_OUTPUT"))
            continue;
        mp_buffer_clear(&text);
        mp_buffer_append_text(&text, key);
        mp_buffer_append_byte(&text, '=');
        mp_buffer_append_text(&text, value);
        status = mp_buffer_append_byte(&text, '\0');
        if (!status)
            status = say(said, (const char *)text.data);
    }
    mp_buffer_free(&text);
    return status;
}

/* Adds what the trace says about where it ran. MP_ERR_MEMORY. */
static enum mp_status take_facts(struct diff_side *side, const struct diff_reading *reading)
{
    const char *command = property(reading, "argv");

    MP_TRY(take_devices(&side->said[DIFF_FACT_DEVICES], reading->deps));
    MP_TRY(say(&side->said[DIFF_FACT_HOST], property(reading, "hostname")));
    MP_TRY(take_version(&side->said[DIFF_FACT_DRIVER], property(reading, "driver_version")));
    MP_TRY(say(&side->said[DIFF_FACT_CUPTI], property(reading, "cupti_version")));
    MP_TRY(say(&side->said[DIFF_FACT_MINIPROF], property(reading, "miniprof")));
    MP_TRY(
        say(&side->said[DIFF_FACT_COMMAND], *command ? command : property(reading, "executable")));
    return take_settings(&side->said[DIFF_FACT_SETTINGS], reading);
}

/* ---- As one text ---- */

/* Owned; NULL: out of memory. */
static char *join(const struct mp_intern *said, const char *separator)
{
    struct mp_buffer text = {.data = NULL};

    for (uint32_t id = 1; id <= said->count; id++) {
        size_t bytes;
        const char *part = mp_intern_get(said, id, &bytes);

        mp_buffer_append_text(&text, id > 1 ? separator : "");
        mp_buffer_append(&text, part, bytes);
    }
    if (mp_buffer_append_byte(&text, '\0') != MP_OK) {
        mp_buffer_free(&text);
        return NULL;
    }
    return (char *)text.data;
}

enum mp_status diff_facts_finish(struct diff_side *side)
{
    static const char *const separators[DIFF_FACTS] = {
        [DIFF_FACT_COMMAND] = "; ",
        [DIFF_FACT_SETTINGS] = " ",
    };

    for (int kind = 0; kind < DIFF_FACTS; kind++) {
        side->facts[kind] = join(&side->said[kind], separators[kind] ? separators[kind] : ", ");
        if (!side->facts[kind])
            return MP_ERR_MEMORY;
    }
    return MP_OK;
}

void diff_facts_free(struct diff_side *side)
{
    for (int kind = 0; kind < DIFF_FACTS; kind++) {
        mp_intern_free(&side->said[kind]);
        free(side->facts[kind]);
    }
}

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
    MP_TRY(reach(cells, item));
    if (!cells->open[item]) {
        MP_TRY(MP_RESERVE(cells->cells, cells->count, cells->capacity));
        cells->cells[cells->count++] = (struct diff_cell){.item = item};
        cells->open[item] = (uint32_t)(cells->count - cells->first);
    }
    struct diff_cell *cell = &cells->cells[cells->first + cells->open[item] - 1];
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

/* Device activities in order of their iterations: those of iteration i are order[begins[i]] to
 * order[begins[i + 1]]. */
struct diff_order {
    uint32_t *order;  /* owned */
    uint32_t *begins; /* owned */
};

/* MP_ERR_MEMORY; order_free in any case. */
static enum mp_status make_order(const struct diff_reading *reading, struct diff_order *order)
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

static void order_free(struct diff_order *order)
{
    free(order->order);
    free(order->begins);
}

/* ---- Kernels, copies and sets ---- */

/* The items of a run's activities. */
struct naming {
    struct diff_samples *samples;
    const struct diff_reading *reading;
    uint32_t *items;          /* by name in deps; 0: not asked for yet; owned */
    struct shapes shapes;     /* with options->shapes, as the next */
    struct dense shape_items; /* of uint32_t, by shape: its item; 0: not asked for yet */
    uint32_t graph_count;
};

static enum mp_status load_shapes(struct naming *naming, struct mp_error *error)
{
    struct mp_trace *trace = naming->reading->trace;
    const struct reading reading = {
        .trace = trace, .what = "the launch shapes", .shapes = &naming->shapes};

    shapes_init(&naming->shapes, trace);
    dense_init(&naming->shape_items, sizeof(uint32_t), definitions_limit(trace));
    return reading_run(&reading, error);
}

#define SHAPE_BYTES 96

/* The item of a kernel of this name and shape: `gemm<<<(28,4,1),(128,1,1),49152>>>` has grid, block
 * and dynamic shared memory in bytes. */
static enum mp_status name_shape(struct naming *naming, const struct launch_shape *shape,
                                 const char *name, uint32_t *item)
{
    size_t bytes = strlen(name) + SHAPE_BYTES;
    char *text = malloc(bytes);

    if (!text)
        return MP_ERR_MEMORY;
    snprintf(text, bytes,
             "%s<<<(%" PRIu32 ",%" PRIu32 ",%" PRIu32 "),(%" PRIu32 ",%" PRIu32 ",%" PRIu32
             "),%" PRIu32 ">>>",
             name, shape->grid[0], shape->grid[1], shape->grid[2], shape->block[0], shape->block[1],
             shape->block[2], shape->dynamic_shared);
    enum mp_status status = diff_samples_item(naming->samples, text, item);
    free(text);
    return status;
}

/* If the trace does not have the shape, the item is that of the name alone. */
static enum mp_status shape_item(struct naming *naming, const struct deps_activity *work,
                                 uint32_t *item)
{
    const struct launch_shape *shape = shapes_find(&naming->shapes, work->shape);
    const char *name = deps_name(naming->reading->deps, work);

    if (!shape || dense_reach(&naming->shape_items, work->shape) == MP_ERR_LIMIT)
        return diff_samples_item(naming->samples, name, item);
    uint32_t *known = dense_at(&naming->shape_items, work->shape);
    if (!known)
        return MP_ERR_MEMORY;
    if (!*known)
        MP_TRY(name_shape(naming, shape, name, known));
    *item = *known;
    return MP_OK;
}

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
    if (naming->reading->options->shapes && work->kind == DEPS_KERNEL)
        return shape_item(naming, work, item);
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

static enum mp_status add_up_work(struct naming *naming, const struct diff_order *order,
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

    MP_TRY(MP_RESERVE(all->items, all->count, all->capacity));
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
    enum mp_status status = make_order(reading, &order);

    if (!status)
        status = add_up_work(naming, &order, &cells);
    if (!status)
        status = take_sequence(side, naming, &order);
    order_free(&order);
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
        status = load_shapes(&naming, error);
    if (!status)
        status = take_kernels(side, reading, &naming);
    shapes_free(&naming.shapes);
    dense_free(&naming.shape_items);
    free(naming.items);
    return status;
}

/* ---- Iterations ---- */

static enum mp_status take_latencies(struct diff_side *side, const struct diff_reading *reading)
{
    for (size_t i = 0; i < reading->iterations->count; i++) {
        uint64_t latency = reading->measures[i].values[ITERATION_LATENCY];

        MP_TRY(MP_RESERVE(side->latencies, side->iterations, side->latency_capacity));
        side->latencies[side->iterations++] = latency < SHIFT_MAX ? latency : SHIFT_MAX;
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

    MP_TRY(MP_RESERVE(side->runs, side->run_count, side->run_capacity));
    struct diff_run *run = &side->runs[side->run_count++];
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
    MP_TRY(take_facts(side, reading));
    MP_TRY(take_latencies(side, reading));
    MP_TRY(take_quantities(side, reading));
    return name_kernels(side, reading, error);
}
