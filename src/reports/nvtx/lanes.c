/* Puts NVTX ranges into lanes in which they only nest. Start/end ranges may overlap in part; those
 * go into a further lane of their thread.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "reports/nvtx/result.h"
#include "reports/nvtx/spans.h"

#include "base/poison.h"

/* ---- Which lane ---- */

struct sweep {
    struct nvtx_spans *spans;
    struct nvtx_instance *instances;
    size_t count;
    uint32_t *order; /* of instances: by thread, then by begin, the longer first */
    uint32_t *below; /* by instance: the one around it in its lane */
    uint32_t *tops;  /* by lane: the innermost instance that may be open */
    size_t top_capacity;
};

static uint32_t lanes_thread_of(const struct sweep *sweep, uint32_t instance)
{
    return sweep->spans->kinds[sweep->instances[instance].kind].thread;
}

static bool lanes_is_before(const void *context, uint32_t a, uint32_t b)
{
    const struct sweep *sweep = context;
    const struct nvtx_instance *one = &sweep->instances[a];
    const struct nvtx_instance *other = &sweep->instances[b];
    uint32_t thread = lanes_thread_of(sweep, a);
    uint32_t other_thread = lanes_thread_of(sweep, b);

    if (thread != other_thread)
        return thread < other_thread;
    if (one->begin != other->begin)
        return one->begin < other->begin;
    return one->end > other->end;
}

/* Whether the lane can take the instance: inside its innermost one that is still open. */
static bool fits(struct sweep *sweep, uint32_t lane, const struct nvtx_instance *instance)
{
    uint32_t top = sweep->tops[lane];

    while (top != NVTX_NONE && sweep->instances[top].end <= instance->begin)
        top = sweep->below[top];
    sweep->tops[lane] = top;
    return top == NVTX_NONE || sweep->instances[top].end >= instance->end;
}

static enum mp_status add_lane(struct sweep *sweep, struct nvtx_thread *thread)
{
    struct nvtx_spans *spans = sweep->spans;

    MP_TRY(MP_RESERVE(spans->lanes, spans->lane_count, spans->lane_capacity));
    MP_TRY(MP_RESERVE(sweep->tops, spans->lane_count, sweep->top_capacity));
    if (!thread->lane_count)
        thread->first_lane = (uint32_t)spans->lane_count;
    thread->lane_count++;
    sweep->tops[spans->lane_count] = NVTX_NONE;
    spans->lanes[spans->lane_count++] = (struct nvtx_lane){.count = 0};
    return MP_OK;
}

/* The first lane of the thread that fits. Time grows with the ranges that overlap in part. */
static enum mp_status choose_lane(struct sweep *sweep, uint32_t index)
{
    struct nvtx_instance *instance = &sweep->instances[index];
    struct nvtx_thread *thread = &sweep->spans->threads[lanes_thread_of(sweep, index)];
    uint32_t lane = thread->first_lane;

    while (lane < thread->first_lane + thread->lane_count && !fits(sweep, lane, instance))
        lane++;
    if (lane == thread->first_lane + thread->lane_count) {
        MP_TRY(add_lane(sweep, thread));
        lane = thread->first_lane + thread->lane_count - 1;
    }
    sweep->below[index] = sweep->tops[lane];
    sweep->tops[lane] = index;
    sweep->spans->lanes[lane].count++;
    instance->lane = lane;
    return MP_OK;
}

/* ---- Spans and nodes ---- */

/* Nodes of different lanes are separate, so that overlapping ranges of one name each count. */
static enum mp_status reach_node(struct nvtx_spans *spans, struct mp_map *known, uint32_t lane,
                                 uint32_t parent, uint32_t kind, uint32_t *node)
{
    static const uint32_t outermost = 1u << 31; /* there are fewer ranges, so fewer nodes too */
    uint64_t around = parent == NVTX_NONE ? outermost | lane : parent;
    uint64_t key = around << 32 | kind;

    *node = mp_map_get(known, key);
    if (*node != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(MP_RESERVE(spans->nodes, spans->node_count, spans->node_capacity));
    *node = (uint32_t)spans->node_count++;
    spans->nodes[*node] = (struct nvtx_node){parent, kind};
    return mp_map_put(known, key, *node);
}

/* Appends an instance to its lane. */
static enum mp_status add_span(struct nvtx_spans *spans, struct mp_map *known,
                               const struct nvtx_instance *instance)
{
    struct nvtx_lane *lane = &spans->lanes[instance->lane];
    uint32_t index = lane->first + lane->count;
    uint32_t parent = lane->count ? index - 1 : NVTX_NONE;
    struct nvtx_span span = {
        .begin = instance->begin, .end = instance->end, .across = instance->across};

    while (parent != NVTX_NONE && spans->spans[parent].end <= span.begin)
        parent = spans->spans[parent].parent;
    span.parent = parent;
    MP_TRY(reach_node(spans, known, instance->lane,
                      parent == NVTX_NONE ? NVTX_NONE : spans->spans[parent].node, instance->kind,
                      &span.node));
    spans->spans[index] = span;
    lane->count++;
    return MP_OK;
}

static enum mp_status fill_lanes(struct sweep *sweep)
{
    struct nvtx_spans *spans = sweep->spans;
    struct mp_map known = {.slots = NULL};
    uint32_t first = 0;
    enum mp_status status = MP_OK;

    spans->spans = reallocarray(NULL, sweep->count, sizeof *spans->spans);
    if (!spans->spans)
        return MP_ERR_MEMORY;
    spans->span_count = sweep->count;
    for (size_t i = 0; i < spans->lane_count; i++) {
        uint32_t count = spans->lanes[i].count;
        spans->lanes[i] = (struct nvtx_lane){.first = first, .last_found = first};
        first += count;
    }
    for (size_t i = 0; i < sweep->count && !status; i++)
        status = add_span(spans, &known, &sweep->instances[sweep->order[i]]);
    mp_map_free(&known);
    return status;
}

enum mp_status nvtx_lanes_build(struct nvtx_spans *spans, struct nvtx_instance *instances,
                                size_t count)
{
    struct sweep sweep = {.spans = spans, .instances = instances, .count = count};
    enum mp_status status = MP_ERR_MEMORY;

    if (!count)
        return MP_OK;
    sweep.order = reallocarray(NULL, count, sizeof *sweep.order);
    sweep.below = reallocarray(NULL, count, sizeof *sweep.below);
    if (sweep.order && sweep.below) {
        for (size_t i = 0; i < count; i++)
            sweep.order[i] = (uint32_t)i;
        mp_sort(sweep.order, count, sweep.below, lanes_is_before, &sweep);
        status = MP_OK;
        for (size_t i = 0; i < count && !status; i++)
            status = choose_lane(&sweep, sweep.order[i]);
        if (!status)
            status = fill_lanes(&sweep);
    }
    free(sweep.order);
    free(sweep.below);
    free(sweep.tops);
    return status;
}

/* ---- Finding ---- */

/* The last span of the lane that begins at or before `time`; NVTX_NONE: none does. */
static uint32_t last_begun(const struct nvtx_spans *spans, const struct nvtx_lane *lane,
                           uint64_t time)
{
    static const uint32_t steps = 16;
    uint32_t low = lane->first; /* all before it begin in time */
    uint32_t high = lane->first + lane->count;

    if (spans->spans[lane->last_found].begin <= time) {
        low = lane->last_found + 1;
        for (uint32_t i = 0; i < steps && low < high; i++, low++) {
            if (spans->spans[low].begin > time)
                return low - 1;
        }
    }
    low = (uint32_t)MP_SEARCH(low, high, i, spans->spans[i].begin <= time);
    return low == lane->first ? NVTX_NONE : low - 1;
}

uint32_t nvtx_spans_find(struct nvtx_spans *spans, struct nvtx_lane *lane, uint64_t begin,
                         uint64_t end)
{
    uint32_t span = last_begun(spans, lane, begin);

    if (span == NVTX_NONE)
        return NVTX_NONE;
    lane->last_found = span;
    while (span != NVTX_NONE && spans->spans[span].end < end)
        span = spans->spans[span].parent;
    return span == NVTX_NONE ? NVTX_NONE : spans->spans[span].node;
}

/* ---- Ranges in tables ---- */

int nvtx_key_compare(struct nvtx_key left, struct nvtx_key right)
{
    if (left.thread != right.thread)
        return left.thread < right.thread ? -1 : 1;
    if (!left.domain != !right.domain)
        return left.domain ? -1 : 1;
    int domains = left.domain ? strcmp(left.domain, right.domain) : 0;
    return domains ? domains : strcmp(left.name, right.name);
}
