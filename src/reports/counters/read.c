/* Reads the samples of a trace, and the work of its devices: by the names of kernels and copies, or
 * by the layers that launched it. What a pass owns is freed here too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/text/strings.h"
#include "profile/activity.h"
#include "profile/reading.h"
#include "reports/counters/pass.h"
#include "reports/layers/layers.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- Counters ---- */

static enum mp_status find_set(struct counters_pass *pass, uint64_t device, enum sampled_by by,
                               size_t *found)
{
    for (*found = 0; *found < pass->set_count; ++*found) {
        const struct sample_set *set = &pass->sets[*found];

        if (set->device == device && set->by == by && !set->count &&
            set->width < COUNTERS_MAX_A_SET)
            return MP_OK;
    }
    MP_TRY(MP_RESERVE(pass->sets, pass->set_count, pass->set_capacity));
    pass->sets[pass->set_count++] =
        (struct sample_set){.device = device, .by = by, .earliest = UINT64_MAX};
    return MP_OK;
}

static enum mp_status take_counter(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct counters_pass *pass = context;
    const struct mp_counter_columns counters = mp_counter_columns(batch->columns);
    struct counters_result *result = pass->result;
    const struct definitions *definitions = &result->definitions;
    uint64_t by = counters.source[row], unit = counters.unit[row], step = counters.step[row];
    struct counters_counter counter = {
        .device = counters.device[row],
        .name = definitions_text(definitions, counters.name[row]),
        .by = by <= SAMPLED_BY_NVML ? (enum sampled_by)by : SAMPLED_BY_NOBODY,
        .unit = unit <= METRIC_UNIT_CELSIUS ? (enum metric_unit)unit : METRIC_UNIT_NONE,
        .interval = counters.interval[row],
        .expression = definitions_text(definitions, counters.expression[row]),
        .note = definitions_text(definitions, counters.note[row]),
    };
    size_t at;

    if (mp_map_get(&pass->places, counters.id[row]) != MP_MAP_ABSENT ||
        result->counter_count == COUNTERS_MAX)
        return MP_OK;
    if (!counter.name)
        result->quality.undefined++;
    memcpy(&counter.step, &step, sizeof step);
    MP_TRY(MP_RESERVE(result->counters, result->counter_count, pass->counter_capacity));
    MP_TRY(find_set(pass, counter.device, counter.by, &at));
    struct sample_set *set = &pass->sets[at];
    MP_TRY(mp_map_put(&pass->places, counters.id[row], (uint32_t)(at << 8 | set->width)));
    set->counters[set->width++] = result->counter_count;
    for (size_t i = 0; i < result->counter_count; i++)
        counter.place += result->counters[i].device == counter.device;
    result->counters[result->counter_count++] = counter;
    return MP_OK;
}

/* ---- Samples ---- */

static enum mp_status begin_sample(struct sample_set *set, uint64_t end, uint64_t length)
{
    MP_TRY(MP_RESERVE(set->ends, set->count, set->end_capacity));
    MP_TRY(MP_RESERVE(set->lengths, set->count, set->length_capacity));
    if ((set->count + 1) * set->width > set->value_capacity) {
        size_t capacity = 2 * set->value_capacity + 64 * set->width;
        uint16_t *grown = reallocarray(set->values, capacity, sizeof *grown);

        if (!grown)
            return MP_ERR_MEMORY;
        set->values = grown;
        set->value_capacity = capacity;
    }
    for (size_t i = 0; i < set->width; i++)
        set->values[set->count * set->width + i] = SAMPLED_UNKNOWN;
    set->ends[set->count] = end;
    set->lengths[set->count++] = length;
    return MP_OK;
}

/* What was counted must lie in the range as a whole: it would else count work of outside. A reading
 * of NVML is of one moment. The recorder has the same rule. */
static bool in_range(const struct counters_pass *pass, enum sampled_by by, uint64_t begin,
                     uint64_t end)
{
    const struct capture_range *range = pass->range;

    if (range && by == SAMPLED_BY_NVML)
        return begin < range->end_time && end > range->begin_time;
    return !range || (begin >= range->begin_time && end <= range->end_time);
}

static enum mp_status take_sample(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct counters_pass *pass = context;
    const struct mp_sample_columns sample = mp_sample_columns(batch->columns);
    uint32_t place = mp_map_get(&pass->places, sample.counter[row]);
    uint64_t end = sample.time[row], length = sample.length[row];
    uint64_t value = sample.value[row];

    if (place == MP_MAP_ABSENT) {
        pass->result->quality.undefined++;
        return MP_OK;
    }
    if (!length || length > end || end > INT64_MAX)
        return MP_OK;
    struct sample_set *set = &pass->sets[place >> 8];
    if (end - length < set->earliest)
        set->earliest = end - length;
    if (!in_range(pass, set->by, end - length, end))
        return MP_OK;
    if (set->count && end < set->ends[set->count - 1])
        return MP_OK; /* no recorder of ours writes them out of order */
    if (!set->count || set->ends[set->count - 1] != end)
        MP_TRY(begin_sample(set, end, length));
    set->values[(set->count - 1) * set->width + (place & 255)] =
        value < SAMPLED_UNKNOWN ? (uint16_t)value : SAMPLED_UNKNOWN;
    return MP_OK;
}

double counters_value(const struct counters_pass *pass, const struct sample_set *set, size_t sample,
                      size_t place)
{
    return sampled_unpack(set->values[sample * set->width + place],
                          pass->result->counters[set->counters[place]].step);
}

/* ---- Work ---- */

enum mp_status counters_group(struct counters_pass *pass, uint64_t key, const char *name,
                              uint32_t *group)
{
    *group = mp_map_get(&pass->by_name, key);
    if (*group != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(MP_RESERVE(pass->names, pass->name_count, pass->name_capacity));
    *group = (uint32_t)pass->name_count;
    MP_TRY(mp_map_put(&pass->by_name, key, *group));
    pass->names[pass->name_count++] = name;
    return MP_OK;
}

enum mp_status counters_add_work(struct counters_pass *pass, uint32_t device, uint64_t start,
                                 uint64_t duration, uint32_t group)
{
    if (!start || !duration || start > INT64_MAX || duration > INT64_MAX - start)
        return MP_OK;
    MP_TRY(MP_RESERVE(pass->spans, pass->span_count, pass->span_capacity));
    pass->spans[pass->span_count++] = (struct work_span){
        .start = start,
        .end = start + duration,
        .group = group,
        .device = device,
    };
    return MP_OK;
}

static enum mp_status add_stream_work(struct counters_pass *pass, uint64_t stream, uint64_t start,
                                      uint64_t duration, uint32_t group)
{
    const struct definition_stream *found = dense_at(&pass->result->definitions.streams, stream);
    uint32_t device = found && found->defined ? (uint32_t)found->device : 0;

    return counters_add_work(pass, device, start, duration, group);
}

/* The group of a name: two launch shapes of one kernel are one group, and so are all sets. */
static enum mp_status group_of(struct counters_pass *pass, const struct activity_table *table,
                               uint64_t id, uint32_t *group)
{
    struct definitions *definitions = &pass->result->definitions;
    const bool is_kernel = table == &activity_tables[ACTIVITY_KERNEL];
    const struct definition_shape *shape = is_kernel ? dense_at(&definitions->shapes, id) : NULL;
    uint64_t key = !is_kernel ? id : shape && shape->defined ? shape->kernel : 0;
    char buffer[NAMES_BYTES];

    key = (uint64_t)(table - activity_tables + 1) | key << 3;
    *group = mp_map_get(&pass->by_name, key);
    if (*group != MP_MAP_ABSENT)
        return MP_OK;
    const char *name = table->name(definitions, pass->options->style, id, buffer);
    if (name == buffer) { /* no string of the trace */
        name = mp_arena_copy(&pass->result->names, buffer, strlen(buffer));
        if (!name)
            return MP_ERR_MEMORY;
    }
    return counters_group(pass, key, name ? name : table->unnamed, group);
}

/* Work of other capture ranges is none, although it is in the samples beside which it ran. */
static enum mp_status take_work(void *context, const struct mp_batch *batch)
{
    struct counters_pass *pass = context;
    const struct activity_table *table = activity_of(batch->table->id);
    const uint64_t *starts = activity_column(batch->columns, table->start);
    const uint64_t *durations = activity_column(batch->columns, table->duration);
    const uint64_t *correlations = activity_column(batch->columns, table->correlation);
    const uint64_t *streams = activity_column(batch->columns, table->stream);
    const uint64_t *ids = activity_column(batch->columns, table->id);

    for (uint32_t row = 0; row < batch->rows; row++) {
        uint32_t group;

        if (pass->range && !range_has_work(pass->range, correlations[row], starts[row]))
            continue;
        MP_TRY(
            group_of(pass, table, table == &activity_tables[ACTIVITY_SET] ? 0 : ids[row], &group));
        MP_TRY(add_stream_work(pass, streams[row], starts[row], durations[row], group));
    }
    return MP_OK;
}

/* ---- The pass ---- */

enum mp_status counters_read(struct counters_pass *pass, struct mp_trace *trace,
                             struct mp_error *error)
{
    const bool work =
        pass->options->by == COUNTERS_BY_KERNEL || pass->options->by == COUNTERS_BY_IDLE;
    const struct reading_table tables[] = {
        {MP_TABLE_counter, MP_ALL_COLUMNS, .take_row = take_counter},
        {MP_TABLE_sample, MP_ALL_COLUMNS, .take_row = take_sample},
        {MP_TABLE_kernel, work ? MP_MASK(kernel, stream, shape, start, duration, correlation) : 0,
         .take = take_work},
        {MP_TABLE_copy, work ? MP_MASK(copy, stream, kind, start, duration, correlation) : 0,
         .take = take_work},
        {MP_TABLE_set, work ? MP_MASK(set, stream, start, duration, correlation) : 0,
         .take = take_work},
        {MP_TABLE_graph, work ? MP_MASK(graph, stream, graph, start, duration, correlation) : 0,
         .take = take_work},
    };
    const struct reading reading = {
        .trace = trace,
        .what = "the counters",
        .context = pass,
        READING_TABLES(tables),
        .quality = &pass->result->quality,
        .definitions = &pass->result->definitions,
    };

    return reading_run(&reading, error);
}

/* ---- The work of layers, by the innermost range of each launch ---- */

static enum mp_status take_layer_work(void *context, const struct layer_tree *tree,
                                      const struct layer_activity *activity)
{
    struct counters_pass *pass = context;
    uint32_t group;

    (void)tree;
    MP_TRY(counters_group(pass, activity->node, NULL, &group));
    return add_stream_work(pass, activity->stream, activity->start, activity->duration, group);
}

/* Paths of the layers that have work, once all layers are known. */
static enum mp_status name_layers(struct counters_pass *pass, const struct layers_result *layers)
{
    struct mp_buffer text = {0};
    enum mp_status status = MP_OK;

    for (size_t i = 0; i < layers->count && status == MP_OK; i++) {
        uint32_t group = mp_map_get(&pass->by_name, layers->layers[i].node);

        if (group == MP_MAP_ABSENT)
            continue;
        mp_buffer_clear(&text);
        layers_put_path(&text, layers, (uint32_t)i);
        pass->names[group] = mp_arena_copy(&pass->result->names, text.data, text.size);
        status = text.status ? text.status : pass->names[group] ? MP_OK : MP_ERR_MEMORY;
    }
    mp_buffer_free(&text);
    return status;
}

enum mp_status counters_read_layers(struct counters_pass *pass, struct mp_trace *trace,
                                    struct mp_error *error)
{
    const struct layers_options *as = pass->options->as;
    const struct layers_options options = {.range = pass->options->range,
                                           .style = pass->options->style,
                                           .domain = as ? as->domain : NULL,
                                           .merge_numbers = as && as->merge_numbers,
                                           .each = take_layer_work,
                                           .context = pass};
    struct layers_result layers = {.count = 0};
    struct profile profile;

    MP_TRY(profile_load(&profile, trace, DEFINITIONS_USUAL, error));
    enum mp_status status = layers_build(&profile, &options, &layers, error);
    if (!status && name_layers(pass, &layers))
        status = mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    layers_free(&layers);
    profile_free(&profile);
    return status;
}

/* ---- What a pass and a result own ---- */

struct counters_cell *counters_cell(const struct counters_result *result,
                                    const struct counters_group *group,
                                    const struct counters_counter *counter)
{
    return &result->cells[group->cells + counter->place];
}

const struct counters_cell *counters_find(const struct counters_result *result,
                                          const struct counters_group *group, const char *name)
{
    for (size_t i = 0; i < result->counter_count; i++) {
        const struct counters_counter *counter = &result->counters[i];

        if (counter->device == group->device && counter->name && counter->by != SAMPLED_BY_NOBODY &&
            mp_text_equal(counter->name, name))
            return counters_cell(result, group, counter);
    }
    return NULL;
}

void counters_pass_free(struct counters_pass *pass)
{
    for (size_t i = 0; i < pass->set_count; i++) {
        free(pass->sets[i].ends);
        free(pass->sets[i].lengths);
        free(pass->sets[i].values);
    }
    free(pass->sets);
    free(pass->spans);
    free(pass->names);
    mp_map_free(&pass->places);
    mp_map_free(&pass->by_name);
}

void counters_result_free(struct counters_result *result)
{
    free(result->counters);
    free(result->groups);
    free(result->cells);
    quality_free(&result->quality);
    definitions_free(&result->definitions);
    mp_arena_free(&result->names);
    *result = (struct counters_result){.counters = NULL};
}
