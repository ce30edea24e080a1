/* Loads the stacks and the event graph, and puts the parts together. A trace whose event graph is
 * not to be had still has device times by stack.
 */
#include "reports/stacks/stacks.h"

#include <stdlib.h>

#include "base/text/strings.h"
#include "reports/stacks/build.h"

#include "base/poison.h"

/* A number among the properties of the header. */
static uint64_t property(const struct mp_trace *trace, const char *key, uint64_t preset)
{
    const char *text = mp_trace_property(trace, key);
    uint64_t value;

    return text && mp_text_to_u64(text, 0, UINT32_MAX, &value) ? value : preset;
}

static enum mp_status weigh(struct stacks_making *making, struct mp_trace *trace,
                            struct mp_error *error)
{
    struct stacks_result *result = making->result;
    const struct deps_options options = {.style = NAMES_MANGLED};
    struct deps deps;
    enum mp_status status;

    making->weight_count = result->stacks.links.count + 1;
    making->weights = calloc(making->weight_count, sizeof *making->weights);
    if (!making->weights)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    status = deps_load(trace, &options, &deps, error);
    if (status && status != MP_ERR_LIMIT)
        return status;
    result->has_times = !status && !quality_gap(&deps.quality);
    making->deps = status ? NULL : &deps;
    status = host_samples_load(&making->samples, trace, error);
    if (!status)
        stacks_weigh_samples(making);
    if (!status)
        status = stacks_weigh(making, trace, error);
    if (making->deps)
        deps_free(&deps);
    making->deps = NULL;
    if (!status && stacks_make_rows(making))
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
    enum mp_status status;

    *result = (struct stacks_result){
        .asked = call_stacks_asked(trace),
        .every = property(trace, "MINIPROF_STACKS_EVERY", 1),
        .over = property(trace, "MINIPROF_STACKS_OVER", 0),
    };
    definitions_init(&result->definitions, trace);
    quality_init(&result->quality, trace);
    result->quality.only = options->range;
    status = ranges_open(&ranges, trace, options->range, &making.range, error);
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
