/* Reads the NVTX ranges of a trace as instances, which lanes.c puts in order. Kinds go by the text
 * of names, not by string ids, because two ids may have the same text.
 */
#include "reports/nvtx/spans.h"
#include "profile/nvtx/match.h"
#include "profile/reading.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "trace/schema.h"

#include "base/poison.h"

struct pass {
    struct nvtx_spans *spans;
    const struct profile *profile;
    const struct nvtx_reading *reading;
    struct quality *quality; /* the reading's, or `unasked` */
    struct quality unasked;
    struct nvtx_instance *instances;
    size_t count, capacity;
    struct nvtx_match match;   /* items: instances */
    struct mp_map labels;      /* string ids of domain and name -> number of a label */
    struct mp_map label_texts; /* the same by text: ids in names */
    uint64_t *label_names;     /* by label: domain and name, ids in names */
    size_t label_count, label_capacity;
    struct mp_map kinds; /* thread and label -> kind */
};

/* ---- Kinds ---- */

/* The id in `names` of the text that a string id of the trace stands for. */
static enum mp_status intern_text(struct pass *pass, uint64_t string, const char *none,
                                  const char *lost, uint64_t *id)
{
    const char *text = string ? definitions_text(&pass->profile->definitions, string) : none;

    *id = 0;
    if (!text && !string)
        return MP_OK;
    if (!text) {
        pass->quality->undefined++;
        text = lost;
    }
    *id = mp_intern_add(pass->reading->names, text, strlen(text));
    return *id ? MP_OK : MP_ERR_MEMORY;
}

static enum mp_status add_label(struct pass *pass, uint64_t domain, uint64_t name, uint32_t *label)
{
    uint64_t domain_text, name_text;

    MP_TRY(intern_text(pass, domain, NULL, "[unnamed domain]", &domain_text));
    MP_TRY(intern_text(pass, name, "<unnamed>", "[unnamed range]", &name_text));
    uint64_t key = domain_text << 32 | name_text;
    *label = mp_map_get(&pass->label_texts, key);
    if (*label != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(MP_RESERVE(pass->label_names, pass->label_count, pass->label_capacity));
    *label = (uint32_t)pass->label_count;
    pass->label_names[pass->label_count++] = key;
    return mp_map_put(&pass->label_texts, key, *label);
}

static enum mp_status reach_label(struct pass *pass, uint64_t domain, uint64_t name,
                                  uint32_t *label)
{
    /* An id that no file can justify counts as undefined. */
    if (domain > UINT32_MAX)
        domain = UINT32_MAX;
    if (name > UINT32_MAX)
        name = UINT32_MAX;
    uint64_t key = domain << 32 | name;
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
    MP_TRY(MP_RESERVE(spans->threads, spans->thread_count, spans->thread_capacity));
    *thread = (uint32_t)spans->thread_count++;
    spans->threads[*thread] = (struct nvtx_thread){.number = number};
    return mp_map_put(&spans->thread_index, number, *thread);
}

static enum mp_status reach_kind(struct pass *pass, const struct nvtx_event *event, uint32_t *kind)
{
    struct nvtx_spans *spans = pass->spans;
    uint32_t thread, label;

    MP_TRY(reach_thread(spans, event->thread, &thread));
    MP_TRY(reach_label(pass, event->domain, event->name, &label));
    uint64_t key = (uint64_t)thread << 32 | label;
    *kind = mp_map_get(&pass->kinds, key);
    if (*kind != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(MP_RESERVE(spans->kinds, spans->kind_count, spans->kind_capacity));
    *kind = (uint32_t)spans->kind_count++;
    spans->kinds[*kind] = (struct nvtx_kind){
        .thread = thread,
        .domain = (uint32_t)(pass->label_names[label] >> 32),
        .name = (uint32_t)pass->label_names[label],
    };
    return mp_map_put(&pass->kinds, key, *kind);
}

/* ---- Rows ---- */

static void end_instance(const struct pass *pass, struct nvtx_instance *instance,
                         const struct nvtx_event *end)
{
    const struct nvtx_spans *spans = pass->spans;

    instance->end = end->time;
    instance->cut |= end->cut;
    instance->across = spans->threads[spans->kinds[instance->kind].thread].number != end->thread;
}

static enum mp_status begin_instance(struct pass *pass, const struct nvtx_event *event)
{
    struct nvtx_instance instance = {.begin = event->time, .end = NVTX_OPEN, .cut = event->cut};
    struct nvtx_event end;

    if (pass->count >= NVTX_MAX)
        return MP_ERR_LIMIT;
    MP_TRY(reach_kind(pass, event, &instance.kind));
    MP_TRY(mp_reserve((void **)&pass->instances, pass->count, &pass->capacity, sizeof instance));
    if (nvtx_match_take_end(&pass->match, event, &end))
        end_instance(pass, &instance, &end);
    else
        MP_TRY(nvtx_match_begin(&pass->match, event, pass->count));
    pass->instances[pass->count++] = instance;
    return MP_OK;
}

static enum mp_status spans_take_row(struct pass *pass, const struct nvtx_event *event)
{
    uint64_t item;

    if (nvtx_begins(event))
        return begin_instance(pass, event);
    if (!nvtx_match_end(&pass->match, event, &item))
        return nvtx_match_keep_end(&pass->match, event);
    end_instance(pass, &pass->instances[item], event);
    return MP_OK;
}

/* ---- The passes over the file ---- */

static enum mp_status take_nvtx(void *context, const struct mp_batch *batch, uint32_t row)
{
    const uint64_t time = mp_nvtx_columns(batch->columns).time[row];
    const struct nvtx_event event = nvtx_event_at(batch->columns, row, time);

    return spans_take_row(context, &event);
}

static const struct reading_table tables[] = {
    {MP_TABLE_nvtx, NVTX_EVENT_COLUMNS | MP_MASK(nvtx, time), .take_row = take_nvtx},
};

static enum mp_status spans_run_pass(struct pass *pass, struct mp_error *error)
{
    const struct reading reading = {
        .trace = pass->profile->trace,
        .what = "the NVTX ranges",
        .context = pass,
        READING_TABLES(tables),
        .joined = pass->quality,
    };

    return reading_run(&reading, error);
}

/* ---- From what was read to spans ---- */

/* Whether the instance counts. If it has no end, `last` becomes its end. */
static bool finish_instance(struct pass *pass, struct nvtx_instance *instance, uint64_t last)
{
    const struct capture_range *range = pass->reading->range;
    struct quality *quality = pass->quality;
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
    pass->spans->kinds[instance->kind].cut += instance->cut;
    pass->spans->kinds[instance->kind].unfinished += open && !instance->cut;
    return true;
}

static void finish_instances(struct pass *pass, uint64_t last)
{
    size_t kept = 0;

    for (size_t i = 0; i < pass->count; i++) {
        struct nvtx_instance *instance = &pass->instances[i];

        if (!finish_instance(pass, instance, last))
            continue;
        struct tally tally = tally_of(instance->end - instance->begin, 1);
        tally_merge(&pass->spans->kinds[instance->kind].instances, &tally);
        pass->instances[kept++] = *instance;
    }
    pass->count = kept;
}

static enum mp_status spans_build(struct pass *pass, struct mp_error *error)
{
    const struct capture_range *range = pass->reading->range;
    uint64_t last = pass->profile->last_time;

    MP_TRY(spans_run_pass(pass, error));
    if (range && range->end_time < last)
        last = range->end_time;
    finish_instances(pass, last);
    enum mp_status status = nvtx_lanes_build(pass->spans, pass->instances, pass->count);
    return mp_error_from(error, status, "cannot order the NVTX ranges");
}

enum mp_status nvtx_spans_load(struct nvtx_spans *spans, const struct profile *profile,
                               const struct nvtx_reading *reading, struct mp_error *error)
{
    struct pass pass = {.spans = spans, .profile = profile, .reading = reading};

    *spans = (struct nvtx_spans){.span_count = 0};
    if (!profile_has_rows(profile, MP_TABLE_nvtx))
        return MP_OK;
    pass.quality = reading->quality ? reading->quality : &pass.unasked;
    enum mp_status status = spans_build(&pass, error);
    free(pass.instances);
    free(pass.label_names);
    nvtx_match_free(&pass.match);
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
