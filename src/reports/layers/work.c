/* The pass over the work, in order of time. Each piece of work finds its launching call, by the
 * call its instance, and in a graph the captured path. */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/merge.h"
#include "reports/layers/build.h"
#include "trace/schema.h"

#include "base/poison.h"

static const enum activity_kind kinds[LAYER_KINDS] = {
    [LAYER_KERNEL] = ACTIVITY_KERNEL,
    [LAYER_COPY] = ACTIVITY_COPY,
    [LAYER_SET] = ACTIVITY_SET,
    [LAYER_GRAPH] = ACTIVITY_GRAPH,
};

/* A row of one of the tables. */
struct activity {
    unsigned kind;
    uint64_t id;
    uint64_t stream;
    uint64_t start;
    uint64_t duration;
    uint64_t calls; /* that it stands for */
    uint64_t correlation;
    uint64_t graph_node;
    /* Where it belongs: */
    size_t call; /* position; calls.count: it has none */
    uint32_t instance;
    uint32_t launch; /* as in struct layer_piece */
    uint32_t node;
};

/* ---- Nodes ---- */

/* Makes room for the sums of nodes up to the newest one. */
static enum mp_status reach_nodes(struct layers_pass *pass)
{
    size_t nodes = pass->tree.node_count;

    while (pass->work_count < nodes) {
        MP_TRY(MP_RESERVE(pass->works, pass->work_count, pass->work_capacity));
        pass->works[pass->work_count++] = (struct layer_work){.device = 0};
    }
    return nvtx_sums_reach(&pass->sums, nodes);
}

static bool is_wanted_domain(const struct layers_pass *pass, const struct captured_path *path)
{
    const char *domain = pass->options->domain;

    return !domain || !strcmp(domain, path->domain ? path->domain : "");
}

/* The labels of a captured path, outermost first, into `labels`; their number. */
static enum mp_status list_labels(struct layers_pass *pass, uint32_t id, uint32_t *labels,
                                  uint32_t *count)
{
    const struct captured_path *path = captured_path(&pass->captured, id);
    uint32_t used = 0;

    for (; path && used < CAPTURED_MAX_DEPTH; path = captured_path(&pass->captured, path->parent)) {
        if (is_wanted_domain(pass, path))
            MP_TRY(layer_tree_label(&pass->tree, path->domain, path->name, &labels[used++]));
    }
    for (uint32_t i = 0; i < used / 2; i++) {
        uint32_t kept = labels[i];
        labels[i] = labels[used - 1 - i];
        labels[used - 1 - i] = kept;
    }
    *count = used;
    return MP_OK;
}

/* The node of a captured path under the node that launched. */
static enum mp_status make_place(struct layers_pass *pass, uint32_t launch, uint32_t path,
                                 uint32_t *node)
{
    uint32_t labels[CAPTURED_MAX_DEPTH];
    uint32_t count, first = 0;

    MP_TRY(list_labels(pass, path, labels, &count));
    while (launch && first < count && labels[first] != pass->tree.nodes[launch].label)
        first++;
    first = launch && first < count ? first + 1 : 0;
    *node = launch;
    for (; first < count; first++)
        MP_TRY(layer_tree_child(&pass->tree, *node, labels[first], node));
    return reach_nodes(pass);
}

static enum mp_status place_of(struct layers_pass *pass, uint32_t launch, uint32_t path,
                               uint32_t *node)
{
    uint64_t key = (uint64_t)launch << 32 | path;

    *node = mp_map_get(&pass->places, key);
    if (*node != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(make_place(pass, launch, path, node));
    return mp_map_put(&pass->places, key, *node);
}

/* ---- Where an activity belongs ---- */

/* Launches whose calls are not in the trace are told apart by their correlation ids. */
static enum mp_status number_launch(struct layers_pass *pass, struct activity *activity)
{
    if (activity->call < pass->calls.count) {
        activity->launch = (uint32_t)activity->call;
        return MP_OK;
    }
    uint32_t number = mp_map_get(&pass->lost_launches, activity->correlation);
    if (number == MP_MAP_ABSENT) {
        number = pass->lost_launches.count;
        if (pass->calls.count + number >= LAYER_NONE - 1)
            return MP_ERR_LIMIT;
        MP_TRY(mp_map_put(&pass->lost_launches, activity->correlation, number));
    }
    activity->launch = (uint32_t)pass->calls.count + number;
    return MP_OK;
}

static enum mp_status locate(struct layers_pass *pass, struct activity *activity)
{
    const struct captured_node *captured = captured_find(&pass->captured, activity->graph_node);

    activity->call = activity->correlation
                         ? nvtx_calls_position(&pass->calls, activity->correlation)
                         : pass->calls.count;
    if (activity->call < pass->calls.count)
        activity->instance = nvtx_calls_at(&pass->calls, activity->call)->node;
    activity->node = pass->tree.instances[activity->instance].node;
    if (!captured)
        return MP_OK;
    MP_TRY(number_launch(pass, activity));
    return place_of(pass, activity->node, captured->path, &activity->node);
}

static bool is_captured(const struct layers_pass *pass, uint32_t instance, uint32_t node)
{
    return pass->tree.instances[instance].node != node;
}

/* ---- Gaps ---- */

static void leave_node(struct layers_pass *pass, uint32_t node, uint64_t gap)
{
    pass->works[node].gaps++;
    pass->works[node].gap_time += gap;
}

/* Adds gaps to the layers that the stream leaves between two activities: those around the first one
 * but not around the second. Parents have smaller numbers than their children. */
static void add_gaps(struct layers_pass *pass, const struct layer_lane *lane,
                     const struct activity *activity)
{
    const struct layer_instance *instances = pass->tree.instances;
    const struct layer_node *nodes = pass->tree.nodes;
    uint64_t gap = activity->start > lane->end ? activity->start - lane->end : 0;
    bool same_launch = lane->instance == activity->instance && lane->launch == activity->launch;
    bool both = is_captured(pass, activity->instance, activity->node);
    uint32_t from = lane->node;
    uint32_t to = same_launch && both ? activity->node : instances[lane->instance].node;

    while (from != to) {
        if (from > to) {
            leave_node(pass, from, gap);
            from = nodes[from].parent;
        } else {
            to = nodes[to].parent;
        }
    }
    from = lane->instance;
    to = activity->instance;
    while (from != to) {
        if (from > to) {
            leave_node(pass, instances[from].node, gap);
            from = instances[from].parent;
        } else {
            to = instances[to].parent;
        }
    }
}

static enum mp_status pass_lane(struct layers_pass *pass, const struct activity *activity)
{
    uint64_t end = activity->start + activity->duration;
    enum mp_status status = dense_reach(&pass->lanes, activity->stream);

    if (status)
        return status == MP_ERR_LIMIT ? MP_OK : status;
    struct layer_lane *lane = dense_at(&pass->lanes, activity->stream);
    if (lane->end)
        add_gaps(pass, lane, activity);
    if (end < lane->end)
        end = lane->end; /* branches of a graph overlap in a stream */
    *lane = (struct layer_lane){end, activity->instance, activity->launch, activity->node};
    return MP_OK;
}

/* ---- Sums ---- */

/* The first call with the id counts as the launch; calls inside it belong to it. */
static void add_launch(struct layers_pass *pass, const struct activity *activity)
{
    uint32_t node = pass->tree.instances[activity->instance].node;

    if (activity->call == pass->calls.count)
        return;
    struct nvtx_call *call = nvtx_calls_at(&pass->calls, activity->call);
    if (call->launched || (pass->tree.iteration && !pass->tree.nodes[node].inside))
        return;
    call->launched = true;
    pass->works[node].launches++;
    pass->works[node].launch_time += call->duration;
}

static enum mp_status add_piece(struct layers_pass *pass, const struct activity *activity)
{
    struct layer_piece *last = pass->piece_count ? &pass->pieces[pass->piece_count - 1] : NULL;

    if (last && last->launch == activity->launch && last->node == activity->node) {
        last->device += activity->duration;
        return MP_OK;
    }
    if (pass->piece_count >= LAYER_MAX)
        return MP_ERR_LIMIT;
    MP_TRY(
        mp_reserve((void **)&pass->pieces, pass->piece_count, &pass->piece_capacity, sizeof *last));
    pass->pieces[pass->piece_count++] = (struct layer_piece){
        .device = activity->duration,
        .launch = activity->launch,
        .node = activity->node,
        .instance = activity->instance,
    };
    return MP_OK;
}

static enum mp_status add_work(struct layers_pass *pass, const struct activity *activity)
{
    uint64_t duration = activity->duration;
    struct tally tally = tally_of(duration, activity->calls);
    struct layer_work *work = &pass->works[activity->node];
    struct layer_instance *instance = &pass->tree.instances[activity->instance];
    uint32_t name;

    work->counts[activity->kind] += activity->calls;
    work->device += duration;
    pass->result->device += duration;
    pass->result->activities++;
    pass->result->unlaunched += activity->call == pass->calls.count;
    add_launch(pass, activity);
    MP_TRY(source_names_find(&pass->names, kinds[activity->kind], activity->id, &name));
    MP_TRY(nvtx_sums_add(&pass->sums, activity->node, nvtx_sum_name(name, SUMMARY_GPU), &tally));
    if (is_captured(pass, activity->instance, activity->node))
        return add_piece(pass, activity);
    instance->device += duration;
    instance->worked = 1;
    return MP_OK;
}

/* ---- Captured layers: from pieces to instances ---- */

static bool piece_before(const void *context, uint32_t a, uint32_t b)
{
    const struct layer_piece *pieces = context;

    if (pieces[a].launch != pieces[b].launch)
        return pieces[a].launch < pieces[b].launch;
    return pieces[a].node < pieces[b].node;
}

/* The instance of a node in the present launch. */
struct met {
    uint32_t launch; /* plus 1 */
    uint32_t instance;
};

/* The instance of a captured node in a launch. Also makes the instances around it, up to the node
 * that launched. */
static enum mp_status reach_instance(struct layers_pass *pass, struct met *met,
                                     const struct layer_piece *piece, uint32_t *instance)
{
    uint32_t chain[LAYER_MAX_DEPTH];
    uint32_t outer = pass->tree.instances[piece->instance].node;
    uint32_t node = piece->node;
    unsigned count = 0;

    *instance = piece->instance;
    for (; node != outer && count < LAYER_MAX_DEPTH; node = pass->tree.nodes[node].parent) {
        if (met[node].launch == piece->launch + 1) {
            *instance = met[node].instance;
            break;
        }
        chain[count++] = node;
    }
    while (count-- > 0) {
        MP_TRY(layer_tree_instance(&pass->tree, *instance, chain[count], false, instance));
        met[chain[count]] = (struct met){piece->launch + 1, *instance};
    }
    return MP_OK;
}

static enum mp_status place_pieces(struct layers_pass *pass, const uint32_t *order, struct met *met)
{
    for (size_t i = 0; i < pass->piece_count; i++) {
        const struct layer_piece *piece = &pass->pieces[order[i]];
        uint32_t instance;

        MP_TRY(reach_instance(pass, met, piece, &instance));
        pass->tree.instances[instance].device += piece->device;
        pass->tree.instances[instance].worked = 1;
    }
    return MP_OK;
}

static enum mp_status add_captured_instances(struct layers_pass *pass)
{
    uint32_t *order, *scratch;
    struct met *met;
    enum mp_status status = MP_ERR_MEMORY;

    if (!pass->piece_count)
        return MP_OK;
    order = reallocarray(NULL, pass->piece_count, sizeof *order);
    scratch = reallocarray(NULL, pass->piece_count, sizeof *scratch);
    met = calloc(pass->tree.node_count, sizeof *met);
    if (order && scratch && met) {
        for (size_t i = 0; i < pass->piece_count; i++)
            order[i] = (uint32_t)i;
        mp_sort(order, pass->piece_count, scratch, piece_before, pass->pieces);
        status = place_pieces(pass, order, met);
    }
    free(order);
    free(scratch);
    free(met);
    free(pass->pieces);
    pass->pieces = NULL;
    pass->piece_count = pass->piece_capacity = 0;
    return status;
}

/* ---- The pass ---- */

/* Whether the times can be used. Times that cannot are counted. */
static bool times_are_good(struct quality *quality, const struct activity *activity)
{
    if (activity->start <= INT64_MAX && activity->duration <= INT64_MAX - activity->start)
        return true;
    quality->reversed_times++;
    return false;
}

static enum mp_status hand_on(struct layers_pass *pass, const struct activity *activity)
{
    const struct layer_activity handed = {.start = activity->start,
                                          .duration = activity->duration,
                                          .correlation = activity->correlation,
                                          .stream = activity->stream,
                                          .node = activity->node};

    return pass->options->each ? pass->options->each(pass->options->context, &pass->tree, &handed)
                               : MP_OK;
}

static enum mp_status work_take_row(struct layers_pass *pass, const struct merge_row *row)
{
    const struct activity_table *source = &activity_tables[kinds[row->table]];
    struct activity activity = {
        .kind = row->table,
        .id = activity_value(row->columns, source->id, row->row),
        .stream = activity_value(row->columns, source->stream, row->row),
        .start = row->time,
        .duration = activity_value(row->columns, source->duration, row->row),
        .calls = activity_calls(source, row->columns, row->row),
        .correlation = activity_value(row->columns, source->correlation, row->row),
        .graph_node = activity_value(row->columns, source->node, row->row),
        .launch = LAYER_NONE,
    };

    if ((pass->range && !range_has_work(pass->range, activity.correlation, activity.start)) ||
        !layers_are_inside(pass->options->found, activity.correlation))
        return MP_OK;
    if (!times_are_good(&pass->result->quality, &activity))
        return MP_OK;
    MP_TRY(locate(pass, &activity));
    if (pass->tree.iteration && !pass->tree.nodes[activity.node].inside)
        return MP_OK;
    MP_TRY(pass_lane(pass, &activity));
    MP_TRY(hand_on(pass, &activity));
    return add_work(pass, &activity);
}

static enum mp_status open_merge(struct layers_pass *pass, struct merge **merge,
                                 struct mp_error *error)
{
    struct merge_table tables[LAYER_KINDS];

    for (size_t i = 0; i < LAYER_KINDS; i++) {
        const struct activity_table *source = &activity_tables[kinds[i]];

        tables[i] = merge_activities(
            source, activity_mask(source->id) | activity_mask(source->duration) |
                        activity_mask(source->correlation) | activity_mask(source->stream) |
                        activity_mask(source->calls) | activity_mask(source->node));
    }
    return merge_open(pass->result->profile->trace, tables, LAYER_KINDS, merge, error);
}

enum mp_status layers_read_work(struct layers_pass *pass, struct mp_error *error)
{
    struct quality *quality = &pass->result->quality;
    struct merge *merge;
    struct merge_row row;

    dense_init(&pass->lanes, sizeof(struct layer_lane),
               definitions_limit(pass->result->profile->trace));
    MP_TRY(open_merge(pass, &merge, error));
    enum mp_status status = reach_nodes(pass);
    while (!status && (status = merge_next(merge, &row)) == MP_OK)
        status = work_take_row(pass, &row);
    quality->unknown_times += merge_unknown_times(merge);
    merge_add_damage(merge, &pass->damage);
    merge_close(merge);
    if (status == MP_END)
        status = add_captured_instances(pass);
    return mp_error_from(error, status, "cannot read the work");
}
