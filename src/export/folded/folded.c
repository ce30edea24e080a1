/* Adds the weights of equal stacks up, and prints them in the order of their text. */
#include "export/folded/folded.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/reserve.h"
#include "export/folded/stacks.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

#define CELL(table, column) (row->columns[MP_COLUMN_##table##_##column][row->index])

enum weight { WEIGHT_DEVICE, WEIGHT_WAITING, WEIGHT_CRITICAL, WEIGHTS };

static const char *const weights[WEIGHTS] = {"device", "waiting", "critical"};

struct folded {
    FILE *out; /* not owned */
    enum weight weight;
    bool ranges_only; /* also where callers are known */
    const struct export_process *process;
    const struct export_analyses *analyses;
    struct stacks stacks;
    bool stacks_are_open;
    struct mp_intern texts; /* the stacks */
    uint64_t *sums;         /* ns, by number of the text; [0] is unused */
    size_t sum_count, sum_capacity;
};

static enum mp_status set_frames(struct folded *folded, const char *value, struct mp_error *error)
{
    folded->ranges_only = !strcmp(value, "ranges");
    if (folded->ranges_only || !strcmp(value, "callers"))
        return MP_OK;
    return mp_error_set(error, MP_ERR_ARGUMENT, "unknown frames '%s'; there are callers, ranges",
                        value);
}

static enum mp_status set(void *state, const char *key, const char *value, struct mp_error *error)
{
    struct folded *folded = state;

    if (!strcmp(key, "frames"))
        return set_frames(folded, value, error);
    if (strcmp(key, "weight") != 0)
        return mp_error_set(error, MP_ERR_ARGUMENT, "--to folded has no option --%s", key);
    for (unsigned i = 0; i < WEIGHTS; i++) {
        if (!strcmp(value, weights[i])) {
            folded->weight = (enum weight)i;
            return MP_OK;
        }
    }
    return mp_error_set(error, MP_ERR_ARGUMENT,
                        "unknown weight '%s'; there are device, waiting, critical", value);
}

static enum mp_status begin(void *state, FILE *out, const char *path, size_t processes,
                            struct mp_error *error)
{
    (void)path;
    (void)processes;
    (void)error;
    ((struct folded *)state)->out = out;
    return MP_OK;
}

static enum mp_status start_process(void *state, const struct export_process *process,
                                    struct mp_error *error)
{
    struct folded *folded = state;

    folded->process = process;
    folded->analyses = export_rows_analyses(process->rows);
    if (folded->weight != WEIGHT_DEVICE && !folded->analyses->known)
        return mp_error_set(error, MP_ERR_ARGUMENT, "--weight %s needs the analyses%s%s",
                            weights[folded->weight], *folded->analyses->why_not ? ": " : "",
                            folded->analyses->why_not);
    folded->stacks_are_open = true;
    return stacks_open(&folded->stacks, process->trace, error);
}

/* ---- Weights ---- */

static uint64_t weight_of(const struct folded *folded, uint32_t activity)
{
    const struct deps *deps = &folded->analyses->deps;

    if (folded->weight == WEIGHT_WAITING)
        return deps_waiting(deps, &deps->activities[activity]);
    return folded->analyses->critical ? folded->analyses->critical[activity] : 0;
}

/* Waiting counts in capture ranges only, if there are any, as deps counts it. */
static bool counts(const struct folded *folded, const struct export_row *row)
{
    return row->activity != DEPS_NONE && (folded->weight != WEIGHT_WAITING || row->capture_range ||
                                          !folded->analyses->deps.ranges.items.count);
}

/* A call around other calls is in pieces. */
static uint64_t weight_of_call(const struct folded *folded, const struct export_row *row)
{
    const struct deps_activity *activities = folded->analyses->deps.activities;
    uint64_t sum;
    uint32_t last;

    if (!counts(folded, row))
        return 0;
    sum = weight_of(folded, row->activity);
    last = activities[row->activity].flags & DEPS_CONTINUES ? activities[row->activity].stream_pred
                                                            : row->activity;
    for (uint32_t i = row->activity + 1; i <= last; i++) {
        if (activities[i].flags & DEPS_CONTINUED && activities[i].launch == row->activity)
            sum += weight_of(folded, i);
    }
    return sum;
}

static uint64_t weight_of_work(const struct folded *folded, const struct export_row *row)
{
    if (folded->weight == WEIGHT_DEVICE)
        return row->duration <= INT64_MAX ? row->duration : 0;
    return folded->weight == WEIGHT_WAITING || row->activity == DEPS_NONE
               ? 0
               : weight_of(folded, row->activity);
}

/* ---- Stacks ---- */

static enum mp_status add_up(struct folded *folded, uint64_t weight)
{
    struct mp_buffer *text = &folded->stacks.text;
    uint32_t id;

    MP_TRY(text->status);
    id = mp_intern_add(&folded->texts, text->data, text->size);
    if (!id)
        return MP_ERR_MEMORY;
    while (folded->sum_count <= id) {
        MP_TRY(mp_reserve((void **)&folded->sums, folded->sum_count, &folded->sum_capacity,
                          sizeof *folded->sums));
        folded->sums[folded->sum_count++] = 0;
    }
    folded->sums[id] += weight;
    return MP_OK;
}

static void begin_stack(struct folded *folded)
{
    stacks_begin(&folded->stacks);
    if (folded->process->count > 1)
        stacks_add(&folded->stacks, folded->process->who->label);
}

static bool add_callers(struct folded *folded, const struct export_row *row, uint64_t node)
{
    return !folded->ranges_only && row->kind != EXPORT_WAIT &&
           stacks_add_callers(&folded->stacks, row->correlation, node);
}

static enum mp_status take_host(struct folded *folded, const struct export_row *row,
                                uint64_t thread)
{
    uint64_t weight = weight_of_call(folded, row);

    if (!weight)
        return MP_OK;
    begin_stack(folded);
    if (!add_callers(folded, row, 0))
        stacks_add_ranges(&folded->stacks, thread, row->start, row->start + row->duration);
    stacks_add(&folded->stacks, row->name.text);
    return add_up(folded, weight);
}

static void add_launch(struct folded *folded, const struct export_row *row)
{
    const struct deps *deps = &folded->analyses->deps;
    const struct deps_activity *call;
    uint32_t launch;

    if (!folded->analyses->known || row->activity == DEPS_NONE)
        return;
    launch = deps->activities[row->activity].launch;
    if (launch == DEPS_NONE)
        return;
    call = &deps->activities[launch];
    stacks_add_ranges(&folded->stacks, deps->lanes[call->lane].id, call->begin, call->begin + 1);
}

static enum mp_status take_work(struct folded *folded, const struct export_row *row, uint64_t node)
{
    uint64_t weight = weight_of_work(folded, row);

    if (!weight)
        return MP_OK;
    begin_stack(folded);
    if (!add_callers(folded, row, node)) {
        add_launch(folded, row);
        stacks_add_captured(&folded->stacks, node);
    }
    stacks_add(&folded->stacks, row->name.text);
    return add_up(folded, weight);
}

static enum mp_status take_row(void *state, const struct export_row *row)
{
    struct folded *folded = state;

    switch (row->kind) {
    case EXPORT_KERNEL:
        return take_work(folded, row, CELL(kernel, node));
    case EXPORT_COPY:
        return take_work(folded, row, CELL(copy, node));
    case EXPORT_SET:
        return take_work(folded, row, CELL(set, node));
    case EXPORT_GRAPH:
        return take_work(folded, row, 0);
    case EXPORT_CALL:
        return folded->weight == WEIGHT_DEVICE ? MP_OK : take_host(folded, row, CELL(call, thread));
    case EXPORT_WAIT:
        return folded->weight == WEIGHT_DEVICE ? MP_OK : take_host(folded, row, CELL(wait, thread));
    case EXPORT_HOST_FUNCTION:
        return folded->weight == WEIGHT_CRITICAL ? take_work(folded, row, CELL(host_function, node))
                                                 : MP_OK;
    case EXPORT_SYNC:
    case EXPORT_RANGE:
    case EXPORT_MARK:
    case EXPORT_MEMORY:
    case EXPORT_POOL:
    case EXPORT_UNIFIED:
    case EXPORT_OVERHEAD:
    case EXPORT_COLLECTIVE:
    case EXPORT_METRIC:
    case EXPORT_KINDS:
        break;
    }
    return MP_OK;
}

static enum mp_status end_process(void *state, struct mp_error *error)
{
    struct folded *folded = state;

    (void)error;
    stacks_close(&folded->stacks);
    folded->stacks = (struct stacks){.innermost = 0};
    folded->stacks_are_open = false;
    return MP_OK;
}

/* ---- The end ---- */

struct line {
    const char *text;
    uint64_t sum;
};

static int compare_lines(const void *a, const void *b)
{
    return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

static enum mp_status end(void *state, struct mp_error *error)
{
    struct folded *folded = state;
    struct line *lines = calloc(folded->texts.count + 1, sizeof *lines);

    if (!lines)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for %u stacks", folded->texts.count);
    for (uint32_t i = 0; i < folded->texts.count; i++)
        lines[i] = (struct line){mp_intern_get(&folded->texts, i + 1, NULL), folded->sums[i + 1]};
    qsort(lines, folded->texts.count, sizeof *lines, compare_lines);
    for (uint32_t i = 0; i < folded->texts.count; i++)
        fprintf(folded->out, "%s %" PRIu64 "\n", lines[i].text, lines[i].sum);
    free(lines);
    return MP_OK;
}

static void release(void *state)
{
    struct folded *folded = state;

    if (folded->stacks_are_open)
        stacks_close(&folded->stacks);
    mp_intern_free(&folded->texts);
    free(folded->sums);
}

const struct export_format export_folded = {
    .key = "folded",
    .suffix = ".folded",
    .help = "stacks for flame graphs: callers or NVTX ranges, and kernels (--weight, --frames)",
    .state_bytes = sizeof(struct folded),
    .analyses = true,
    .set = set,
    .begin = begin,
    .process = start_process,
    .row = take_row,
    .process_end = end_process,
    .end = end,
    .release = release,
};
