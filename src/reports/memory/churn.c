/* Memory that is allocated and freed again in each iteration, by the place in the program. It
 * replays the events once, and counts pairs of which both ends lie in one iteration. The sources,
 * by which places are grouped, come first.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/map.h"
#include "base/data/storage.h"
#include "profile/nvtx/ranges.h"
#include "reports/memory/memory.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- Who allocated ----
 *
 * The function and the NVTX range of a site, by which the tables group allocations.
 */

bool memory_can_be_freed(uint64_t kind)
{
    return kind != MP_memory_kind_device_static && kind != MP_memory_kind_managed_static;
}

struct memory_source memory_source_of(const struct memory *memory, const struct memory_site *site)
{
    const struct definitions *definitions = &memory->definitions;
    struct memory_source source = {.function = definitions_function(definitions, site->function)};

    if (!site->in_range)
        return source;
    source.domain = definitions_text(definitions, site->domain);
    source.range = definitions_text(definitions, site->range);
    if (!source.range)
        source.range = "<unnamed>";
    return source;
}

static int compare_texts(const char *a, const char *b)
{
    if (!a || !b)
        return !b - !a;
    return strcmp(a, b);
}

int memory_compare_sources(const struct memory_source *a, const struct memory_source *b)
{
    int order = compare_texts(a->function, b->function);

    if (!order)
        order = compare_texts(a->range, b->range);
    return order ? order : compare_texts(a->domain, b->domain);
}

/* ---- Churn ---- */

/* What is counted for an iteration; each becomes a column of the statistics. */
enum column { ALLOCATIONS, FREES, BYTES, FREED_BYTES, CALL_NS, COLUMNS };

struct pass {
    struct memory *memory;
    const struct capture_range *range;
    uint32_t *source_of; /* by site; owned, as all of these */
    size_t source_capacity;
    struct nvtx_ranges ranges;
    uint32_t *around;       /* by range: the one that began before it and is open, by its thread */
    uint32_t *around_all;   /* by range: the same of all threads */
    struct mp_map tops;     /* thread -> its last open range, + 1; 0: none is open */
    uint32_t top;           /* of all threads, + 1 */
    size_t next;            /* range to begin */
    uint64_t *columns;      /* COLUMNS of range_count each */
    uint32_t *iteration_of; /* by event */
};

/* ---- Sources ---- */

/* Sites differ in thread and place too. */
static enum mp_status group_sites(struct pass *pass)
{
    struct memory *memory = pass->memory;
    struct mp_intern keys = {.count = 0};
    enum mp_status status = MP_OK;

    pass->source_of = calloc(memory->events.site_count + 1, sizeof *pass->source_of);
    if (!pass->source_of)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < memory->events.site_count && !status; i++) {
        const struct memory_site *site = &memory->events.sites[i];
        const uint64_t key[4] = {site->function, site->domain, site->range, site->in_range};
        uint32_t id = mp_intern_add(&keys, key, sizeof key);

        pass->source_of[i] = id - 1;
        if (!id)
            status = MP_ERR_MEMORY;
        else if (id > memory->source_count)
            status = MP_RESERVE(memory->sources, memory->source_count, pass->source_capacity);
        if (!status && id > memory->source_count)
            memory->sources[memory->source_count++] =
                (struct memory_churn){.source = memory_source_of(memory, site)};
    }
    mp_intern_free(&keys);
    return status;
}

/* Rows with something to say stay. Most time in calls first, then most bytes. */
static int compare_churn(const void *left, const void *right)
{
    const struct memory_churn *a = left, *b = right;
    uint64_t time_a = a->allocate_ns + a->free_ns;
    uint64_t time_b = b->allocate_ns + b->free_ns;

    return MP_ORDER(time_b, time_a) ?: MP_ORDER(b->bytes, a->bytes) ?:
           MP_ORDER(b->allocations + b->frees, a->allocations + a->frees) ?:
           memory_compare_sources(&a->source, &b->source);
}

static void order_sources(struct memory *memory, size_t top)
{
    size_t kept = 0;

    for (size_t i = 0; i < memory->source_count; i++) {
        if (memory->sources[i].allocations || memory->sources[i].frees)
            memory->sources[kept++] = memory->sources[i];
    }
    memory->source_count = kept;
    if (memory->sources)
        qsort(memory->sources, kept, sizeof *memory->sources, compare_churn);
    memory->source_shown = top < kept ? top : kept;
}

/* ---- Iterations ---- */

/* Keeps the ranges that begin in the capture range. */
static void keep_in_range(struct nvtx_ranges *ranges, const struct capture_range *range)
{
    size_t kept = 0;

    for (size_t i = 0; i < ranges->count; i++) {
        if (!range || range_has_call(range, ranges->items[i].begin))
            ranges->items[kept++] = ranges->items[i];
    }
    ranges->count = kept;
}

static enum mp_status no_such_range(const struct pass *pass, struct mp_error *error)
{
    const char *others = pass->ranges.others;

    return mp_error_set(error, MP_ERR_ARGUMENT, "there is no NVTX range '%s'%s%s",
                        pass->memory->iteration, *others ? "; there are for example " : "", others);
}

static enum mp_status copy_ranges(struct pass *pass, const struct nvtx_ranges *from)
{
    pass->ranges = (struct nvtx_ranges){.count = from->count, .unfinished = from->unfinished};
    pass->ranges.items = calloc(from->count + 1, sizeof *from->items);
    if (!pass->ranges.items)
        return MP_ERR_MEMORY;
    memcpy(pass->ranges.items, from->items, from->count * sizeof *from->items);
    return MP_OK;
}

static enum mp_status load_iterations(struct pass *pass, struct mp_trace *trace,
                                      const struct nvtx_ranges *ranges, struct mp_error *error)
{
    struct memory *memory = pass->memory;

    if (!ranges)
        MP_TRY(
            nvtx_ranges_load(&pass->ranges, trace, &memory->definitions, memory->iteration, error));
    else if (copy_ranges(pass, ranges))
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    keep_in_range(&pass->ranges, pass->range);
    memory->iterations.unfinished = pass->ranges.unfinished;
    size_t count = pass->ranges.count;
    if (!count)
        return no_such_range(pass, error);
    if (count >= MEMORY_NONE)
        return mp_error_set(error, MP_ERR_LIMIT, "too many NVTX ranges '%s'", memory->iteration);
    pass->around = calloc(count, sizeof *pass->around);
    pass->around_all = calloc(count, sizeof *pass->around_all);
    pass->columns = calloc(count, COLUMNS * sizeof *pass->columns);
    pass->iteration_of = calloc(memory->events.count + 1, sizeof *pass->iteration_of);
    if (!pass->around || !pass->around_all || !pass->columns || !pass->iteration_of)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    return MP_OK;
}

/* Removes from the top the ranges that ended before `time`. Returns the range on top, + 1. */
static uint32_t take_off(const struct pass *pass, const uint32_t *around, uint32_t top,
                         uint64_t time)
{
    while (top && pass->ranges.items[top - 1].end < time)
        top = around[top - 1];
    return top;
}

static enum mp_status begin_ranges(struct pass *pass, uint64_t time)
{
    for (; pass->next < pass->ranges.count && pass->ranges.items[pass->next].begin <= time;
         pass->next++) {
        uint32_t index = (uint32_t)pass->next;
        uint64_t thread = pass->ranges.items[index].thread;
        uint32_t top = mp_map_get(&pass->tops, thread);

        pass->around[index] = top == MP_MAP_ABSENT ? 0 : top;
        pass->around_all[index] = pass->top;
        pass->top = index + 1;
        MP_TRY(mp_map_put(&pass->tops, thread, index + 1));
    }
    return MP_OK;
}

/* Threads that have iterations of their own, now or later. */
static enum mp_status note_threads(struct pass *pass)
{
    for (size_t i = 0; i < pass->ranges.count; i++)
        MP_TRY(mp_map_put(&pass->tops, pass->ranges.items[i].thread, 0));
    return MP_OK;
}

/* The iteration that an event belongs to. Of the open iterations of its thread it is the one that
 * began last. If the thread is not known or has no iterations in the trace, those of all threads
 * count. MEMORY_NONE: none. */
static enum mp_status find_iteration(struct pass *pass, const struct memory_event *event,
                                     uint32_t *iteration)
{
    uint64_t thread = pass->memory->events.sites[event->site].thread;

    MP_TRY(begin_ranges(pass, event->time));
    uint32_t top = mp_map_get(&pass->tops, thread);
    if (top == MP_MAP_ABSENT) {
        pass->top = take_off(pass, pass->around_all, pass->top, event->time);
        *iteration = pass->top - 1;
        return MP_OK;
    }
    top = take_off(pass, pass->around, top, event->time);
    *iteration = top - 1;
    return mp_map_put(&pass->tops, thread, top);
}

static void count_iteration(struct pass *pass, uint32_t iteration,
                            const struct memory_change *change, uint64_t freed)
{
    uint64_t *columns = pass->columns + (size_t)iteration * COLUMNS;
    bool release = change->event->release;

    columns[ALLOCATIONS] += !release;
    columns[FREES] += release;
    columns[BYTES] += release ? 0 : change->event->bytes;
    columns[FREED_BYTES] += freed;
    columns[CALL_NS] += change->event->call_ns;
}

static enum mp_status add_statistics(struct pass *pass)
{
    struct memory_iterations *iterations = &pass->memory->iterations;
    struct statistics *const results[COLUMNS] = {
        [ALLOCATIONS] = &iterations->allocations,
        [FREES] = &iterations->frees,
        [BYTES] = &iterations->bytes,
        [FREED_BYTES] = &iterations->freed_bytes,
        [CALL_NS] = &iterations->call_ns,
    };
    size_t count = pass->ranges.count;
    uint64_t *values = calloc(count, sizeof *values);

    if (!values)
        return MP_ERR_MEMORY;
    iterations->count = count;
    for (size_t i = 0; i < count; i++) {
        const uint64_t *columns = pass->columns + i * COLUMNS;
        iterations->busy += columns[ALLOCATIONS] || columns[FREES];
    }
    for (size_t column = 0; column < COLUMNS; column++) {
        for (size_t i = 0; i < count; i++)
            values[i] = pass->columns[i * COLUMNS + column];
        *results[column] = statistics_of(values, count);
    }
    free(values);
    return MP_OK;
}

/* ---- Churn ---- */

static void count_churn(struct memory_churn *churn, const struct memory_event *event,
                        uint64_t freed)
{
    if (event->release) {
        churn->frees++;
        churn->freed_bytes += freed;
        churn->free_ns += event->call_ns;
    } else {
        churn->allocations++;
        churn->bytes += event->bytes;
        churn->allocate_ns += event->call_ns;
    }
}

static void count_pair(struct pass *pass, const struct memory_change *change)
{
    double lifetime = change->event->time > change->ended->time
                          ? (double)(change->event->time - change->ended->time)
                          : 0;
    struct memory_churn *source = &pass->memory->sources[pass->source_of[change->ended->site]];

    source->pairs++;
    source->lifetime += lifetime;
    pass->memory->churn.pairs++;
    pass->memory->churn.lifetime += lifetime;
}

static enum mp_status take_change(struct pass *pass, const struct memory_change *change)
{
    const struct memory_event *event = change->event;
    uint64_t freed = !event->release ? 0 : change->ended ? change->ended->bytes : event->bytes;
    bool is_pair = event->release && change->ended;
    uint32_t iteration = 0;

    if (pass->iteration_of) {
        MP_TRY(find_iteration(pass, event, &iteration));
        pass->iteration_of[change->index] = iteration;
        is_pair = is_pair && pass->iteration_of[change->ended_index] == iteration;
    }
    if (iteration == MEMORY_NONE ||
        !memory_can_be_freed(memory_place_of(&pass->memory->events, event)->kind))
        return MP_OK;
    count_churn(&pass->memory->churn, event, freed);
    count_churn(&pass->memory->sources[pass->source_of[event->site]], event, freed);
    if (is_pair)
        count_pair(pass, change);
    if (pass->iteration_of)
        count_iteration(pass, iteration, change, freed);
    return MP_OK;
}

static enum mp_status replay_all(struct pass *pass)
{
    struct memory_replay replay;
    struct memory_change change;
    enum mp_status status = memory_replay_begin(&replay, &pass->memory->events);

    while (!status && (status = memory_replay_next(&replay, &change)) == MP_OK)
        status = take_change(pass, &change);
    memory_replay_end(&replay);
    return status == MP_END ? MP_OK : status;
}

static enum mp_status churn_run(struct pass *pass, size_t top, struct mp_error *error)
{
    enum mp_status status = group_sites(pass);

    if (!status && pass->iteration_of)
        status = note_threads(pass);
    if (!status)
        status = replay_all(pass);
    if (!status && pass->iteration_of)
        status = add_statistics(pass);
    order_sources(pass->memory, top);
    return mp_error_from(error, status, "cannot add up the allocations");
}

enum mp_status memory_add_churn(struct memory *memory, struct mp_trace *trace,
                                const struct memory_options *options,
                                const struct capture_range *range, struct mp_error *error)
{
    struct pass pass = {.memory = memory, .range = range};
    enum mp_status status = MP_OK;

    if (options->iteration)
        status = load_iterations(&pass, trace, options->ranges, error);
    if (!status)
        status = churn_run(&pass, options->top, error);
    nvtx_ranges_free(&pass.ranges);
    mp_map_free(&pass.tops);
    free(pass.source_of);
    free(pass.around);
    free(pass.around_all);
    free(pass.columns);
    free(pass.iteration_of);
    return status;
}
