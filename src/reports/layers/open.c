/* The open ranges of each thread as a list, and the instance (layers/tree.h) of its innermost
 * range. The instance is found again only when something changed that a call of the thread can see.
 */
#include "reports/layers/open.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "trace/schema.h"

#include "base/poison.h"

/* An open range, in the list of its thread's. */
struct layer_range {
    uint64_t sequence; /* in order of begin */
    uint32_t previous; /* of ranges; LAYER_NONE */
    uint32_t next;     /* also of free items */
    uint32_t thread;
    uint32_t domain;
    uint32_t label;
    uint32_t home;     /* its first instance; LAYER_NONE: too deep to have one */
    uint32_t instance; /* the one it has now, if its thread is resolved and it is not too deep */
};

struct layer_thread {
    uint64_t number;
    uint32_t first; /* of ranges; LAYER_NONE */
    uint32_t last;
    uint32_t count;
    uint32_t instance;   /* of the innermost one */
    uint64_t generation; /* of `shared` when it was resolved */
    bool resolved;       /* `instance` holds */
};

struct layer_domain {
    uint64_t string;  /* 0: the default one */
    uint32_t started; /* start/end ranges that are open */
    uint32_t sum;     /* XOR of the indexes of open ranges: with one open, its index */
    uint32_t only;    /* the one that stands in `shared`, plus 1; 0: none does */
    bool wanted;
};

/* ---- Threads, domains, labels ---- */

static enum mp_status reach_thread(struct layer_open *open, uint64_t number, uint32_t *index)
{
    *index = mp_map_get(&open->thread_index, number);
    if (*index != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(MP_RESERVE(open->threads, open->thread_count, open->thread_capacity));
    *index = (uint32_t)open->thread_count;
    open->threads[*index] =
        (struct layer_thread){.number = number, .first = LAYER_NONE, .last = LAYER_NONE};
    MP_TRY(mp_map_put(&open->thread_index, number, *index));
    open->thread_count++;
    return MP_OK;
}

/* NULL for string 0, the default domain. */
static const char *domain_text(const struct layer_open *open, uint64_t string)
{
    const char *text = definitions_text(open->definitions, string);

    return string && !text ? "[unnamed domain]" : text;
}

static enum mp_status reach_domain(struct layer_open *open, uint64_t string, uint32_t *index)
{
    const char *text = domain_text(open, string);

    *index = mp_map_get(&open->domain_index, string);
    if (*index != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(MP_RESERVE(open->domains, open->domain_count, open->domain_capacity));
    *index = (uint32_t)open->domain_count;
    open->domains[*index] = (struct layer_domain){
        .string = string,
        .wanted = !open->domain || !strcmp(open->domain, text ? text : ""),
    };
    MP_TRY(mp_map_put(&open->domain_index, string, *index));
    open->domain_count++;
    return MP_OK;
}

const char *layer_open_domain(const struct layer_open *open, size_t index)
{
    return domain_text(open, open->domains[index].string);
}

static enum mp_status reach_label(struct layer_open *open, const struct nvtx_event *event,
                                  uint32_t *label)
{
    /* An id that no file can justify counts as undefined. */
    uint64_t domain = event->domain < UINT32_MAX ? event->domain : UINT32_MAX;
    uint64_t name = event->name < UINT32_MAX ? event->name : UINT32_MAX;
    uint64_t key = domain << 32 | name;
    const char *text = definitions_text(open->definitions, name);

    *label = mp_map_get(&open->labels, key);
    if (*label != MP_MAP_ABSENT)
        return MP_OK;
    if (name && !text)
        open->quality->undefined++;
    if (!text)
        text = name ? "[unnamed range]" : "<unnamed>";
    MP_TRY(layer_tree_label(open->tree, domain_text(open, domain), text, label));
    return mp_map_put(&open->labels, key, *label);
}

/* ---- The lists of open ranges ---- */

static enum mp_status take_item(struct layer_open *open, uint32_t *index)
{
    if (open->free_range) {
        *index = open->free_range - 1;
        open->free_range = open->ranges[*index].next;
        return MP_OK;
    }
    if (open->range_count >= LAYER_MAX)
        return MP_ERR_LIMIT;
    MP_TRY(MP_RESERVE(open->ranges, open->range_count, open->range_capacity));
    *index = (uint32_t)open->range_count++;
    return MP_OK;
}

static void append(struct layer_open *open, uint32_t index)
{
    struct layer_range *range = &open->ranges[index];
    struct layer_thread *thread = &open->threads[range->thread];

    range->previous = thread->last;
    range->next = LAYER_NONE;
    if (thread->last == LAYER_NONE)
        thread->first = index;
    else
        open->ranges[thread->last].next = index;
    thread->last = index;
    thread->count++;
    open->unfinished++;
}

/* Removes the innermost range. The rest stays resolved if all was resolved and nothing is shared.
 */
static void leave_innermost(struct layer_open *open, struct layer_thread *thread)
{
    if (open->shared_count || thread->generation != open->generation)
        thread->resolved = false;
    else if (thread->count < LAYER_MAX_DEPTH)
        thread->instance = thread->last == LAYER_NONE ? 0 : open->ranges[thread->last].instance;
}

static void remove_range(struct layer_open *open, uint32_t index)
{
    struct layer_range *range = &open->ranges[index];
    struct layer_thread *thread = &open->threads[range->thread];
    bool innermost = thread->last == index;

    if (innermost)
        thread->last = range->previous;
    else
        open->ranges[range->next].previous = range->previous;
    if (range->previous == LAYER_NONE)
        thread->first = range->next;
    else
        open->ranges[range->previous].next = range->next;
    thread->count--;
    open->unfinished--;
    range->next = open->free_range;
    open->free_range = index + 1;
    if (innermost && thread->resolved)
        leave_innermost(open, thread);
    else
        thread->resolved = false;
}

/* ---- Ranges that are open for all threads ---- */

static void forget_shared(struct layer_open *open, uint32_t range)
{
    size_t at = 0;

    while (at < open->shared_count && open->shared[at] != range)
        at++;
    if (at == open->shared_count)
        return;
    open->shared_count--;
    memmove(&open->shared[at], &open->shared[at + 1],
            (open->shared_count - at) * sizeof *open->shared);
}

static void add_shared(struct layer_open *open, uint32_t range)
{
    size_t at = open->shared_count;

    if (at == LAYER_MAX_SHARED)
        return;
    for (; at && open->ranges[open->shared[at - 1]].sequence > open->ranges[range].sequence; at--)
        open->shared[at] = open->shared[at - 1];
    open->shared[at] = range;
    open->shared_count++;
}

/* A start/end range of the domain was opened or is about to go. */
static void count_started(struct layer_open *open, uint32_t range, bool opened)
{
    struct layer_domain *domain = &open->domains[open->ranges[range].domain];

    domain->started += opened ? 1 : UINT32_MAX;
    domain->sum ^= range;
    if (domain->only)
        forget_shared(open, domain->only - 1);
    domain->only = domain->started == 1 ? domain->sum + 1 : 0;
    if (domain->only)
        add_shared(open, domain->only - 1);
    open->generation++;
}

static bool is_shared_with(const struct layer_open *open, uint32_t range, uint32_t thread)
{
    const struct layer_range *shared = &open->ranges[range];
    uint64_t pushed;

    return shared->thread != thread &&
           !nvtx_match_top(&open->match, open->threads[thread].number,
                           open->domains[shared->domain].string, &pushed);
}

/* ---- Which instance ---- */

/* The instance of a range inside another instance. */
static enum mp_status enter(struct layer_open *open, uint32_t index, uint32_t around, bool begun,
                            uint32_t *instance)
{
    struct layer_range *range = &open->ranges[index];
    uint64_t key = (uint64_t)range->home << 32 | around;

    if (range->home == LAYER_NONE) {
        MP_TRY(layer_tree_enter(open->tree, around, range->label, begun, &range->home));
        *instance = range->home;
        return MP_OK;
    }
    *instance = range->home;
    if (open->tree->instances[range->home].parent == around)
        return MP_OK;
    *instance = mp_map_get(&open->others, key);
    if (*instance != MP_MAP_ABSENT)
        return MP_OK;
    if (open->others.count >= LAYER_MAX_OTHERS) {
        *instance = range->home;
        open->kept++;
        return MP_OK;
    }
    MP_TRY(layer_tree_enter(open->tree, around, range->label, false, instance));
    return mp_map_put(&open->others, key, *instance);
}

/* Finds the instances from the outermost range inwards, over the thread's own ranges and those
 * shared with it. */
static enum mp_status resolve(struct layer_open *open, uint32_t index, bool begun)
{
    struct layer_thread *thread = &open->threads[index];
    uint32_t own = thread->first;
    uint32_t instance = 0;
    size_t at = 0;

    for (unsigned depth = 0; depth < LAYER_MAX_DEPTH; depth++) {
        while (at < open->shared_count && !is_shared_with(open, open->shared[at], index))
            at++;
        bool others = at < open->shared_count &&
                      (own == LAYER_NONE ||
                       open->ranges[open->shared[at]].sequence < open->ranges[own].sequence);
        if (!others && own == LAYER_NONE)
            break;
        uint32_t range = others ? open->shared[at++] : own;
        MP_TRY(enter(open, range, instance, begun && range == thread->last, &instance));
        open->ranges[range].instance = instance;
        if (!others)
            own = open->ranges[own].next;
    }
    thread->instance = instance;
    thread->generation = open->generation;
    thread->resolved = true;
    return MP_OK;
}

static bool is_resolved(const struct layer_open *open, const struct layer_thread *thread)
{
    return thread->resolved && thread->generation == open->generation;
}

enum mp_status layer_open_find(struct layer_open *open, uint64_t number, uint32_t *instance)
{
    uint32_t index;

    MP_TRY(reach_thread(open, number, &index));
    if (!is_resolved(open, &open->threads[index]))
        MP_TRY(resolve(open, index, false));
    *instance = open->threads[index].instance;
    return MP_OK;
}

/* ---- Events ---- */

/* A new range becomes an instance at once, so that ranges in which nothing happens count too. */
static enum mp_status enter_new(struct layer_open *open, uint32_t index, bool was_resolved,
                                uint64_t time)
{
    struct layer_range *range = &open->ranges[index];
    struct layer_thread *thread = &open->threads[range->thread];
    bool begun = !open->range || range_has_call(open->range, time);

    if (!was_resolved || open->shared_count)
        return resolve(open, range->thread, begun);
    if (thread->count > LAYER_MAX_DEPTH)
        return MP_OK;
    MP_TRY(enter(open, index, thread->instance, begun, &range->instance));
    thread->instance = range->instance;
    return MP_OK;
}

static enum mp_status begin_range(struct layer_open *open, const struct nvtx_event *event,
                                  uint32_t domain)
{
    struct layer_range range = {.sequence = ++open->sequence, .domain = domain, .home = LAYER_NONE};
    bool started = event->kind == MP_nvtx_kind_start;
    uint32_t index;

    MP_TRY(reach_thread(open, event->thread, &range.thread));
    bool resolved = !started && is_resolved(open, &open->threads[range.thread]);
    MP_TRY(reach_label(open, event, &range.label));
    MP_TRY(take_item(open, &index));
    open->ranges[index] = range;
    append(open, index);
    MP_TRY(nvtx_match_begin(&open->match, event, index));
    if (started)
        count_started(open, index, true);
    return enter_new(open, index, resolved, event->time);
}

enum mp_status layer_open_take(struct layer_open *open, const struct nvtx_event *event)
{
    uint32_t domain = 0;
    uint64_t item;

    if (event->kind != MP_nvtx_kind_end)
        MP_TRY(reach_domain(open, event->domain, &domain));
    if (nvtx_begins(event))
        return open->domains[domain].wanted ? begin_range(open, event, domain) : MP_OK;
    if (!nvtx_match_end(&open->match, event, &item))
        return MP_OK;
    if (event->kind == MP_nvtx_kind_end)
        count_started(open, (uint32_t)item, false);
    remove_range(open, (uint32_t)item);
    return MP_OK;
}

void layer_open_free(struct layer_open *open)
{
    free(open->ranges);
    free(open->threads);
    free(open->domains);
    mp_map_free(&open->thread_index);
    mp_map_free(&open->domain_index);
    nvtx_match_free(&open->match);
    mp_map_free(&open->labels);
    mp_map_free(&open->others);
    *open = (struct layer_open){.tree = NULL};
}
