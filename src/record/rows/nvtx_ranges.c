/* Writes the NVTX ranges that are open where a capture range begins, ends those that are open where
 * it ends, and writes the ranges around the nodes of CUDA graphs.
 */
#include "record/rows/nvtx_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "record/names/dictionary.h"
#include "record/nccl/collectives.h"
#include "record/rows/stack_rows.h"

#include "base/poison.h"

/* ---- Ranges that reach beyond a capture range ---- */

void carried_open(struct carried *carried, const struct capture *capture,
                  struct dictionary *dictionary)
{
    *carried = (struct carried){.capture = capture, .dictionary = dictionary};
}

void carried_close(struct carried *carried)
{
    open_ranges_free(&carried->open);
}

static void append_begin(struct carried *carried, const struct open_thread *thread,
                         const struct open_range *range, uint64_t time)
{
    struct dictionary *dictionary = carried->dictionary;

    mp_append_nvtx(dictionary->writer,
                   &(struct mp_row_nvtx){
                       .thread = dictionary_thread(dictionary, thread->tid),
                       .kind = range->range ? MP_nvtx_kind_start : MP_nvtx_kind_push,
                       .domain = dictionary_string(dictionary, range->domain),
                       .name = dictionary_text(dictionary, range->name, range->bytes),
                       .time = time,
                       .range = range->range,
                       .category = range->category,
                       .color = range->color,
                       .payload_type = range->payload_type,
                       .payload = range->payload,
                       .cut = true,
                   });
}

static void append_end(struct carried *carried, const struct open_thread *thread,
                       const struct open_range *range, uint64_t time)
{
    struct dictionary *dictionary = carried->dictionary;

    mp_append_nvtx(dictionary->writer,
                   &(struct mp_row_nvtx){
                       .thread = dictionary_thread(dictionary, thread->tid),
                       .kind = range->range ? MP_nvtx_kind_end : MP_nvtx_kind_pop,
                       .domain = dictionary_string(dictionary, range->domain),
                       .time = time,
                       .range = range->range,
                       .cut = true,
                   });
}

/* ---- Begins and ends of capture ranges: the edges ---- */

static void take_begin(struct carried *carried, struct open_thread *thread, uint64_t time)
{
    carried->lost += thread->beyond;
    for (uint32_t i = 0; i < thread->count; i++)
        if (!thread->open[i].ended || thread->open[i].ended > time)
            append_begin(carried, thread, &thread->open[i], time);
}

/* What was met as ended already gets the row of its end. */
static void take_end(struct carried *carried, struct open_thread *thread, uint64_t time)
{
    for (uint32_t i = thread->count; i--;)
        if (!thread->open[i].ended || thread->open[i].ended >= time)
            append_end(carried, thread, &thread->open[i], time);
}

/* The thread takes in the edges up to number `edges` that are not later than `time`. */
static void take_edges(struct carried *carried, struct open_thread *thread, uint64_t edges,
                       uint64_t time)
{
    uint64_t first;

    capture_edges(carried->capture, &first);
    if (thread->carried.edges < first) /* forgotten by now */
        thread->carried.edges = first;
    for (; thread->carried.edges < edges; thread->carried.edges++) {
        uint64_t edge = thread->carried.edges;
        uint64_t at = capture_edge_time(carried->capture, edge);

        if (at > time)
            return;
        thread->carried.time = at;
        thread->carried.inside = !(edge & 1);
        if (edge & 1)
            take_end(carried, thread, at);
        else
            take_begin(carried, thread, at);
    }
}

static uint64_t known(const struct carried *carried)
{
    uint64_t first;

    return capture_edges(carried->capture, &first);
}

struct open_thread *carried_take(struct carried *carried, const struct mp_nvtx_event *event)
{
    struct open_thread *thread = open_ranges_thread(&carried->open, event->tid);
    struct open_thread *owner =
        event->kind == MP_nvtx_kind_end ? open_ranges_owner(&carried->open, event->range) : NULL;
    uint64_t edges = known(carried);

    if (thread && thread->carried.edges < edges)
        take_edges(carried, thread, edges, event->time);
    if (owner && owner->carried.edges < edges)
        take_edges(carried, owner, edges, event->time);
    return open_ranges_take(&carried->open, event);
}

bool carried_keeps(const struct carried *carried, const struct open_thread *thread,
                   const struct mp_nvtx_event *event, uint64_t *time, bool *cut)
{
    *time = event->time;
    *cut = false;
    if (!thread || event->time >= thread->carried.time || event->kind == MP_nvtx_kind_mark)
        return capture_keeps_time(carried->capture, event->time);
    *time = thread->carried.time;
    *cut = event->kind == MP_nvtx_kind_push || event->kind == MP_nvtx_kind_start;
    return thread->carried.inside;
}

void carried_begin_drain(struct carried *carried)
{
    carried->asked = known(carried);
}

void carried_end_drain(struct carried *carried)
{
    if (carried->settled == carried->asked)
        return;
    for (uint32_t i = 0; i < carried->open.thread_count; i++)
        take_edges(carried, &carried->open.threads[i], carried->asked, UINT64_MAX);
    carried->settled = carried->asked;
}

void carried_restart(struct carried *carried)
{
    for (uint32_t i = 0; i < carried->open.thread_count; i++)
        carried->open.threads[i].carried = (struct carried_thread){.edges = 0};
    carried->settled = 0;
    carried->asked = 0;
}

/* ---- Paths: the ranges in which nodes were made ----
 *
 * A path is written once, before the first row of a node that it belongs to.
 */

struct path_key {
    uint32_t parent; /* 0: none */
    uint32_t domain; /* texts; 0 is the default one */
    uint32_t name;
};
_Static_assert(sizeof(struct path_key) == 12, "no padding: compared as bytes");

struct entry_key {
    struct path_key path;
    uint32_t zero;
    uint64_t range;
};
_Static_assert(sizeof(struct entry_key) == 24, "no padding: compared as bytes");

struct path_entry {
    struct path_key key;
    uint32_t sibling; /* another entry of the same start and end range */
    uint64_t ended;   /* when its start/end range ended; 0: it has not */
    uint64_t range;
};

struct path_origin {
    uint32_t number;
    uint32_t entry; /* innermost; 0: no range was open; PATHS_LOST */
    uint64_t time;
    uint32_t tid;
};

void paths_open(struct paths *paths, bool wanted)
{
    memset(paths, 0, sizeof(*paths));
    paths->wanted = wanted;
}

void paths_close(struct paths *paths)
{
    free(paths->entries);
    free(paths->file_ids);
    free(paths->origins);
    mp_map_free(&paths->ending);
    mp_intern_free(&paths->texts);
    mp_intern_free(&paths->entry_keys);
    mp_intern_free(&paths->path_keys);
    paths_open(paths, false);
}

/* ---- Entries ---- */

/* The id of a text; PATHS_LOST without room. */
static uint32_t keep_text(struct paths *paths, const char *text, size_t bytes)
{
    uint32_t before = paths->texts.count;
    uint32_t id = mp_intern_find(&paths->texts, text, bytes);

    if (id)
        return id;
    if (paths->text_bytes + bytes > PATHS_MAX_TEXT)
        return PATHS_LOST;
    id = mp_intern_add(&paths->texts, text, bytes);
    paths->text_bytes += id > before ? bytes : 0;
    return id ? id : PATHS_LOST;
}

/* Links the entry to its range, so that the range's end finds the entry. */
static bool note_range(struct paths *paths, struct path_entry *entry, uint32_t id)
{
    uint32_t sibling = mp_map_get(&paths->ending, entry->range);

    entry->sibling = sibling == MP_MAP_ABSENT ? 0 : sibling;
    return mp_map_put(&paths->ending, entry->range, id) == MP_OK;
}

static void note_end(struct paths *paths, const struct mp_nvtx_event *event)
{
    uint32_t entry = mp_map_get(&paths->ending, event->range);

    mp_map_remove(&paths->ending, event->range);
    for (; entry && entry != MP_MAP_ABSENT; entry = paths->entries[entry - 1].sibling)
        paths->entries[entry - 1].ended = event->time;
}

static uint32_t make_entry(struct paths *paths, const struct entry_key *key)
{
    uint32_t before = paths->entry_keys.count;
    uint32_t id = mp_intern_find(&paths->entry_keys, key, sizeof(*key));

    if (id)
        return id;
    if (before == PATHS_MAX ||
        (before == paths->entry_capacity &&
         !mp_double(&paths->entries, &paths->entry_capacity, sizeof(*paths->entries))))
        return PATHS_LOST;
    id = mp_intern_add(&paths->entry_keys, key, sizeof(*key));
    if (!id)
        return PATHS_LOST;
    paths->entries[id - 1] = (struct path_entry){.key = key->path, .range = key->range};
    return key->range && !note_range(paths, &paths->entries[id - 1], id) ? PATHS_LOST : id;
}

static uint32_t entry_of(struct paths *paths, const struct open_range *range, uint32_t parent)
{
    struct entry_key key = {
        .path = {.parent = parent,
                 .domain =
                     range->domain ? keep_text(paths, range->domain, strlen(range->domain)) : 0,
                 .name = keep_text(paths, range->name, range->bytes)},
        .range = range->range,
    };

    if (key.path.domain == PATHS_LOST || key.path.name == PATHS_LOST)
        return PATHS_LOST;
    return make_entry(paths, &key);
}

/* The entry of the innermost open range; 0 if none is open. Makes the entries that do not exist
 * yet; they are inside those that do. */
static uint32_t innermost(struct paths *paths, struct open_thread *thread)
{
    uint32_t parent = 0;

    if (thread->beyond || thread->unsure)
        return PATHS_LOST;
    for (uint32_t i = 0; i < thread->count && parent != PATHS_LOST; i++) {
        struct open_range *range = &thread->open[i];

        /* If a range around it has ended since, it has another parent. */
        if (!range->entry || paths->entries[range->entry - 1].key.parent != parent) {
            uint32_t entry = entry_of(paths, range, parent);

            if (entry == PATHS_LOST)
                return PATHS_LOST;
            range->entry = entry;
        }
        parent = range->entry;
    }
    return parent;
}

/* ---- Nodes ---- */

static struct path_origin *origin_slot(struct paths *paths, uint32_t number)
{
    return &paths->origins[number & (paths->origin_capacity - 1)];
}

/* Doubles the ring; its items move. */
static bool grow_origins(struct paths *paths)
{
    uint32_t capacity = paths->origin_capacity ? paths->origin_capacity * 2 : 256;
    struct path_origin *grown = calloc(capacity, sizeof(*grown));

    if (!grown)
        return false;
    for (uint32_t i = 0; i < paths->origin_capacity; i++)
        if (paths->origins[i].number)
            grown[paths->origins[i].number & (capacity - 1)] = paths->origins[i];
    free(paths->origins);
    paths->origins = grown;
    paths->origin_capacity = capacity;
    return true;
}

static void take_origin(struct paths *paths, struct open_thread *thread,
                        const struct mp_nvtx_event *event)
{
    uint32_t number = (uint32_t)event->range;

    while (!paths->origin_capacity ||
           (origin_slot(paths, number)->number && paths->origin_capacity < PATHS_MAX_ORIGINS))
        if (!grow_origins(paths))
            break;
    if (!paths->origin_capacity)
        return;
    *origin_slot(paths, number) = (struct path_origin){
        .number = number,
        .entry = innermost(paths, thread),
        .time = event->time,
        .tid = event->tid,
    };
}

void paths_take(struct paths *paths, struct open_thread *thread, const struct mp_nvtx_event *event)
{
    if (!paths->wanted)
        return;
    if (event->kind == MP_nvtx_kind_end)
        note_end(paths, event);
    else if (event->kind == MP_NVTX_ORIGIN && thread)
        take_origin(paths, thread,
                    event); /* otherwise look_up does not find it, and it is counted */
}

/* ---- Looking up ---- */

static uint32_t make_path(struct paths *paths, const struct path_key *key)
{
    uint32_t id = mp_intern_find(&paths->path_keys, key, sizeof(*key));

    if (!id && paths->path_keys.count < PATHS_MAX)
        id = mp_intern_add(&paths->path_keys, key, sizeof(*key));
    return id ? id : PATHS_LOST;
}

/* The entry's path, without the ranges that had ended at `time`. */
static uint32_t path_of(struct paths *paths, uint32_t entry, uint64_t time)
{
    uint32_t chain[OPEN_MAX];
    uint32_t count = 0;
    uint32_t path = 0;

    for (; entry && count < OPEN_MAX; entry = paths->entries[entry - 1].key.parent)
        if (!paths->entries[entry - 1].ended || paths->entries[entry - 1].ended > time)
            chain[count++] = entry;
    while (count-- && path != PATHS_LOST) {
        struct path_key key = paths->entries[chain[count] - 1].key;

        key.parent = path;
        path = make_path(paths, &key);
    }
    return path;
}

/* Looks up the ranges of a node. Its number is missing if it was met too long ago, or if memory was
 * out. */
static void look_up(struct paths *paths, struct graph_node *node)
{
    const struct path_origin *origin =
        paths->origin_capacity ? origin_slot(paths, node->origin) : NULL;

    node->path = PATHS_LOST;
    if (!origin || origin->number != node->origin)
        return;
    node->tid = origin->tid;
    if (origin->entry != PATHS_LOST)
        node->path = path_of(paths, origin->entry, origin->time);
}

/* ---- Writing ---- */

static const char *text_of(const struct paths *paths, uint32_t id)
{
    return id ? mp_intern_get(&paths->texts, id, NULL) : NULL;
}

/* The number of a path in the file. If the file does not have it, defines it, after the paths
 * around it. 0 without memory. */
static uint32_t file_id(struct paths *paths, struct dictionary *dictionary, uint32_t path)
{
    uint32_t chain[OPEN_MAX];
    uint32_t count = 0;
    uint32_t parent = 0;

    while (paths->file_capacity < paths->path_keys.count)
        if (!mp_double(&paths->file_ids, &paths->file_capacity, sizeof(*paths->file_ids)))
            return 0;
    while (path && !paths->file_ids[path - 1] && count < OPEN_MAX) {
        const struct path_key *key = (const void *)mp_intern_get(&paths->path_keys, path, NULL);

        chain[count++] = path;
        path = key->parent;
    }
    parent = path ? paths->file_ids[path - 1] : 0;
    while (count--) {
        const struct path_key *key =
            (const void *)mp_intern_get(&paths->path_keys, chain[count], NULL);
        struct mp_row_path row = {
            .id = ++paths->file_count,
            .parent = parent,
            .domain = dictionary_string(dictionary, text_of(paths, key->domain)),
            .name = dictionary_string(dictionary, text_of(paths, key->name)),
        };

        mp_append_path(dictionary->writer, &row);
        paths->file_ids[chain[count] - 1] = parent = paths->file_count;
    }
    return parent;
}

/* A launch by NCCL made the node. */
static void append_carrier(const struct paths *paths, const struct graph_edges *graph,
                           const struct graph_node *node, struct dictionary *dictionary)
{
    uint32_t carrier =
        paths->collectives ? collectives_carrier(paths->collectives, node->origin) : 0;

    if (carrier)
        mp_append_nccl_node(dictionary->writer,
                            &(struct mp_row_nccl_node){
                                .graph = graph->number,
                                .graph_node = (uint64_t)graph->graph << 32 | node->number,
                                .carrier = carrier,
                            });
}

static void append_graph(struct paths *paths, const struct graph_edges *graph,
                         struct dictionary *dictionary)
{
    paths->lost += graph->nodes_lost;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        uint32_t stack = stack_rows_of_node(paths->stack_rows, node->origin);
        uint32_t id = 0;

        append_carrier(paths, graph, node, dictionary);
        if (node->path && node->path != PATHS_LOST)
            id = file_id(paths, dictionary, node->path);
        paths->lost += node->path && !id;
        if (!id && !stack)
            continue;
        mp_append_captured(dictionary->writer,
                           &(struct mp_row_captured){
                               .graph = graph->number,
                               .graph_node = (uint64_t)graph->graph << 32 | node->number,
                               .path = id,
                               .thread = dictionary_thread(dictionary, node->tid),
                               .stack = stack,
                           });
    }
}

void paths_settle(struct paths *paths, struct edge_store *store, struct dictionary *dictionary)
{
    if (!paths->wanted || !store->unsettled)
        return;
    for (uint32_t i = 0; i < store->count; i++) {
        struct graph_edges *graph = store->graphs[i];

        if (graph->state == GRAPH_RIPE) {
            for (uint32_t k = 0; k < graph->node_count; k++)
                look_up(paths, &graph->nodes[k]);
            graph->state = GRAPH_SETTLED;
            store->unsettled--;
        }
        if (graph->due && graph->state == GRAPH_SETTLED) {
            append_graph(paths, graph, dictionary);
            graph->due = false;
            store->unsettled--;
        }
    }
}

void paths_restart(struct paths *paths)
{
    if (paths->file_ids)
        memset(paths->file_ids, 0, paths->file_capacity * sizeof(*paths->file_ids));
    paths->file_count = 0;
}
