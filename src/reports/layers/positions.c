/* Layers for traces without NVTX: the position of a kernel in the sequence that a program repeats.
 * Kernels are put into the order of their launch, because several streams mix the order of
 * execution.
 */
#include "reports/layers/positions.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/reading.h"
#include "trace/schema.h"

#include "base/poison.h"

#define MAX_KERNELS (1u << 31)
#define MIN_ROUNDS  3u /* fewer are no sequence that repeats */

struct launch {
    uint64_t correlation;
    uint64_t start; /* ns */
};

struct pass {
    const struct capture_range *range;
    const struct layers_iterations *found;
    struct source_names *names;
    struct launch *launches;
    uint64_t *durations;
    uint32_t *shapes;
    size_t count, launch_capacity, duration_capacity, shape_capacity;
    uint32_t *order; /* of launch */
};

/* ---- Reading ---- */

static enum mp_status positions_take_row(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct pass *pass = context;
    const struct mp_kernel_columns kernel = mp_kernel_columns(batch->columns);
    uint64_t start = kernel.start[row];
    uint64_t shape = kernel.shape[row];
    size_t count = pass->count;

    if ((pass->range && !range_has_work(pass->range, kernel.correlation[row], start)) ||
        !layers_are_inside(pass->found, kernel.correlation[row]))
        return MP_OK;
    if (!start || start > INT64_MAX || kernel.duration[row] > INT64_MAX - start) {
        pass->names->quality->unknown_times += !start;
        pass->names->quality->reversed_times += start != 0;
        return MP_OK;
    }
    if (count >= MAX_KERNELS)
        return MP_ERR_LIMIT;
    MP_TRY(MP_RESERVE(pass->launches, count, pass->launch_capacity));
    MP_TRY(MP_RESERVE(pass->durations, count, pass->duration_capacity));
    MP_TRY(MP_RESERVE(pass->shapes, count, pass->shape_capacity));
    pass->launches[count] = (struct launch){kernel.correlation[row], start};
    pass->durations[count] = kernel.duration[row];
    pass->shapes[count] = shape < UINT32_MAX ? (uint32_t)shape : UINT32_MAX;
    pass->count++;
    return MP_OK;
}

static const struct reading_table tables[] = {
    {MP_TABLE_kernel, MP_MASK(kernel, shape, start, duration, correlation),
     .take_row = positions_take_row},
};

/* ---- The order of launch ---- */

static bool positions_is_before(const void *context, uint32_t a, uint32_t b)
{
    const struct launch *launches = context;

    if (launches[a].correlation != launches[b].correlation)
        return launches[a].correlation < launches[b].correlation;
    return launches[a].start < launches[b].start;
}

/* Puts shapes and durations in that order; afterwards the launches are not needed. */
static enum mp_status put_in_order(struct pass *pass)
{
    uint32_t *scratch = reallocarray(NULL, pass->count + 1, sizeof *scratch);
    uint64_t *durations;

    pass->order = reallocarray(NULL, pass->count + 1, sizeof *pass->order);
    if (!scratch || !pass->order) {
        free(scratch);
        return MP_ERR_MEMORY;
    }
    for (size_t i = 0; i < pass->count; i++)
        pass->order[i] = (uint32_t)i;
    mp_sort(pass->order, pass->count, scratch, positions_is_before, pass->launches);
    for (size_t i = 0; i < pass->count; i++)
        scratch[i] = pass->shapes[pass->order[i]];
    free(pass->shapes);
    pass->shapes = scratch;
    free(pass->launches);
    pass->launches = NULL;
    durations = reallocarray(NULL, pass->count + 1, sizeof *durations);
    if (!durations)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < pass->count; i++)
        durations[i] = pass->durations[pass->order[i]];
    free(pass->durations);
    pass->durations = durations;
    return MP_OK;
}

/* ---- Rows ---- */

static enum mp_status name_position(struct source_names *names, uint64_t shape,
                                    struct layer_position *position)
{
    const char *mangled = definitions_kernel(names->definitions, shape, NAMES_MANGLED);
    const char *readable = definitions_kernel(names->definitions, shape, NAMES_READABLE);
    char text[SHORT_BYTES];
    uint32_t name;

    MP_TRY(source_names_find(names, ACTIVITY_KERNEL, shape, &name));
    position->name = mp_intern_get(names->names, name, NULL);
    position->short_name = position->name;
    if (!mangled || !readable || names->style == NAMES_MANGLED)
        return MP_OK;
    source_short_name(mangled, readable, text, sizeof text);
    name = mp_intern_add(names->names, text, strlen(text));
    position->short_name = mp_intern_get(names->names, name, NULL);
    return name ? MP_OK : MP_ERR_MEMORY;
}

static enum mp_status fill_position(const struct pass *pass, struct layer_positions *positions,
                                    size_t index, uint64_t *samples)
{
    struct layer_position *position = &positions->items[index];
    size_t at = positions->start + index;

    *position = (struct layer_position){.calls = positions->rounds};
    MP_TRY(name_position(pass->names, pass->shapes[at], position));
    for (size_t i = 0; i < positions->rounds; i++, at += positions->count) {
        samples[i] = pass->durations[at];
        position->total += samples[i];
    }
    position->device = statistics_of(samples, positions->rounds);
    position->percent =
        positions->total ? 100.0 * (double)position->total / (double)positions->total : 0;
    return MP_OK;
}

static enum mp_status positions_fill(const struct pass *pass, struct layer_positions *positions,
                                     const struct mp_period *period)
{
    size_t rounds = period->period ? period->count / period->period : 0;
    uint64_t *samples = reallocarray(NULL, rounds + 1, sizeof *samples);
    enum mp_status status = MP_OK;

    positions->start = period->first;
    positions->count = period->period;
    positions->rounds = rounds;
    positions->items = calloc(positions->count + 1, sizeof *positions->items);
    positions->others = pass->count - positions->count * rounds;
    positions->others_total = positions->total;
    if (!samples || !positions->items)
        status = MP_ERR_MEMORY;
    for (size_t i = 0; i < positions->count && !status; i++) {
        status = fill_position(pass, positions, i, samples);
        positions->others_total -= positions->items[i].total;
    }
    free(samples);
    return status;
}

static bool costs_more(const void *context, uint32_t a, uint32_t b)
{
    const struct layer_position *items = context;

    return items[a].total > items[b].total;
}

static enum mp_status rank(struct layer_positions *positions)
{
    uint32_t *scratch = reallocarray(NULL, positions->count + 1, sizeof *scratch);

    positions->by_total = calloc(positions->count + 1, sizeof *positions->by_total);
    if (scratch && positions->by_total) {
        for (size_t i = 0; i < positions->count; i++)
            positions->by_total[i] = (uint32_t)i;
        mp_sort(positions->by_total, positions->count, scratch, costs_more, positions->items);
    }
    bool room = scratch && positions->by_total;
    free(scratch);
    return room ? MP_OK : MP_ERR_MEMORY;
}

static enum mp_status positions_build(struct pass *pass, struct layer_positions *positions)
{
    struct mp_period period;

    MP_TRY(put_in_order(pass));
    free(pass->order);
    pass->order = NULL;
    positions->kernels = pass->count;
    for (size_t i = 0; i < pass->count; i++)
        positions->total += pass->durations[i];
    MP_TRY(mp_period_find(pass->shapes, pass->count, MIN_ROUNDS, &period));
    MP_TRY(positions_fill(pass, positions, &period));
    return rank(positions);
}

enum mp_status layer_positions_build(struct layer_positions *positions, struct mp_trace *trace,
                                     const struct capture_range *range,
                                     const struct layers_iterations *found,
                                     struct source_names *names, struct mp_error *error)
{
    struct pass pass = {.range = range, .found = found, .names = names};
    const struct reading reading = {
        .trace = trace, .what = "the kernels", .context = &pass, READING_TABLES(tables)};

    *positions = (struct layer_positions){.count = 0};
    enum mp_status status = reading_run(&reading, error);
    if (!status) {
        status = positions_build(&pass, positions);
        if (status)
            mp_error_set(error, status, "cannot order the kernels: %s", mp_status_name(status));
    }
    free(pass.launches);
    free(pass.durations);
    free(pass.shapes);
    free(pass.order);
    return status;
}

void layer_positions_free(struct layer_positions *positions)
{
    free(positions->items);
    free(positions->by_total);
    *positions = (struct layer_positions){.count = 0};
}
