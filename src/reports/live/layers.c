/* Layers of a trace that is still being written. Work arrives after the range in which it was
 * launched, so each thread keeps a short history of its ranges.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "reports/iterations/iterations.h"
#include "reports/live/live.h"
#include "trace/schema.h"

#include "base/poison.h"

/* Powers of two. A chunk has at most 65536 rows, and a table with few rows may come that much later
 * than the others. */
#define CALLS         (1u << 19) /* recent ones, by the low bits of their ids */
#define WAITING       (1u << 19) /* work whose layer is not known yet */
#define FIRST_HISTORY 4u
#define SMALL_HISTORY 64u
#define MAX_HISTORY   (1u << 17)       /* entries of one thread */
#define LARGE_HISTORY (3 * (1u << 18)) /* of all threads, for histories beyond the small size */
#define ALL_HISTORY   (1u << 20)       /* of all threads */
#define MAX_HISTORIES (1u << 16)       /* threads */
#define PATIENCE      1                /* ticks */
#define WORTH_A_PASS  8                /* waiting work for each new entry of a history */

/* Since when a thread is in a range. */
struct entry {
    uint64_t time;
    uint32_t layer; /* of layers */
};

/* The last changes of a thread: a ring. */
struct live_history {
    struct entry *items; /* owned */
    uint32_t size;       /* a power of two */
    uint32_t first;
    uint32_t count;
    bool dropped; /* there were earlier ones */
};

struct live_call {
    uint64_t correlation; /* 0: none */
    uint64_t start;
    uint64_t thread;
};

struct live_waiting {
    uint64_t correlation;
    uint64_t ns;
    uint32_t ticks;
};

enum mp_status live_layers_init(struct live *live)
{
    live->calls = calloc(CALLS, sizeof *live->calls);
    live->waiting = calloc(WAITING, sizeof *live->waiting);
    return live->calls && live->waiting ? MP_OK : MP_ERR_MEMORY;
}

void live_layers_free(struct live *live)
{
    for (size_t i = 0; i < live->history_count; i++)
        free(live->histories[i].items);
    free(live->histories);
    free(live->calls);
    free(live->waiting);
    mp_map_free(&live->history_of);
    nvtx_open_free(&live->open);
}

void live_add(struct live_sum *sum, uint64_t ns)
{
    sum->count++;
    sum->ns += ns;
    sum->last_count++;
    sum->last_ns += ns;
}

/* ---- History ---- */

static struct entry *entry_at(const struct live_history *history, uint32_t index)
{
    return &history->items[(history->first + index) & (history->size - 1)];
}

/* Sets *history to NULL if there is no room for another one. */
static enum mp_status reach_history(struct live *live, uint64_t thread,
                                    struct live_history **history)
{
    uint32_t index = mp_map_get(&live->history_of, thread);

    *history = NULL;
    if (index == MP_MAP_ABSENT) {
        if (live->history_count == MAX_HISTORIES ||
            live->history_items + FIRST_HISTORY > ALL_HISTORY)
            return MP_OK;
        MP_TRY(MP_RESERVE(live->histories, live->history_count, live->history_capacity));
        index = (uint32_t)live->history_count;
        MP_TRY(mp_map_put(&live->history_of, thread, index));
        live->histories[live->history_count++] = (struct live_history){.items = NULL};
    }
    *history = &live->histories[index];
    return MP_OK;
}

/* Whether `size` more entries are allowed. */
static bool may_have(const struct live *live, uint32_t size)
{
    return size <= MAX_HISTORY &&
           live->history_items + size <= (size > SMALL_HISTORY ? LARGE_HISTORY : ALL_HISTORY);
}

/* Doubles the room while more is allowed; otherwise drops the oldest entry. */
static enum mp_status layers_make_room(struct live *live, struct live_history *history)
{
    uint32_t size = history->size ? 2 * history->size : FIRST_HISTORY;
    struct entry *items;

    if (history->count < history->size)
        return MP_OK;
    if (history->size && !may_have(live, size)) {
        history->first++;
        history->count--;
        history->dropped = true;
        return MP_OK;
    }
    items = calloc(size, sizeof *items);
    if (!items)
        return MP_ERR_MEMORY;
    for (uint32_t i = 0; i < history->count; i++)
        items[i] = *entry_at(history, i);
    free(history->items);
    live->history_items += size - history->size;
    *history = (struct live_history){items, size, 0, history->count, history->dropped};
    return MP_OK;
}

static uint64_t key_of(uint64_t domain, uint64_t name)
{
    return domain << 32 ^ name;
}

/* Makes an item of `layers` without work if there is room, else returns LIVE_NONE. */
static enum mp_status reach_layer(struct live *live, uint64_t domain, uint64_t name,
                                  uint32_t *layer)
{
    struct live_sums *layers = &live->layers;

    *layer = mp_map_get(&layers->known, key_of(domain, name));
    if (*layer != MP_MAP_ABSENT || layers->count == LIVE_MAX_NAMES)
        return MP_OK;
    MP_TRY(MP_RESERVE(layers->items, layers->count, layers->capacity));
    *layer = (uint32_t)layers->count;
    layers->items[layers->count++] = (struct live_sum){.domain = domain, .name = name};
    return mp_map_put(&layers->known, key_of(domain, name), *layer);
}

static enum mp_status note_innermost(struct live *live, uint64_t thread, uint64_t time)
{
    const struct nvtx_open_range *range = nvtx_open_innermost(&live->open, thread);
    struct live_history *history;
    uint32_t layer;

    MP_TRY(reach_history(live, thread, &history));
    if (!history)
        return MP_OK;
    MP_TRY(reach_layer(live, range ? range->domain : 0, range ? range->name : 0, &layer));
    MP_TRY(layers_make_room(live, history));
    *entry_at(history, history->count++) = (struct entry){time, layer};
    live->noted++;
    return MP_OK;
}

/* ---- Iterations ---- */

static bool is_iteration(const struct live *live, const struct nvtx_open_range *ended,
                         uint64_t thread)
{
    const char *wanted = live->options.iteration;
    const char *name = definitions_text(&live->definitions, ended->name);

    if (wanted)
        return name && !strcmp(name, wanted);
    return !ended->started && !nvtx_open_depth(&live->open, thread) &&
           !iterations_library_domain(definitions_text(&live->definitions, ended->domain));
}

static struct live_step *reach_step(struct live *live, uint64_t domain, uint64_t name)
{
    struct live_step *step;

    for (size_t i = 0; i < live->step_count; i++) {
        step = &live->steps[i];
        if (step->domain == domain && step->name == name)
            return step;
    }
    if (live->step_count == LIVE_MAX_STEPS)
        return NULL;
    step = &live->steps[live->step_count++];
    step->domain = domain;
    step->name = name;
    return step;
}

static void take_ended(struct live *live, const struct nvtx_open_range *ended, uint64_t thread,
                       uint64_t time)
{
    if (!ended->over || ended->cut || time < ended->begin || !is_iteration(live, ended, thread))
        return;
    struct live_step *step = reach_step(live, ended->domain, ended->name);
    if (!step)
        return;
    step->newest = time - ended->begin;
    step->count++;
    step->last_count++;
    step->sum += step->newest;
    step->last_sum += step->newest;
    mp_histogram_add(&step->lengths, step->newest);
    mp_histogram_add(&step->last_lengths, step->newest);
}

/* ---- Rows ---- */

enum mp_status live_take_nvtx(struct live *live, const struct mp_batch *batch)
{
    const struct mp_nvtx_columns nvtx = mp_nvtx_columns(batch->columns);

    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t time = nvtx.time[row];
        const struct nvtx_event event = nvtx_event_at(batch->columns, row, time);
        struct nvtx_open_range ended;

        if (event.kind == MP_nvtx_kind_mark || !time)
            continue;
        MP_TRY(nvtx_open_take(&live->open, &event, &ended));
        take_ended(live, &ended, event.thread, time);
        MP_TRY(note_innermost(live, event.thread, time));
    }
    return MP_OK;
}

void live_take_calls(struct live *live, const struct mp_batch *batch)
{
    const struct mp_call_columns calls = mp_call_columns(batch->columns);

    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t correlation = calls.correlation[row];
        struct live_call *call = &live->calls[correlation & (CALLS - 1)];

        if (correlation && call->correlation != correlation)
            *call = (struct live_call){correlation, calls.start[row], calls.thread[row]};
    }
}

/* ---- Work and its layer ---- */

/* The last entry at or before `time`; NULL: there is none, or it was dropped. */
static const struct entry *entry_before(const struct live_history *history, uint64_t time)
{
    uint32_t low =
        (uint32_t)MP_SEARCH(0, history->count, i, entry_at(history, (uint32_t)i)->time <= time);

    return low ? entry_at(history, low - 1) : NULL;
}

static void add_to_layer(struct live *live, uint32_t layer, uint64_t ns)
{
    live_add(&live->layers.all, ns);
    if (layer < live->layers.count)
        live_add(&live->layers.items[layer], ns);
}

/* Work whose layer will not be known. */
static void give_up(struct live *live, const struct live_waiting *work)
{
    live->unlaunched++;
    add_to_layer(live, LIVE_NONE, work->ns);
}

/* Of a thread with entries; else NULL. */
static const struct live_history *find_history(const struct live *live, uint64_t thread)
{
    uint32_t index = mp_map_get(&live->history_of, thread);

    return index == MP_MAP_ABSENT || !live->histories[index].count ? NULL : &live->histories[index];
}

static void add_outside(struct live *live, uint64_t ns)
{
    uint32_t layer;

    if (reach_layer(live, 0, 0, &layer) != MP_OK)
        layer = LIVE_NONE;
    add_to_layer(live, layer, ns);
}

/* Counts work whose call is known; `history` is that of the call's thread, or NULL. */
static void place(struct live *live, const struct live_waiting *work, const struct live_call *call,
                  const struct live_history *history)
{
    const struct entry *entry = history ? entry_before(history, call->start) : NULL;

    if (entry)
        add_to_layer(live, entry->layer, work->ns);
    else if (history ? history->dropped : nvtx_open_knows(&live->open, call->thread))
        give_up(live, work);
    else
        add_outside(live, work->ns);
}

/* Returns true if the work was counted. With `now` it is counted in any case, with what is known.
 */
static bool settle(struct live *live, const struct live_waiting *work, bool now)
{
    const struct live_call *call = &live->calls[work->correlation & (CALLS - 1)];

    if (call->correlation != work->correlation) {
        if (now)
            give_up(live, work);
        return now;
    }
    const struct live_history *history = find_history(live, call->thread);
    if (!now && (!history || entry_at(history, history->count - 1)->time <= call->start))
        return false; /* what follows the call may change it */
    place(live, work, call, history);
    return true;
}

enum mp_status live_take_work(struct live *live, uint64_t correlation, uint64_t ns)
{
    const struct live_waiting work = {correlation, ns, 0};

    if (!correlation) {
        give_up(live, &work); /* 0 is an empty place of `calls` */
        return MP_OK;
    }
    if (settle(live, &work, false))
        return MP_OK;
    if (live->waiting_count == WAITING) {
        const struct live_waiting *oldest = &live->waiting[live->waiting_first];

        if (!settle(live, oldest, false))
            give_up(live, oldest);
        live->waiting_first = (live->waiting_first + 1) & (WAITING - 1);
        live->waiting_count--;
    }
    live->waiting[(live->waiting_first + live->waiting_count++) & (WAITING - 1)] = work;
    return MP_OK;
}

void live_layers_settle(struct live *live)
{
    size_t count = live->waiting_count;

    if (live->noted * WORTH_A_PASS < count && live->noted < MAX_HISTORY / 4)
        return;
    live->noted = 0;
    for (size_t i = 0; i < count; i++) {
        struct live_waiting work = live->waiting[live->waiting_first];

        live->waiting_first = (live->waiting_first + 1) & (WAITING - 1);
        live->waiting_count--;
        if (!settle(live, &work, false))
            live->waiting[(live->waiting_first + live->waiting_count++) & (WAITING - 1)] = work;
    }
}

void live_layers_tick(struct live *live, bool last)
{
    size_t count = live->waiting_count;

    for (size_t i = 0; i < count; i++) {
        struct live_waiting work = live->waiting[live->waiting_first];

        live->waiting_first = (live->waiting_first + 1) & (WAITING - 1);
        live->waiting_count--;
        if (settle(live, &work, last || work.ticks >= PATIENCE))
            continue;
        work.ticks++;
        live->waiting[(live->waiting_first + live->waiting_count++) & (WAITING - 1)] = work;
    }
}
