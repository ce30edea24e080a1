/* One pass over kernels, copies and sets. They are added up for each thread and captured path, and
 * then for every range on the path. */

#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/activity.h"
#include "profile/common/source_names.h"
#include "profile/nvtx/captured.h"
#include "profile/reading.h"
#include "reports/nvtx/calls.h"
#include "reports/nvtx/result.h"
#include "trace/schema.h"

#include "base/poison.h"

/* The work of a path in a thread. */
struct place {
    uint64_t thread;
    uint32_t path;
    uint32_t zero;
};
_Static_assert(sizeof(struct place) == 16, "no padding: compared as bytes");

/* A range by what it is called. */
struct kind {
    uint64_t thread;
    uint32_t domain; /* of names; 0: the default one */
    uint32_t name;
};
_Static_assert(sizeof(struct kind) == 16, "no padding: compared as bytes");

struct pass {
    const struct nvtx_options *options;
    const struct capture_range *range;
    struct nvtx_result *result;
    struct captured captured;
    struct mp_intern places; /* ids from 1 */
    struct mp_intern kinds;
    struct nvtx_sums place_sums;
    struct nvtx_sums kind_sums;
    uint32_t *nodes;         /* by place: how many different nodes ran; owned */
    uint32_t *place_of_node; /* by position of a captured node, plus 1; 0: it has not run; owned */
    struct source_names names;
};

/* ---- Work ---- */

/* Room was made for one place for each captured node, so there is always a free one. */
static enum mp_status place_of(struct pass *pass, const struct captured_node *node, uint32_t *id)
{
    size_t position = (size_t)(node - pass->captured.items);
    struct place place = {.thread = node->thread, .path = node->path};

    *id = pass->place_of_node[position];
    if (*id)
        return MP_OK;
    *id = mp_intern_add(&pass->places, &place, sizeof place);
    if (!*id)
        return MP_ERR_MEMORY;
    pass->place_of_node[position] = *id;
    pass->nodes[*id - 1]++;
    return MP_OK;
}

static bool captured_is_wanted(struct pass *pass, uint64_t correlation, uint64_t start,
                               uint64_t duration)
{
    /* Work with bad times is already counted where the launching ranges are. */
    return start && start <= INT64_MAX && duration <= INT64_MAX - start &&
           (!pass->range || range_has_work(pass->range, correlation, start));
}

static enum mp_status captured_take_work(void *context, const struct mp_batch *batch)
{
    const struct activity_table *source = activity_of(batch->table->id);
    const enum activity_kind index = (enum activity_kind)(source - activity_tables);
    struct pass *pass = context;

    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t duration = activity_value(batch->columns, source->duration, row);
        struct tally tally = tally_of(duration, activity_calls(source, batch->columns, row));
        const struct captured_node *node =
            captured_find(&pass->captured, activity_value(batch->columns, source->node, row));
        uint32_t name, place;

        if (!node ||
            !captured_is_wanted(pass, activity_value(batch->columns, source->correlation, row),
                                activity_value(batch->columns, source->start, row), duration))
            continue;
        MP_TRY(place_of(pass, node, &place));
        MP_TRY(source_names_find(&pass->names, index,
                                 activity_value(batch->columns, source->id, row), &name));
        MP_TRY(
            nvtx_sums_add(&pass->place_sums, place - 1, nvtx_sum_name(name, SUMMARY_GPU), &tally));
    }
    return MP_OK;
}

static const struct reading_table tables[] = {
    {MP_TABLE_kernel, MP_MASK(kernel, shape, start, duration, correlation, node),
     .take = captured_take_work},
    {MP_TABLE_copy, MP_MASK(copy, kind, start, duration, correlation, node, count),
     .take = captured_take_work},
    {MP_TABLE_set, MP_MASK(set, memory, start, duration, correlation, node),
     .take = captured_take_work},
};

static enum mp_status read_work(struct pass *pass, struct mp_error *error)
{
    const struct reading reading = {
        .trace = pass->result->profile->trace,
        .what = "the work of CUDA graphs",
        .context = pass,
        READING_TABLES(tables),
    };

    return reading_run(&reading, error);
}

/* ---- From paths to ranges ---- */

static enum mp_status captured_kind_of(struct pass *pass, uint64_t thread,
                                       const struct captured_path *path, uint32_t *id)
{
    struct mp_intern *names = &pass->result->names;
    struct kind kind = {
        .thread = thread,
        .domain = path->domain ? mp_intern_add(names, path->domain, strlen(path->domain)) : 0,
        .name = mp_intern_add(names, path->name, strlen(path->name)),
    };

    *id = kind.name && (!path->domain || kind.domain)
              ? mp_intern_add(&pass->kinds, &kind, sizeof kind)
              : 0;
    return *id ? MP_OK : MP_ERR_MEMORY;
}

/* The kinds on the way from a path to its outermost range, each once. */
static enum mp_status list_kinds(struct pass *pass, const struct place *place, uint32_t *list,
                                 uint32_t *count)
{
    const struct captured_path *path = captured_path(&pass->captured, place->path);

    *count = 0;
    for (; path && *count < CAPTURED_MAX_DEPTH;
         path = captured_path(&pass->captured, path->parent)) {
        uint32_t id, i = 0;

        MP_TRY(captured_kind_of(pass, place->thread, path, &id));
        while (i < *count && list[i] != id)
            i++;
        if (i == *count)
            list[(*count)++] = id;
    }
    return MP_OK;
}

/* Two rounds, because the number of kinds must be known before sums are added. */
static enum mp_status hand_outwards(struct pass *pass, uint32_t *list, uint64_t *kind_nodes)
{
    for (uint32_t place = 1; place <= pass->places.count; place++) {
        const void *key = mp_intern_get(&pass->places, place, NULL);
        uint32_t count;

        MP_TRY(list_kinds(pass, key, list, &count));
        for (uint32_t i = 0; i < count && kind_nodes; i++) {
            kind_nodes[list[i] - 1] += pass->nodes[place - 1];
            for (uint32_t at = pass->place_sums.first[place - 1]; at != NVTX_NONE;
                 at = pass->place_sums.items[at].next) {
                const struct nvtx_sum *sum = &pass->place_sums.items[at];

                MP_TRY(nvtx_sums_add(&pass->kind_sums, list[i] - 1, sum->name, &sum->tally));
            }
        }
    }
    return MP_OK;
}

static void fill_range(struct pass *pass, uint32_t id, uint64_t nodes, size_t *used)
{
    struct nvtx_result *result = pass->result;
    const struct kind *kind = (const void *)mp_intern_get(&pass->kinds, id, NULL);
    struct nvtx_captured_range *range = &result->captured[result->captured_count++];
    struct summary_row *rows = result->captured_rows + *used;
    uint32_t first = pass->kind_sums.first[id - 1];

    *range = (struct nvtx_captured_range){
        .thread = kind->thread,
        .domain = kind->domain ? mp_intern_get(&result->names, kind->domain, NULL) : NULL,
        .name = mp_intern_get(&result->names, kind->name, NULL),
        .nodes = nodes,
        .work = {.rows = rows},
    };
    for (uint32_t at = first; at != NVTX_NONE; at = pass->kind_sums.items[at].next)
        range->work.total += pass->kind_sums.items[at].tally.total;
    for (uint32_t at = first; at != NVTX_NONE; at = pass->kind_sums.items[at].next) {
        const struct nvtx_sum *sum = &pass->kind_sums.items[at];

        summary_row_fill(&rows[range->work.row_count++],
                         mp_intern_get(&result->names, sum->name >> 1, NULL), &sum->tally,
                         range->work.total);
    }
    summary_rows_sort(rows, range->work.row_count);
    *used += range->work.row_count;
}

MP_COMPARE(compare_ranges, struct nvtx_captured_range,
           nvtx_key_compare((struct nvtx_key){a->thread, a->domain, a->name},
                            (struct nvtx_key){b->thread, b->domain, b->name}));

static enum mp_status fill_ranges(struct pass *pass, uint32_t *list)
{
    struct nvtx_result *result = pass->result;
    uint64_t *nodes;
    size_t used = 0;

    MP_TRY(hand_outwards(pass, list, NULL));
    if (!pass->kinds.count)
        return MP_OK;
    nodes = calloc(pass->kinds.count, sizeof *nodes);
    result->captured = calloc(pass->kinds.count, sizeof *result->captured);
    enum mp_status status = nodes && result->captured
                                ? nvtx_sums_init(&pass->kind_sums, pass->kinds.count)
                                : MP_ERR_MEMORY;
    if (!status)
        status = hand_outwards(pass, list, nodes);
    if (!status) {
        result->captured_rows = calloc(pass->kind_sums.count, sizeof *result->captured_rows);
        status = result->captured_rows ? MP_OK : MP_ERR_MEMORY;
    }
    for (uint32_t id = 1; !status && id <= pass->kinds.count; id++)
        fill_range(pass, id, nodes[id - 1], &used);
    free(nodes);
    if (!status)
        qsort(result->captured, result->captured_count, sizeof *result->captured, compare_ranges);
    return status;
}

/* ---- The whole ---- */

static enum mp_status captured_build(struct pass *pass, struct mp_error *error)
{
    const struct profile *profile = pass->result->profile;
    uint32_t *list;

    if (!profile_has_rows(profile, MP_TABLE_captured))
        return MP_OK;
    MP_TRY(captured_load(&pass->captured, profile->trace, error));
    if (!captured_has_any(&pass->captured))
        return MP_OK;
    pass->result->quality.undefined += pass->captured.undefined;
    pass->place_of_node = calloc(pass->captured.count, sizeof *pass->place_of_node);
    pass->nodes = calloc(pass->captured.count, sizeof *pass->nodes);
    list = calloc(CAPTURED_MAX_DEPTH, sizeof *list);
    enum mp_status status = pass->place_of_node && pass->nodes && list
                                ? nvtx_sums_init(&pass->place_sums, pass->captured.count)
                                : MP_ERR_MEMORY;
    if (status) {
        free(list);
        return mp_error_set(error, status, "out of memory");
    }
    status = read_work(pass, error);
    if (!status) {
        status = fill_ranges(pass, list);
        if (status)
            mp_error_set(error, status, "cannot add up the captured ranges: %s",
                         mp_status_name(status));
    }
    free(list);
    return status;
}

enum mp_status nvtx_captured_build(struct nvtx_result *result, const struct nvtx_options *options,
                                   const struct capture_range *range, struct mp_error *error)
{
    struct pass pass = {.options = options, .range = range, .result = result};

    pass.names = (struct source_names){.names = &result->names,
                                       .definitions = &result->profile->definitions,
                                       .quality = &result->quality,
                                       .style = options->style};
    source_names_init(&pass.names, result->profile->trace);
    enum mp_status status = captured_build(&pass, error);
    captured_free(&pass.captured);
    mp_intern_free(&pass.places);
    mp_intern_free(&pass.kinds);
    nvtx_sums_free(&pass.place_sums);
    nvtx_sums_free(&pass.kind_sums);
    free(pass.nodes);
    free(pass.place_of_node);
    source_names_free(&pass.names);
    return status;
}
