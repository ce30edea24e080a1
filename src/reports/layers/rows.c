/* From the sums of nodes and the instances to the rows of the result. */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "reports/layers/build.h"

#include "base/poison.h"

/* What is known of each node while rows are made. */
struct rows {
    struct layers_pass *pass;
    struct layer_work *totals; /* by node; the result's */
    struct nvtx_sums all;      /* by node: names of the work in it and inside it */
    uint64_t *counts;          /* by node: instances; owned, as all that follow */
    uint64_t *first;           /* by node, and one more: of samples */
    uint64_t *samples;         /* device times of the calls, node by node */
    uint32_t *shorts;          /* by name: the short one */
    uint32_t *chosen;          /* nodes that have a row, by total */
    uint32_t *child, *sibling; /* by node: the first of those inside; the next one */
    uint32_t *rows;            /* by node */
    size_t chosen_count;
    size_t kernels_used;
};

/* ---- Sums ---- */

static void add_work(struct layer_work *into, const struct layer_work *from)
{
    into->device += from->device;
    for (int kind = 0; kind < LAYER_KINDS; kind++)
        into->counts[kind] += from->counts[kind];
    into->launches += from->launches;
    into->launch_time += from->launch_time;
}

/* Adds the sums of nodes to their parents. Node 0, which stands for no range, is no parent of
 * ranges. */
static enum mp_status hand_outwards(struct rows *rows)
{
    const struct layers_pass *pass = rows->pass;
    const struct layer_tree *tree = &pass->tree;

    memcpy(rows->totals, pass->works, tree->node_count * sizeof *rows->totals);
    for (size_t node = tree->node_count; node-- > 0;) {
        uint32_t parent = tree->nodes[node].parent;

        for (uint32_t at = pass->sums.first[node]; at != NVTX_NONE; at = pass->sums.items[at].next)
            MP_TRY(nvtx_sums_add(&rows->all, (uint32_t)node, pass->sums.items[at].name,
                                 &pass->sums.items[at].tally));
        if (!parent)
            continue;
        add_work(&rows->totals[parent], &rows->totals[node]);
        for (uint32_t at = rows->all.first[node]; at != NVTX_NONE; at = rows->all.items[at].next) {
            struct nvtx_sum sum = rows->all.items[at]; /* the array can move */

            MP_TRY(nvtx_sums_add(&rows->all, parent, sum.name, &sum.tally));
        }
    }
    return MP_OK;
}

/* Adds the device times of instances to those around them, then to the samples of their nodes. */
static enum mp_status collect_samples(struct rows *rows)
{
    struct layer_tree *tree = &rows->pass->tree;
    struct layer_instance *instances = tree->instances;
    uint64_t *at;

    for (size_t i = tree->instance_count; i-- > 1;) {
        struct layer_instance *around = &instances[instances[i].parent];

        rows->counts[instances[i].node] += instances[i].worked | instances[i].begun;
        rows->first[instances[i].node + 1] += instances[i].worked;
        if (instances[i].parent && instances[i].worked) {
            around->device += instances[i].device;
            around->worked = 1;
        }
    }
    for (size_t node = 0; node < tree->node_count; node++)
        rows->first[node + 1] += rows->first[node];
    rows->samples = reallocarray(NULL, rows->first[tree->node_count] + 1, sizeof *rows->samples);
    at = reallocarray(NULL, tree->node_count, sizeof *at);
    if (!rows->samples || !at) {
        free(at);
        return MP_ERR_MEMORY;
    }
    memcpy(at, rows->first, tree->node_count * sizeof *at);
    for (size_t i = 1; i < tree->instance_count; i++) {
        if (instances[i].worked)
            rows->samples[at[instances[i].node]++] = instances[i].device;
    }
    free(at);
    return MP_OK;
}

static void count_iterations(struct rows *rows)
{
    const struct layer_tree *tree = &rows->pass->tree;

    for (size_t node = 1; node < tree->node_count; node++) {
        const struct layer_node *of = &tree->nodes[node];

        if (of->inside && !tree->nodes[of->parent].inside)
            rows->pass->result->iterations += rows->first[node + 1] - rows->first[node];
    }
}

/* ---- Which rows, and in which order ---- */

static bool has_work(const struct layer_work *work)
{
    uint64_t count = 0;

    for (int kind = 0; kind < LAYER_KINDS; kind++)
        count += work->counts[kind];
    return count != 0;
}

struct ranked {
    uint64_t total;
    uint32_t node;
};

MP_COMPARE(compare_ranked, struct ranked,
           MP_ORDER(b->total, a->total) ?: MP_ORDER(a->node, b->node));

/* Marks nodes with work, or all nodes if asked for, and every node around a marked one. */
static void mark_wanted(const struct rows *rows, bool *wanted)
{
    const struct layers_pass *pass = rows->pass;

    for (size_t node = pass->tree.node_count; node-- > 0;) {
        const struct layer_node *of = &pass->tree.nodes[node];
        bool counts = node && rows->counts[node] && (!pass->tree.iteration || of->inside);

        wanted[node] |= has_work(&rows->totals[node]) || (pass->options->all && counts);
        if (of->parent)
            wanted[of->parent] |= wanted[node];
    }
}

static enum mp_status layers_choose(struct rows *rows)
{
    size_t nodes = rows->pass->tree.node_count;
    struct ranked *ranked = reallocarray(NULL, nodes, sizeof *ranked);
    bool *wanted = calloc(nodes, sizeof *wanted);
    size_t count = 0;

    if (ranked && wanted) {
        mark_wanted(rows, wanted);
        for (uint32_t node = 0; node < nodes; node++) {
            if (wanted[node])
                ranked[count++] = (struct ranked){rows->totals[node].device, node};
        }
        qsort(ranked, count, sizeof *ranked, compare_ranked);
        for (size_t i = 0; i < count; i++)
            rows->chosen[i] = ranked[i].node;
    }
    rows->chosen_count = count;
    bool room = ranked && wanted;
    free(ranked);
    free(wanted);
    return room ? MP_OK : MP_ERR_MEMORY;
}

/* Lists the chosen children of each node, by total; node 0 lists the outermost ones. Node 0 may
 * have a row itself and then stands among them. */
static void list_children(struct rows *rows)
{
    const struct layer_node *nodes = rows->pass->tree.nodes;

    memset(rows->child, 0xFF, rows->pass->tree.node_count * sizeof *rows->child);
    for (size_t i = rows->chosen_count; i-- > 0;) {
        uint32_t node = rows->chosen[i];
        uint32_t parent = nodes[node].parent;

        rows->sibling[node] = rows->child[parent];
        rows->child[parent] = node;
    }
}

/* The rows in order: each node, then what is inside it. */
static void number_rows(struct rows *rows)
{
    const struct layer_node *nodes = rows->pass->tree.nodes;
    uint32_t node = rows->child[0];
    uint32_t row = 0;

    while (node != LAYER_NONE) {
        rows->rows[node] = row++;
        if (node && rows->child[node] != LAYER_NONE) {
            node = rows->child[node];
            continue;
        }
        while (node && rows->sibling[node] == LAYER_NONE && nodes[node].parent)
            node = nodes[node].parent;
        node = rows->sibling[node];
    }
}

/* ---- Rows ---- */

static const char *text_of(const struct rows *rows, uint32_t id)
{
    return id ? mp_intern_get(&rows->pass->result->names, id, NULL) : NULL;
}

MP_COMPARE(compare_kernels, struct layer_kernel,
           MP_ORDER(b->total, a->total) ?: strcmp(a->name, b->name));

static void fill_kernels(struct rows *rows, uint32_t node, struct layer *layer)
{
    const struct nvtx_sums *selves = &rows->pass->sums;
    struct layer_kernel *kernels = rows->pass->result->kernels + rows->kernels_used;

    layer->kernels = kernels;
    for (uint32_t at = rows->all.first[node]; at != NVTX_NONE; at = rows->all.items[at].next) {
        const struct nvtx_sum *sum = &rows->all.items[at];
        uint32_t self = mp_map_get(&selves->known, (uint64_t)node << 32 | sum->name);
        uint32_t name = sum->name >> 1;
        struct layer_kernel *kernel = &kernels[layer->kernel_count++];

        *kernel = (struct layer_kernel){
            .name = text_of(rows, name), .calls = sum->tally.calls, .total = sum->tally.total};
        kernel->short_name = rows->shorts[name] ? text_of(rows, rows->shorts[name]) : kernel->name;
        if (self != MP_MAP_ABSENT) {
            kernel->self_calls = selves->items[self].tally.calls;
            kernel->self = selves->items[self].tally.total;
        }
    }
    qsort(kernels, layer->kernel_count, sizeof *kernels, compare_kernels);
    rows->kernels_used += layer->kernel_count;
}

static void fill_label(const struct rows *rows, uint32_t node, struct layer *layer)
{
    const struct layer_tree *tree = &rows->pass->tree;
    const struct layer_label *label = &tree->labels[tree->nodes[node].label];

    layer->domain = text_of(rows, label->domain);
    layer->name = text_of(rows, label->name);
    layer->mark = (enum trt_mark)label->mark;
    if (!layer->mark && has_work(layer->total) && !layer->total->counts[LAYER_KERNEL] &&
        !layer->total->counts[LAYER_GRAPH])
        layer->mark = TRT_COPY;
    layer->said = label->info ? &rows->pass->result->said[label->info - 1] : NULL;
}

static void fill_layer(struct rows *rows, uint32_t node)
{
    const struct layers_pass *pass = rows->pass;
    const struct layer_node *of = &pass->tree.nodes[node];
    struct layer *layer = &pass->result->layers[rows->rows[node]];
    uint64_t first = rows->first[node];

    *layer = (struct layer){
        .node = node,
        .parent = of->parent ? rows->rows[of->parent] : LAYER_NONE,
        .depth = node ? of->depth : 1,
        .instances = rows->counts[node],
        .calls = rows->first[node + 1] - first,
        .self = &pass->result->selves[node],
        .total = &rows->totals[node],
    };
    layer->device = statistics_of(rows->samples + first, layer->calls);
    if (node)
        fill_label(rows, node, layer);
    fill_kernels(rows, node, layer);
}

/* The texts of what TensorRT said, by info. */
static enum mp_status fill_said(const struct rows *rows)
{
    const struct layer_tree *tree = &rows->pass->tree;
    struct layer_said *said = calloc(tree->info_count + 1, sizeof *said);

    rows->pass->result->said = said;
    if (!said)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < tree->info_count; i++) {
        const struct layer_info *info = &tree->infos[i];

        said[i] = (struct layer_said){.type = text_of(rows, info->type),
                                      .precision = text_of(rows, info->precision),
                                      .tactic = text_of(rows, info->tactic),
                                      .dimensions = text_of(rows, info->dimensions),
                                      .input_dimensions = text_of(rows, info->input_dimensions)};
    }
    return MP_OK;
}

static enum mp_status find_shorts(struct rows *rows)
{
    struct layers_pass *pass = rows->pass;

    rows->shorts = calloc((size_t)pass->result->names.count + 1, sizeof *rows->shorts);
    if (!rows->shorts)
        return MP_ERR_MEMORY;
    return pass->options->style == NAMES_MANGLED ? MP_OK
                                                 : source_names_short(&pass->names, rows->shorts);
}

static enum mp_status make(struct rows *rows)
{
    struct layers_result *result = rows->pass->result;

    MP_TRY(hand_outwards(rows));
    MP_TRY(collect_samples(rows));
    MP_TRY(find_shorts(rows));
    MP_TRY(fill_said(rows));
    count_iterations(rows);
    MP_TRY(layers_choose(rows));
    list_children(rows);
    number_rows(rows);
    result->layers = calloc(rows->chosen_count + 1, sizeof *result->layers);
    result->by_total = calloc(rows->chosen_count + 1, sizeof *result->by_total);
    result->kernels = calloc(rows->all.count + 1, sizeof *result->kernels);
    if (!result->layers || !result->by_total || !result->kernels)
        return MP_ERR_MEMORY;
    result->count = rows->chosen_count;
    result->selves = rows->pass->works; /* theirs from now on */
    rows->pass->works = NULL;
    for (size_t i = 0; i < rows->chosen_count; i++) {
        result->by_total[i] = rows->rows[rows->chosen[i]];
        fill_layer(rows, rows->chosen[i]);
    }
    return MP_OK;
}

enum mp_status layers_make_rows(struct layers_pass *pass)
{
    size_t nodes = pass->tree.node_count;
    struct rows rows = {
        .pass = pass,
        .totals = calloc(nodes, sizeof *rows.totals),
        .counts = calloc(nodes, sizeof *rows.counts),
        .first = calloc(nodes + 1, sizeof *rows.first),
        .chosen = calloc(nodes, sizeof *rows.chosen),
        .child = calloc(nodes, sizeof *rows.child),
        .sibling = calloc(nodes, sizeof *rows.sibling),
        .rows = calloc(nodes, sizeof *rows.rows),
    };
    enum mp_status status = MP_ERR_MEMORY;

    pass->result->totals = rows.totals;
    if (rows.totals && rows.counts && rows.first && rows.chosen && rows.child && rows.sibling &&
        rows.rows)
        status = nvtx_sums_init(&rows.all, nodes);
    if (!status)
        status = make(&rows);
    nvtx_sums_free(&rows.all);
    free(rows.counts);
    free(rows.first);
    free(rows.samples);
    free(rows.shorts);
    free(rows.chosen);
    free(rows.child);
    free(rows.sibling);
    free(rows.rows);
    return status;
}
