/* Finds for each host function that ran in a graph the launch in which it ran, and appends rows of
 * `host_function`.
 */
#include "record/rows/host_rows.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/hash.h"
#include "base/settings/config.h"
#include "record/core/clock.h"
#include "record/rows/recording.h"

#include "base/poison.h"

#define PATIENCE   3u   /* rounds for which a function waits for its launch at least */
#define NAME_BYTES 512u /* longer names are cut */

/* ---- Names ---- */

/* The name of the function, or its place: "libfoo.so+0x1234". NULL if it is not known any more. */
static char *find_name(uintptr_t address)
{
    char text[NAME_BYTES];
    Dl_info place;

    if (!dladdr((const void *)address, &place) || !place.dli_fname)
        return NULL;
    if (place.dli_sname && (uintptr_t)place.dli_saddr == address)
        return strdup(place.dli_sname);
    const char *file = strrchr(place.dli_fname, '/');
    snprintf(text, sizeof(text), "%s+0x%llx", file ? file + 1 : place.dli_fname,
             (unsigned long long)(address - (uintptr_t)place.dli_fbase));
    return strdup(text);
}

/* Asked for once an address: a library that is loaded later at the same place has the old names. */
static const char *name_of(struct host_rows *rows, uintptr_t address)
{
    uint32_t at = mp_map_get(&rows->names, address);

    if (at != MP_MAP_ABSENT)
        return rows->texts[at];
    if (rows->text_count == HOST_ROWS_NAMES ||
        mp_map_put(&rows->names, address, rows->text_count) != MP_OK)
        return NULL;
    rows->texts[rows->text_count] = find_name(address);
    return rows->texts[rows->text_count++];
}

/* ---- Rows ---- */

/* What a row says besides its times. */
struct origin {
    uint32_t context, stream; /* CUPTI's ids; context 0: not known */
    uint64_t node;
    uint64_t correlation; /* in 64 bits */
};

static void append(struct recording *recording, uint32_t tid, const struct call_entry *entry,
                   const struct origin *origin)
{
    struct dictionary *dictionary = &recording->dictionary;
    uint32_t graph = (uint32_t)(origin->node >> 32);

    if (!capture_keeps_work(&recording->capture, origin->correlation, entry->start))
        return;
    mp_append_host_function(
        recording->writer,
        &(struct mp_row_host_function){
            .stream = origin->context
                          ? dictionary_stream(dictionary,
                                              dictionary_device_of(dictionary, origin->context),
                                              origin->context, origin->stream)
                          : 0,
            .name = dictionary_string(dictionary, name_of(&recording->host_rows, entry->event)),
            .node = dictionary_node(dictionary, graph, origin->node, origin->correlation),
            .thread = dictionary_thread(dictionary, tid),
            .start = entry->start,
            .duration = entry->end - entry->start,
            .correlation = origin->correlation,
        });
}

/* ---- Graphs ---- */

/* NULL: nothing is known of the node, and nothing can be. Nodes of graphs that were destroyed are
 * forgotten with all others when there is no room. */
static struct host_ran *ran_of(struct host_rows *rows, uint64_t node)
{
    uint32_t at = mp_map_get(&rows->places, node);

    if (at != MP_MAP_ABSENT)
        return &rows->ran[at];
    if (rows->ran_count == HOST_NODES_MAX) {
        mp_map_clear(&rows->places);
        rows->ran_count = 0;
    }
    if (mp_map_put(&rows->places, node, rows->ran_count) != MP_OK)
        return NULL;
    rows->ran[rows->ran_count] = (struct host_ran){.last = 0};
    return &rows->ran[rows->ran_count++];
}

static void forget_launch(struct host_rows *rows, uint32_t at)
{
    rows->launch_count--;
    memmove(&rows->launches[at], &rows->launches[at + 1],
            (rows->launch_count - at) * sizeof(rows->launches[0]));
}

/* The oldest, for which there is no room. Its functions still run. */
static void forget_oldest(struct recording *recording)
{
    struct host_rows *rows = &recording->host_rows;
    const struct host_launch *launch = &rows->launches[0];
    uint64_t node;
    uint32_t at = 0;

    while ((node = host_nodes_next(recording->host_nodes, launch->graph, &at)) != 0) {
        struct host_ran *ran = ran_of(rows, node);

        if (ran && ran->last < launch->start && !ran->forgotten++)
            ran->since = launch->start;
    }
    rows->forgotten++;
    forget_launch(rows, 0);
}

/* In the order in which they began: they come by different threads. */
static void insert_launch(struct host_rows *rows, const struct host_launch *launch)
{
    uint32_t at = rows->launch_count++;

    for (; at && rows->launches[at - 1].start > launch->start; at--)
        rows->launches[at] = rows->launches[at - 1];
    rows->launches[at] = *launch;
}

static uint32_t functions_of(struct recording *recording, uint32_t graph)
{
    struct host_nodes *nodes = recording->host_nodes;
    struct host_graph *memo = &recording->host_rows.graphs[graph % HOST_ROWS_MEMOS];
    uint32_t now = host_nodes_changes(nodes);

    if (memo->graph != graph || memo->at != now)
        *memo = (struct host_graph){graph, now, host_nodes_of(nodes, graph)};
    return memo->nodes;
}

static const struct host_clones *clones_of(struct recording *recording, uint64_t root)
{
    struct host_clones *memo = &recording->host_rows.clones[mp_mix64(root) % HOST_ROWS_MEMOS];

    if (memo->root != root)
        *memo = (struct host_clones){.root = root};
    host_nodes_find(recording->host_nodes, memo);
    return memo;
}

/* The clone in the graph; 0: none. */
static uint64_t clone_in(const struct host_clones *clones, uint32_t graph)
{
    for (uint32_t i = 0; i < clones->count; i++)
        if (clones->ids[i] >> 32 == graph)
            return clones->ids[i];
    return 0;
}

/* The function ran in the launch, though its row does not say so: it does not take a later one. */
static bool claim(struct recording *recording, const struct host_missed *missed,
                  struct host_launch *launch)
{
    if (launch->start > missed->begin)
        return false;
    uint64_t node = clone_in(clones_of(recording, missed->root), launch->graph);
    struct host_ran *ran = node ? ran_of(&recording->host_rows, node) : NULL;
    if (!ran || launch->start <= ran->last)
        return false;
    ran->last = launch->start;
    launch->left--;
    return true;
}

/* The launch comes late. */
static void claim_missed(struct recording *recording, struct host_launch *launch)
{
    struct host_rows *rows = &recording->host_rows;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < rows->missed_count; i++)
        if (!launch->left || !claim(recording, &rows->missed[i], launch))
            rows->missed[kept++] = rows->missed[i];
    rows->missed_count = kept;
}

static void take_launch(struct recording *recording, const struct call_entry *entry)
{
    struct host_rows *rows = &recording->host_rows;
    struct host_launch launch = {
        .start = entry->start,
        .graph = (uint32_t)entry->event,
        .correlation = entry->correlation,
        .context = entry->context,
        .stream = entry->stream,
    };

    launch.left = functions_of(recording, launch.graph);
    if (launch.left)
        claim_missed(recording, &launch);
    if (!launch.left)
        return;
    if (rows->launch_count == HOST_ROWS_LAUNCHES)
        forget_oldest(recording);
    insert_launch(rows, &launch);
}

/* The oldest launch of the node's graph in which it has not run; -1: none. */
static int next_launch(struct host_rows *rows, uint64_t node, uint64_t begin)
{
    const uint32_t count = rows->launch_count;
    const struct host_ran *ran = ran_of(rows, node);
    uint64_t last = ran ? ran->last : 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct host_launch *launch = &rows->launches[i];

        if (launch->graph == node >> 32 && launch->start <= begin && launch->start > last)
            return (int)i;
    }
    return -1;
}

/* The node that ran, and the launch in which it did: the oldest of all clones. */
static int find_launch(struct recording *recording, uint64_t root, uint64_t begin, uint64_t *node)
{
    struct host_rows *rows = &recording->host_rows;
    const struct host_clones *clones = clones_of(recording, root);
    int found = -1;

    *node = clones->count ? clones->ids[0] : 0;
    for (uint32_t i = 0; i < clones->count; i++) {
        int at = next_launch(rows, clones->ids[i], begin);

        if (at < 0 || (found >= 0 && rows->launches[at].start >= rows->launches[found].start))
            continue;
        found = at;
        *node = clones->ids[i];
    }
    return found;
}

static uint64_t root_of(const struct call_entry *entry)
{
    return (uint64_t)entry->context << 32 | entry->stream;
}

/* The function ran in a launch that was forgotten, so none that is known is its own. */
static bool was_forgotten(struct recording *recording, uint64_t root, uint64_t begin,
                          uint64_t *node)
{
    const struct host_clones *clones = clones_of(recording, root);

    for (uint32_t i = 0; i < clones->count; i++) {
        struct host_ran *ran = ran_of(&recording->host_rows, clones->ids[i]);

        if (!ran || !ran->forgotten || begin < ran->since)
            continue;
        ran->forgotten--;
        *node = clones->ids[i];
        return true;
    }
    return false;
}

static void miss(struct host_rows *rows, uint64_t root, uint64_t begin)
{
    if (rows->missed_count == HOST_ROWS_MISSED)
        memmove(&rows->missed[0], &rows->missed[1], --rows->missed_count * sizeof(rows->missed[0]));
    rows->missed[rows->missed_count++] = (struct host_missed){root, begin};
}

static void use_launch(struct recording *recording, uint32_t at, struct origin *origin)
{
    struct host_rows *rows = &recording->host_rows;
    struct host_launch *launch = &rows->launches[at];
    struct host_ran *ran = ran_of(rows, origin->node);

    if (ran)
        ran->last = launch->start;
    origin->context = launch->context;
    origin->stream = launch->stream;
    origin->correlation = decode_correlation(&recording->decoder, launch->correlation);
    if (!--launch->left)
        forget_launch(rows, at);
}

/* Appends the row if the launch is known, or if `now`. No launch comes for a function that was
 * given to an executable graph by cuGraphExecUpdate: its own node has no clone. */
static bool append_run(struct recording *recording, const struct host_run *run, bool now)
{
    uint64_t root = root_of(&run->entry);
    uint64_t begin = run->entry.start;
    struct origin origin = {.context = 0};

    if (!was_forgotten(recording, root, begin, &origin.node)) {
        int at = find_launch(recording, root, begin, &origin.node);

        if (at < 0 && origin.node && !now)
            return false;
        if (at >= 0)
            use_launch(recording, (uint32_t)at, &origin);
        else if (origin.node)
            miss(&recording->host_rows, root, begin);
    }
    append(recording, run->tid, &run->entry, &origin);
    return true;
}

void host_rows_settle(struct recording *recording, bool last)
{
    struct host_rows *rows = &recording->host_rows;
    int64_t now = rows->run_count ? mp_monotonic_ms() : 0;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < rows->run_count; i++) {
        struct host_run *run = &rows->runs[i];
        uint32_t waited = run->rounds++;
        bool overdue = waited >= PATIENCE && now >= run->until_ms;

        /* In order: a function that waits holds up those after it, which may be of its node. One
         * round is for launches of other threads, which may be older than those that are here. */
        if (kept || (!waited && !last) || !append_run(recording, run, last || overdue))
            rows->runs[kept++] = *run;
    }
    rows->run_count = kept;
}

static void take_run(struct recording *recording, uint32_t tid, const struct call_entry *entry)
{
    struct host_rows *rows = &recording->host_rows;

    if (rows->run_count == HOST_ROWS_RUNS)
        host_rows_settle(recording, true);
    rows->runs[rows->run_count++] =
        (struct host_run){.entry = *entry,
                          .tid = tid,
                          .until_ms = mp_monotonic_ms() + mp_time_limit_ms(MP_TIME_HOST_LAUNCH)};
}

void host_rows_take(struct recording *recording, uint32_t tid, const struct call_entry *entry)
{
    struct origin origin = {.context = entry->context, .stream = entry->stream};

    if (entry->kind == CALL_ENTRY_GRAPH_LAUNCH) {
        take_launch(recording, entry);
    } else if (entry->kind == CALL_ENTRY_HOST_NODE) {
        take_run(recording, tid, entry);
    } else {
        origin.correlation = decode_correlation(&recording->decoder, entry->correlation);
        append(recording, tid, entry, &origin);
    }
}

void host_rows_close(struct host_rows *rows)
{
    for (uint32_t i = 0; i < rows->text_count; i++)
        free(rows->texts[i]);
    mp_map_free(&rows->places);
    mp_map_free(&rows->names);
}
