/* Loads the NVTX ranges of a trace: pushes are matched with pops, starts with ends. What is still
 * open at the end of the trace ends with it, and is marked as unfinished.
 */
#include "analyze/nvtx/spans.h"
#include "model/trace/reading.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/hash.h"
#include "base/data/reserve.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

struct pass {
    struct nvtx_spans *spans;
    const struct nvtx_reading *reading;
    struct nvtx_instance *instances;
    size_t count, capacity;
    struct mp_map stacks;     /* thread and domain -> the instance pushed last */
    struct mp_map started;    /* range id -> instance, of nvtxRangeStart */
    struct mp_map early_ends; /* range id -> end that was read before its start */
    uint64_t *ends;
    size_t end_count, end_capacity;
    struct mp_map labels;      /* string ids of domain and name -> number of a label */
    struct mp_map label_texts; /* the same by text: ids in names */
    uint64_t *label_names;     /* by label: domain and name, ids in names */
    size_t label_count, label_capacity;
    struct mp_map kinds; /* thread and label -> kind */
};

/* ---- Kinds ---- */

/* The id in `names` of what a string id of the trace says. */
static enum mp_status intern_text(struct pass *pass, uint64_t string, const char *none,
                                  const char *lost, uint64_t *id)
{
    const char *text = string ? definitions_text(pass->reading->definitions, string) : none;

    *id = 0;
    if (!text && !string)
        return MP_OK;
    if (!text) {
        pass->reading->quality->undefined++;
        text = lost;
    }
    *id = mp_intern_add(pass->reading->names, text, strlen(text));
    return *id ? MP_OK : MP_ERR_MEMORY;
}

static enum mp_status add_label(struct pass *pass, uint64_t domain, uint64_t name, uint32_t *label)
{
    uint64_t domain_text, name_text, key;

    MP_TRY(intern_text(pass, domain, NULL, "[unnamed domain]", &domain_text));
    MP_TRY(intern_text(pass, name, "<unnamed>", "[unnamed range]", &name_text));
    key = domain_text << 32 | name_text;
    *label = mp_map_get(&pass->label_texts, key);
    if (*label != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(mp_reserve((void **)&pass->label_names, pass->label_count, &pass->label_capacity,
                      sizeof *pass->label_names));
    *label = (uint32_t)pass->label_count;
    pass->label_names[pass->label_count++] = key;
    return mp_map_put(&pass->label_texts, key, *label);
}

static enum mp_status reach_label(struct pass *pass, uint64_t domain, uint64_t name,
                                  uint32_t *label)
{
    uint64_t key;

    /* Ids that no file can justify are as good as undefined. */
    if (domain > UINT32_MAX)
        domain = UINT32_MAX;
    if (name > UINT32_MAX)
        name = UINT32_MAX;
    key = domain << 32 | name;
    *label = mp_map_get(&pass->labels, key);
    if (*label != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(add_label(pass, domain, name, label));
    return mp_map_put(&pass->labels, key, *label);
}

static enum mp_status reach_thread(struct nvtx_spans *spans, uint64_t number, uint32_t *thread)
{
    *thread = mp_map_get(&spans->thread_index, number);
    if (*thread != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(mp_reserve((void **)&spans->threads, spans->thread_count, &spans->thread_capacity,
                      sizeof *spans->threads));
    *thread = (uint32_t)spans->thread_count++;
    spans->threads[*thread] = (struct nvtx_thread){.number = number};
    return mp_map_put(&spans->thread_index, number, *thread);
}

static enum mp_status reach_kind(struct pass *pass, uint64_t thread_number, uint64_t domain,
                                 uint64_t name, uint32_t *kind)
{
    struct nvtx_spans *spans = pass->spans;
    uint32_t thread, label;
    uint64_t key;

    MP_TRY(reach_thread(spans, thread_number, &thread));
    MP_TRY(reach_label(pass, domain, name, &label));
    key = (uint64_t)thread << 32 | label;
    *kind = mp_map_get(&pass->kinds, key);
    if (*kind != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(mp_reserve((void **)&spans->kinds, spans->kind_count, &spans->kind_capacity,
                      sizeof *spans->kinds));
    *kind = (uint32_t)spans->kind_count++;
    spans->kinds[*kind] = (struct nvtx_kind){
        .thread = thread,
        .domain = (uint32_t)(pass->label_names[label] >> 32),
        .name = (uint32_t)pass->label_names[label],
    };
    return mp_map_put(&pass->kinds, key, *kind);
}

/* ---- Rows ---- */

#define CELL(column) (batch->columns[MP_COLUMN_nvtx_##column][row])

static enum mp_status begin_instance(struct pass *pass, const struct mp_batch *batch, uint32_t row,
                                     uint32_t link)
{
    struct nvtx_instance instance = {.begin = CELL(time), .end = NVTX_OPEN, .link = link};

    if (pass->count >= NVTX_MOST)
        return MP_ERR_LIMIT;
    MP_TRY(reach_kind(pass, CELL(thread), CELL(domain), CELL(name), &instance.kind));
    MP_TRY(mp_reserve((void **)&pass->instances, pass->count, &pass->capacity, sizeof instance));
    pass->instances[pass->count++] = instance;
    return MP_OK;
}

static uint64_t stack_key(const struct mp_batch *batch, uint32_t row)
{
    return mp_mix64(CELL(thread)) ^ CELL(domain);
}

static enum mp_status take_push(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    uint64_t key = stack_key(batch, row);

    MP_TRY(begin_instance(pass, batch, row, mp_map_get(&pass->stacks, key)));
    return mp_map_put(&pass->stacks, key, (uint32_t)(pass->count - 1));
}

static enum mp_status take_pop(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    uint64_t key = stack_key(batch, row);
    uint32_t top = mp_map_get(&pass->stacks, key);

    if (top >= pass->count) /* absent: pushed before the recording began, or never */
        return MP_OK;
    pass->instances[top].end = CELL(time);
    if (pass->instances[top].link != MP_MAP_ABSENT)
        return mp_map_put(&pass->stacks, key, pass->instances[top].link);
    mp_map_remove(&pass->stacks, key);
    return MP_OK;
}

static enum mp_status take_start(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    uint32_t early = mp_map_get(&pass->early_ends, CELL(range));

    MP_TRY(begin_instance(pass, batch, row, NVTX_NONE));
    if (early >= pass->end_count) /* absent */
        return mp_map_put(&pass->started, CELL(range), (uint32_t)(pass->count - 1));
    pass->instances[pass->count - 1].end = pass->ends[early];
    mp_map_remove(&pass->early_ends, CELL(range));
    return MP_OK;
}

/* The thread that ends a range may come first in the file. */
static enum mp_status take_end(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    uint32_t index = mp_map_get(&pass->started, CELL(range));

    if (index < pass->count) { /* not absent */
        pass->instances[index].end = CELL(time);
        mp_map_remove(&pass->started, CELL(range));
        return MP_OK;
    }
    if (pass->end_count >= NVTX_NONE)
        return MP_ERR_LIMIT;
    MP_TRY(
        mp_reserve((void **)&pass->ends, pass->end_count, &pass->end_capacity, sizeof *pass->ends));
    pass->ends[pass->end_count] = CELL(time);
    return mp_map_put(&pass->early_ends, CELL(range), (uint32_t)pass->end_count++);
}

static enum mp_status spans_take_row(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    switch (CELL(kind)) {
    case MP_nvtx_kind_push:
        return take_push(pass, batch, row);
    case MP_nvtx_kind_pop:
        return take_pop(pass, batch, row);
    case MP_nvtx_kind_start:
        return take_start(pass, batch, row);
    case MP_nvtx_kind_end:
        return take_end(pass, batch, row);
    default:
        return MP_OK;
    }
}

#undef CELL

/* ---- The passes over the file ---- */

static void spans_select_columns(struct mp_cursor *cursor, void *context)
{
    (void)context;
    definitions_select(cursor, false);
    quality_select(cursor);
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_nvtx),
                     MP_COLUMN_MASK(nvtx, thread) | MP_COLUMN_MASK(nvtx, kind) |
                         MP_COLUMN_MASK(nvtx, domain) | MP_COLUMN_MASK(nvtx, name) |
                         MP_COLUMN_MASK(nvtx, time) | MP_COLUMN_MASK(nvtx, range));
}

static enum mp_status spans_take_batch(void *context, const struct mp_batch *batch)
{
    struct pass *pass = context;

    if (batch->table->id == MP_TABLE_nvtx) {
        for (uint32_t row = 0; row < batch->rows; row++)
            MP_TRY(spans_take_row(pass, batch, row));
        return MP_OK;
    }
    MP_TRY(definitions_take(pass->reading->definitions, batch));
    return quality_take(pass->reading->quality, batch);
}

static enum mp_status spans_run_pass(struct pass *pass, struct mp_trace *trace,
                                     struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace,
        .what = "the NVTX ranges",
        .context = pass,
        .select = spans_select_columns,
        .take = spans_take_batch,
        .quality = pass->reading->quality,
        .definitions = pass->reading->definitions,
    };

    return reading_run(&reading, error);
}

/* The time of the last record, from the headers of the chunks. */
static enum mp_status find_last_time(struct mp_trace *trace, uint64_t *last, struct mp_error *error)
{
    struct mp_cursor *cursor;
    struct mp_chunk chunk;
    enum mp_status status;

    MP_TRY(mp_cursor_open(trace, &cursor, error));
    while ((status = mp_cursor_next_chunk(cursor, &chunk, false)) == MP_OK) {
        if (chunk.table && chunk.table->kind == MP_TABLE_EVENT && chunk.last_time > *last)
            *last = chunk.last_time;
    }
    mp_cursor_close(cursor);
    if (status == MP_END)
        return MP_OK;
    return mp_error_set(error, status, "cannot read the trace: %s", mp_status_name(status));
}

/* ---- From what was read to spans ---- */

static bool has_unfinished(const struct pass *pass)
{
    return pass->stacks.count || pass->started.count;
}

/* Whether the instance counts; an end that it lacks is `last`. */
static bool finish_instance(struct pass *pass, struct nvtx_instance *instance, uint64_t last)
{
    const struct capture_range *range = pass->reading->range;
    struct quality *quality = pass->reading->quality;
    bool open = instance->end == NVTX_OPEN;

    if (range && !range_has_call(range, instance->begin))
        return false;
    if (open)
        instance->end = last > instance->begin ? last : instance->begin;
    if (!instance->begin || !instance->end) {
        quality->unknown_times++;
        return false;
    }
    if (instance->end < instance->begin) {
        quality->reversed_times++;
        return false;
    }
    pass->spans->kinds[instance->kind].unfinished += open;
    return true;
}

static void finish_instances(struct pass *pass, uint64_t last)
{
    size_t kept = 0;

    for (size_t i = 0; i < pass->count; i++) {
        struct nvtx_instance *instance = &pass->instances[i];
        uint64_t duration;

        if (!finish_instance(pass, instance, last))
            continue;
        duration = instance->end - instance->begin;
        tally_merge(&pass->spans->kinds[instance->kind].instances,
                    &(struct tally){1, duration, duration, duration});
        pass->instances[kept++] = *instance;
    }
    pass->count = kept;
}

static enum mp_status spans_build(struct pass *pass, struct mp_trace *trace, struct mp_error *error)
{
    const struct capture_range *range = pass->reading->range;
    uint64_t last = 0;
    enum mp_status status;

    MP_TRY(spans_run_pass(pass, trace, error));
    if (has_unfinished(pass))
        MP_TRY(find_last_time(trace, &last, error));
    if (range && range->end_time < last)
        last = range->end_time;
    finish_instances(pass, last);
    status = nvtx_lanes_build(pass->spans, pass->instances, pass->count);
    return status ? mp_error_set(error, status, "cannot order the NVTX ranges: %s",
                                 mp_status_name(status))
                  : MP_OK;
}

enum mp_status nvtx_spans_load(struct nvtx_spans *spans, struct mp_trace *trace,
                               const struct nvtx_reading *reading, struct mp_error *error)
{
    struct pass pass = {.spans = spans, .reading = reading};
    enum mp_status status;

    *spans = (struct nvtx_spans){.span_count = 0};
    status = spans_build(&pass, trace, error);
    free(pass.instances);
    free(pass.ends);
    free(pass.label_names);
    mp_map_free(&pass.stacks);
    mp_map_free(&pass.started);
    mp_map_free(&pass.early_ends);
    mp_map_free(&pass.labels);
    mp_map_free(&pass.label_texts);
    mp_map_free(&pass.kinds);
    return status;
}

void nvtx_spans_free(struct nvtx_spans *spans)
{
    free(spans->threads);
    free(spans->kinds);
    free(spans->nodes);
    free(spans->lanes);
    free(spans->spans);
    mp_map_free(&spans->thread_index);
    *spans = (struct nvtx_spans){.span_count = 0};
}
