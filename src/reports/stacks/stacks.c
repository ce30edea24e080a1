/* Loads the stacks and the event graph, and puts the parts together. A trace whose event graph is
 * not to be had still has device times by stack.
 */
#include "reports/stacks/stacks.h"

#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/identity.h"
#include "profile/stacks/where.h"
#include "reports/stacks/build.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- From weights to rows and nodes ----
 *
 * Frames that are alike are one row; a node is a row below another node.
 */

struct node_key {
    uint32_t parent, row;
};

struct tree {
    struct stacks_making *making;
    struct alike alike; /* numbers are rows + 1 */
    struct mp_intern places;
    uint32_t *of_stack; /* node + 1, by stack; 0: not made yet */
    uint32_t *seen;     /* by row: the last node + 1 whose stack had it */
};

/* ---- Rows ---- */

static enum mp_status number_of(struct tree *tree, const struct stack_frame *frame,
                                uint32_t *number)
{
    struct stack_code code = *call_stacks_code(&tree->making->result->stacks, frame);
    enum stacks_by by = tree->making->options->by;

    if (by == STACKS_BY_FILE)
        code.name = NULL;
    return alike_number(&tree->alike, frame->kind, &code, by == STACKS_BY_LINE ? frame->line : 0,
                        number);
}

static enum mp_status row_of(struct tree *tree, uint32_t stack, uint32_t *row)
{
    struct stacks_result *result = tree->making->result;
    const struct stack_frame *frame = call_stacks_frame(&result->stacks, stack);
    uint32_t number;

    MP_TRY(number_of(tree, frame, &number));
    *row = number - 1;
    if (*row < result->row_count)
        return MP_OK;
    MP_TRY(MP_RESERVE(result->rows, result->row_count, result->row_capacity));
    result->rows[result->row_count++] = (struct stacks_row){.frame = *frame};
    return MP_OK;
}

/* ---- Nodes ---- */

static enum mp_status add_node(struct tree *tree, uint32_t stack, uint32_t parent)
{
    struct stacks_result *result = tree->making->result;
    struct node_key key = {.parent = parent};

    MP_TRY(row_of(tree, stack, &key.row));
    uint32_t id = mp_intern_add(&tree->places, &key, sizeof key);
    if (!id)
        return MP_ERR_MEMORY;
    tree->of_stack[stack] = id;
    if (id <= result->node_count)
        return MP_OK;
    MP_TRY(MP_RESERVE(result->nodes, result->node_count, result->node_capacity));
    result->nodes[result->node_count++] = (struct stacks_node){
        .parent = parent,
        .row = key.row,
        .depth = parent ? result->nodes[parent - 1].depth + 1 : 1,
    };
    return MP_OK;
}

/* The node of a stack; those of its callers are made first. */
static enum mp_status node_of(struct tree *tree, uint32_t stack, uint32_t *node)
{
    const struct call_stacks *stacks = &tree->making->result->stacks;
    uint32_t chain[CALL_STACKS_DEPTH];
    uint32_t count = 0;
    uint32_t at = stack;

    for (; at && !tree->of_stack[at] && count < CALL_STACKS_DEPTH;
         at = call_stacks_caller(stacks, at))
        chain[count++] = at;
    for (uint32_t parent = at ? tree->of_stack[at] : 0; count--;
         parent = tree->of_stack[chain[count]])
        MP_TRY(add_node(tree, chain[count], parent));
    *node = tree->of_stack[stack] - 1;
    return MP_OK;
}

/* ---- Sums ---- */

static void add_totals(struct stacks_result *result)
{
    for (size_t i = 0; i < result->node_count; i++)
        stacks_add(&result->nodes[i].total, &result->nodes[i].self);
    for (size_t i = result->node_count; i-- > 0;)
        if (result->nodes[i].parent)
            stacks_add(&result->nodes[result->nodes[i].parent - 1].total, &result->nodes[i].total);
}

/* Each row counts once for a stack. */
static void add_to_rows(struct tree *tree, uint32_t node)
{
    struct stacks_result *result = tree->making->result;
    const struct stacks_weights *self = &result->nodes[node].self;

    stacks_add(&result->rows[result->nodes[node].row].self, self);
    for (uint32_t at = node + 1; at; at = result->nodes[at - 1].parent) {
        uint32_t row = result->nodes[at - 1].row;

        if (tree->seen[row] == node + 1)
            continue;
        tree->seen[row] = node + 1;
        stacks_add(&result->rows[row].total, self);
    }
}

static bool is_some(const struct stacks_weights *weights)
{
    return weights->device || weights->calls || weights->waiting || weights->critical ||
           weights->host || weights->sampled;
}

static enum mp_status grow(struct tree *tree)
{
    struct stacks_making *making = tree->making;
    uint32_t node;

    tree->of_stack = calloc(making->weight_count + 1, sizeof *tree->of_stack);
    if (!tree->of_stack)
        return MP_ERR_MEMORY;
    for (uint32_t stack = 1; stack < making->weight_count; stack++) {
        if (!is_some(&making->weights[stack]))
            continue;
        MP_TRY(node_of(tree, stack, &node));
        stacks_add(&making->result->nodes[node].self, &making->weights[stack]);
    }
    tree->seen = calloc(making->result->row_count + 1, sizeof *tree->seen);
    if (!tree->seen)
        return MP_ERR_MEMORY;
    for (uint32_t i = 0; i < making->result->node_count; i++)
        if (is_some(&making->result->nodes[i].self))
            add_to_rows(tree, i);
    add_totals(making->result);
    return MP_OK;
}

/* ---- Order ---- */

/* Time of the GPU and sampled time of the CPU count alike: a function that only computes would else
 * stand below all that launch anything. */
static int by_weight(const struct stacks_weights *a, const struct stacks_weights *b)
{
    uint64_t time_a = a->device + a->sampled;
    uint64_t time_b = b->device + b->sampled;

    if (time_a != time_b)
        return time_a < time_b ? 1 : -1;
    if (a->waiting != b->waiting)
        return a->waiting < b->waiting ? 1 : -1;
    return a->calls == b->calls ? 0 : a->calls < b->calls ? 1 : -1;
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct stacks_row *rows = ((const struct stacks_result *)context)->rows;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    int order = by_weight(&rows[x].total, &rows[y].total);

    return order ? order : x < y ? -1 : x > y;
}

/* Of two nodes: below the node that both are in, whose branch has more. */
static int compare_nodes(const void *a, const void *b, void *context)
{
    const struct stacks_node *nodes = ((const struct stacks_result *)context)->nodes;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    uint32_t deep = nodes[x].depth;
    uint32_t other = nodes[y].depth;

    for (; nodes[x].depth > other;)
        x = nodes[x].parent - 1;
    for (; nodes[y].depth > deep;)
        y = nodes[y].parent - 1;
    if (x == y)
        return deep < other ? -1 : deep > other;
    for (; nodes[x].parent != nodes[y].parent; y = nodes[y].parent - 1)
        x = nodes[x].parent - 1;
    int order = by_weight(&nodes[x].total, &nodes[y].total);
    return order ? order : x < y ? -1 : 1;
}

static uint32_t *numbers(size_t count)
{
    uint32_t *list = calloc(count + 1, sizeof *list);

    if (!list)
        return NULL;
    for (size_t i = 0; i < count; i++)
        list[i] = (uint32_t)i;
    return list;
}

static enum mp_status put_in_order(struct stacks_result *result)
{
    result->by_total = numbers(result->row_count);
    result->in_order = numbers(result->node_count);
    if (!result->by_total || !result->in_order)
        return MP_ERR_MEMORY;
    qsort_r(result->by_total, result->row_count, sizeof *result->by_total, compare_rows, result);
    qsort_r(result->in_order, result->node_count, sizeof *result->in_order, compare_nodes, result);
    return MP_OK;
}

/* ---- As many as somebody holds ---- */

static double share(uint64_t part, uint64_t of, double min)
{
    double is = of ? (double)part / (double)of : 0;

    return is > min ? is : min;
}

static double max_share(const struct stacks_result *result, uint32_t node)
{
    const struct stacks_weights *of = &result->all;
    const struct stacks_weights *is = &result->nodes[node].total;
    double max = share(is->device, of->device, share(is->calls, of->calls, 0));

    max = share(is->launches, of->launches, share(is->waiting, of->waiting, max));
    max = share(is->critical, of->critical, share(is->host, of->host, max));
    return share(is->sampled, of->sampled, max);
}

/* Of equal ones the earlier node, which is not inside of the other. */
static int compare_shares(const void *a, const void *b, void *context)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    double share_x = max_share(context, x);
    double share_y = max_share(context, y);

    return share_x != share_y ? (share_x < share_y ? 1 : -1) : x < y ? -1 : x > y;
}

enum mp_status stacks_keep_nodes(struct stacks_result *result, size_t max)
{
    bool *kept;
    size_t count = 0;

    if (result->node_count <= max)
        return MP_OK;
    uint32_t *by_share = numbers(result->node_count);
    kept = calloc(result->node_count, sizeof *kept);
    if (by_share && kept) {
        qsort_r(by_share, result->node_count, sizeof *by_share, compare_shares, result);
        for (size_t i = 0; i < max; i++)
            kept[by_share[i]] = true;
        for (size_t i = 0; i < result->node_count; i++)
            if (kept[result->in_order[i]])
                result->in_order[count++] = result->in_order[i];
        result->node_count = count;
    }
    free(kept);
    free(by_share);
    return count ? MP_OK : MP_ERR_MEMORY;
}

static enum mp_status make_rows(struct stacks_making *making)
{
    struct tree tree = {.making = making};
    struct stacks_result *result = making->result;
    enum mp_status status = grow(&tree);

    result->without = making->weights[0];
    for (size_t i = 0; i < making->weight_count; i++)
        stacks_add(&result->all, &making->weights[i]);
    if (!status)
        status = put_in_order(result);
    alike_free(&tree.alike);
    mp_intern_free(&tree.places);
    free(tree.of_stack);
    free(tree.seen);
    return status;
}

/* ---- Samples ---- */

static void weigh_samples(struct stacks_making *making)
{
    struct stacks_result *result = making->result;

    result->sample_count = making->samples.count;
    for (size_t i = 0; i < making->samples.count; i++) {
        const struct host_sample *sample = &making->samples.items[i];

        if (making->range && !range_has_call(making->range, sample->time))
            continue;
        stacks_weights_of(making, sample->stack)->sampled += sample->computing;
        if (sample->gil == MP_gil_held)
            result->gil_held += sample->computing;
    }
}

/* ---- The whole ---- */

static enum mp_status weigh(struct stacks_making *making, struct mp_trace *trace,
                            struct mp_error *error)
{
    struct stacks_result *result = making->result;
    const struct deps_options options = {.style = NAMES_MANGLED};
    struct deps deps;

    making->weight_count = result->stacks.links.count + 1;
    making->weights = calloc(making->weight_count, sizeof *making->weights);
    if (!making->weights)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    enum mp_status status = deps_load(trace, &options, &deps, error);
    if (status && status != MP_ERR_LIMIT)
        return status;
    result->has_times = !status && !quality_gap(&deps.quality);
    making->deps = status ? NULL : &deps;
    status = host_samples_load(&making->samples, trace, error);
    if (!status)
        weigh_samples(making);
    if (!status)
        status = stacks_weigh(making, trace, error);
    if (making->deps)
        deps_free(&deps);
    making->deps = NULL;
    if (!status && make_rows(making))
        status = MP_ERR_MEMORY;
    return status == MP_ERR_MEMORY ? mp_error_set(error, status, "out of memory") : status;
}

static enum mp_status build(struct stacks_making *making, struct mp_trace *trace,
                            struct mp_error *error)
{
    struct stacks_result *result = making->result;

    MP_TRY(call_stacks_load(&result->stacks, trace, error));
    result->has_stacks = call_stacks_has_any(&result->stacks);
    return weigh(making, trace, error);
}

enum mp_status stacks_build(struct mp_trace *trace, const struct stacks_options *options,
                            struct stacks_result *result, struct mp_error *error)
{
    struct stacks_making making = {.result = result, .options = options};
    struct capture_ranges ranges;

    *result = (struct stacks_result){.asked = call_stacks_asked(trace), .every = 1};
    property_number(trace, "MINIPROF_STACKS_EVERY", UINT32_MAX, &result->every);
    property_number(trace, "MINIPROF_STACKS_OVER", UINT32_MAX, &result->over);
    definitions_init(&result->definitions, trace);
    quality_init(&result->quality, trace);
    result->quality.only = options->range;
    enum mp_status status = ranges_open(&ranges, trace, options->range, &making.range, error);
    result->capture_ranges = ranges_count(&ranges);
    if (!status)
        status = build(&making, trace, error);
    ranges_free(&ranges);
    host_samples_free(&making.samples);
    free(making.weights);
    free(making.critical);
    mp_map_free(&making.of_nodes);
    if (status)
        stacks_free(result);
    return status;
}

void stacks_free(struct stacks_result *result)
{
    call_stacks_free(&result->stacks);
    quality_free(&result->quality);
    definitions_free(&result->definitions);
    free(result->rows);
    free(result->by_total);
    free(result->nodes);
    free(result->in_order);
    *result = (struct stacks_result){.row_count = 0};
}

double stacks_percent(const struct stacks_result *result, uint64_t device)
{
    return result->all.device ? 100.0 * (double)device / (double)result->all.device : 0;
}

void stacks_put_row(struct mp_buffer *text, const struct stacks_result *result,
                    const struct stacks_options *options, const struct stacks_row *row, bool whole)
{
    struct stack_frame frame = row->frame;

    if (options->by != STACKS_BY_LINE)
        frame.line = 0;
    if (options->by == STACKS_BY_FILE)
        call_stacks_put_place(text, &result->stacks, &frame, whole);
    else
        call_stacks_put_frame(text, &result->stacks, &frame, whole);
}
