/* Which layer (layers.h) each device activity of the graph belongs to.
 *
 * Both analyses read the same rows: an activity and a piece of work are the same if they begin at
 * the same time, take as long and have one correlation id.
 *
 *     graph, by begin    a 10  b 20  c 20  d 35
 *     layers, by time    a 10  c 20  b 20  d 35     -> the node of each
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "reports/advise/build.h"
#include "trace/schema.h"

#include "base/poison.h"

/* Paths of ranges. If a trace has more, its names are different each time and none stands out; each
 * path takes about 600 bytes (layers.h). */
#define MAX_PATHS 100000

/* Activities with the same begin that are compared; no real trace has more. */
#define MAX_TIES 4096

struct join {
    struct advise *advise;
    uint32_t *order; /* device activities by begin */
    size_t count;
    size_t at; /* activities before this one begin earlier than the next piece of work */
};

/* ---- Nodes ---- */

static bool is_iteration(const struct advise *advise, const struct layer_tree *tree, uint32_t label)
{
    const struct iterations *iterations = advise->iterations;

    return iterations->way == ITERATIONS_NVTX &&
           !strcmp(mp_intern_get(tree->names, tree->labels[label].name, NULL), iterations->name);
}

static struct advise_layer new_node(const struct advise *advise, const struct layer_tree *tree,
                                    uint32_t node)
{
    const struct layer_node *of = &tree->nodes[node];
    struct advise_layer layer = {.row = LAYER_NONE};

    if (!node)
        return layer;
    enum trt_mark mark = (enum trt_mark)tree->labels[of->label].mark;
    layer.is_range = !is_iteration(advise, tree, of->label);
    layer.moves = mark == TRT_REFORMAT || mark == TRT_COPY;
    if (mark == TRT_COMPUTES && of->parent)
        layer.moves = advise->layers.nodes[of->parent].moves;
    return layer;
}

/* Nodes are numbered as they appear, parents first. */
static enum mp_status reach_nodes(struct advise *advise, const struct layer_tree *tree)
{
    struct advise_layers *layers = &advise->layers;

    if (tree->node_count > MAX_PATHS)
        return MP_ERR_LIMIT;
    while (layers->count < tree->node_count) {
        MP_TRY(MP_RESERVE(layers->nodes, layers->count, layers->capacity));
        layers->nodes[layers->count] = new_node(advise, tree, (uint32_t)layers->count);
        layers->count++;
    }
    return MP_OK;
}

/* ---- Joining ---- */

static bool begins_before(const void *context, uint32_t a, uint32_t b)
{
    const struct deps *deps = context;

    return deps->activities[a].begin < deps->activities[b].begin;
}

static enum mp_status sort_activities(struct join *join)
{
    const struct deps *deps = join->advise->deps;
    size_t count = (size_t)deps->count - deps->host_count;
    uint32_t *scratch = malloc((count + 1) * sizeof *scratch);

    join->order = malloc((count + 1) * sizeof *join->order);
    if (!join->order || !scratch) {
        free(scratch);
        return MP_ERR_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        join->order[i] = deps->host_count + (uint32_t)i;
    mp_sort(join->order, count, scratch, begins_before, deps);
    free(scratch);
    join->count = count;
    return MP_OK;
}

static enum mp_status layers_take_work(void *context, const struct layer_tree *tree,
                                       const struct layer_activity *work)
{
    struct join *join = context;
    struct advise *advise = join->advise;
    const struct deps *deps = advise->deps;
    const struct deps_activity *activities = deps->activities;

    MP_TRY(reach_nodes(advise, tree));
    while (join->at < join->count && activities[join->order[join->at]].begin < work->start)
        join->at++;
    for (size_t at = join->at; at < join->count && at - join->at < MAX_TIES; at++) {
        const struct deps_activity *activity = &activities[join->order[at]];
        uint32_t *of = &advise->layers.of[join->order[at] - deps->host_count];

        if (activity->begin != work->start)
            break;
        if (!*of && activity->correlation == work->correlation &&
            activity->end - activity->begin == work->duration) {
            *of = work->node + 1;
            break;
        }
    }
    return MP_OK;
}

/* ---- Sums ---- */

bool advise_layer_kernel(const struct advise *advise, uint32_t index)
{
    uint8_t kind = advise->deps->activities[index].kind;

    return kind == DEPS_KERNEL || kind == DEPS_GRAPH;
}

bool advise_layer_moves(const struct advise *advise, uint32_t index)
{
    const struct deps *deps = advise->deps;
    const struct deps_activity *work = &deps->activities[index];
    uint32_t node = advise_layer_of(advise, index);

    if (node == LAYER_NONE || !advise->layers.nodes[node].moves)
        return false;
    if (work->kind != DEPS_COPY || work->copy == DEPS_NONE)
        return work->kind == DEPS_KERNEL;
    uint64_t kind = deps->copies[work->copy].kind;
    return kind != MP_copy_kind_HtoD && kind != MP_copy_kind_DtoH;
}

static void layers_add_up(struct advise *advise)
{
    const struct deps *deps = advise->deps;
    struct advise_layers *layers = &advise->layers;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        uint64_t time = deps->activities[i].end - deps->activities[i].begin;
        uint32_t node = advise_layer_of(advise, i);

        if (!advise_counts(advise, i))
            continue;
        layers->time += time;
        if (node == LAYER_NONE)
            continue;
        layers->any |= layers->nodes[node].is_range;
        if (advise_layer_moves(advise, i))
            layers->nodes[node].moved += time;
        if (!advise_layer_kernel(advise, i))
            continue;
        layers->nodes[node].time += time;
        layers->nodes[node].kernels++;
    }
    for (size_t i = 0; i < layers->result.count; i++) {
        uint32_t node = layers->result.layers[i].node;

        if (node < layers->count)
            layers->nodes[node].row = (uint32_t)i;
    }
}

/* ---- The whole ---- */

/* MP_ERR_LIMIT: there are too many paths to be layers. */
static enum mp_status join_layers(struct join *join, struct mp_error *error)
{
    struct advise *advise = join->advise;
    const struct layers_options options = {
        .style = NAMES_MANGLED, .each = layers_take_work, .context = join};
    size_t count = (size_t)advise->deps->count - advise->deps->host_count;

    advise->layers.of = calloc(count + 1, sizeof *advise->layers.of);
    if (!advise->layers.of || sort_activities(join))
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    return layers_build(advise->deps->profile, &options, &advise->layers.result, error);
}

enum mp_status advise_layers_load(struct advise *advise)
{
    struct join join = {.advise = advise};
    struct mp_error error = {.text = ""};

    if (!profile_has_rows(advise->deps->profile, MP_TABLE_nvtx) &&
        !profile_has_rows(advise->deps->profile, MP_TABLE_captured))
        return MP_OK;
    enum mp_status status = join_layers(&join, &error);
    free(join.order);
    if (status)
        advise_layers_free(advise);
    if (status == MP_ERR_LIMIT)
        return MP_OK;
    if (status && advise->error)
        *advise->error = error;
    if (!status)
        layers_add_up(advise);
    return status;
}

void advise_layers_free(struct advise *advise)
{
    layers_free(&advise->layers.result);
    free(advise->layers.of);
    free(advise->layers.nodes);
    advise->layers = (struct advise_layers){.of = NULL};
}

/* ---- Texts ---- */

enum mp_status advise_layer_path(struct advise *advise, uint32_t node, const char **path)
{
    struct advice *advice = advise->advice;
    const struct advise_layers *layers = &advise->layers;
    struct mp_buffer text = {.data = NULL};

    *path = NULL;
    if (advice->path_count == ADVISE_PATHS || layers->nodes[node].row == LAYER_NONE)
        return MP_OK;
    layers_put_path(&text, &layers->result, layers->nodes[node].row);
    if (mp_buffer_append_byte(&text, '\0')) {
        mp_buffer_free(&text);
        return MP_ERR_MEMORY;
    }
    *path = advice->paths[advice->path_count++] = (char *)text.data;
    return MP_OK;
}
