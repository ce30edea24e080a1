/* Folded stacks, one a line, for flame graphs: flamegraph.pl, inferno, speedscope.
 *
 *     step;layer 3;void gemm<float>(...) 128344
 *
 * The frames are the functions and lines that called, outermost first, where the trace has them
 * (--frames callers). Else, or with --frames ranges, they are the NVTX ranges around the launch,
 * and then the ranges in which the node of a graph was captured. The kernel or call comes last. A
 * part of the captured ranges that the launch is in already is left out, as `miniprof layers` does.
 * The number is ns:
 *
 *     device     of the GPU's work, as summary counts it
 *     waiting    that calls and threads waited, as `miniprof deps` counts it
 *     critical   on the critical path of the iterations, of work, calls and waits
 *
 * `;` separates frames, so in names it becomes `:`, and control characters
 * (base/text/foreign.h) become `?`. The weights of equal stacks are added up, and the lines are
 * printed in the order of their text. Memory: each different stack once, the ranges
 * (reports/nvtx/spans.h), and the paths of nodes.
 */
#include <inttypes.h>
#include <miniprof/trace.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/status.h"
#include "base/text/foreign.h"
#include "export/format.h"
#include "profile/nvtx/captured.h"
#include "profile/stacks/call_stacks.h"
#include "reports/nvtx/nvtx.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- The frames around a row ---- */

struct stacks {
    struct nvtx_spans spans;
    struct captured captured;
    struct call_stacks calls;
    struct mp_intern names;
    struct profile profile;
    uint32_t innermost;     /* kind of the last range that was added, + 1; 0: none */
    struct mp_buffer frame; /* of a caller */
    struct mp_buffer text;  /* status: MP_ERR_MEMORY */
};

#define MAX_DEPTH 1024 /* of nested ranges of one thread; inner ones are left out */

static enum mp_status stacks_open(struct stacks *stacks, struct mp_trace *trace,
                                  struct mp_error *error)
{
    const struct nvtx_reading reading = {.names = &stacks->names};

    MP_TRY(profile_load(&stacks->profile, trace, DEFINITIONS_TEXTS, error));
    MP_TRY(nvtx_spans_load(&stacks->spans, &stacks->profile, &reading, error));
    MP_TRY(captured_load(&stacks->captured, trace, error));
    return call_stacks_load(&stacks->calls, trace, error);
}

/* Reads ranges, paths and stacks, in separate passes. MP_ERR_IO, MP_ERR_MEMORY, MP_ERR_LIMIT;
 * stacks_close must be called in any case. */
static void stacks_close(struct stacks *stacks)
{
    nvtx_spans_free(&stacks->spans);
    captured_free(&stacks->captured);
    call_stacks_free(&stacks->calls);
    mp_buffer_free(&stacks->frame);
    mp_intern_free(&stacks->names);
    profile_free(&stacks->profile);
    mp_buffer_free(&stacks->text);
}

static void stacks_begin(struct stacks *stacks)
{
    stacks->text.size = 0;
    stacks->innermost = 0;
}

/* Adds a frame; NULL: without a name. */
static void stacks_add(struct stacks *stacks, const char *name)
{
    if (stacks->text.size)
        mp_buffer_append_byte(&stacks->text, ';');
    size_t begin = stacks->text.size;
    mp_buffer_append_text(&stacks->text, name && *name ? name : "(no name)");
    for (size_t i = begin; i < stacks->text.size; i++) {
        if (stacks->text.data[i] == ';')
            stacks->text.data[i] = ':';
    }
    if (stacks->text.size > begin) /* there was memory */
        stacks->text.size =
            begin + foreign_hide((char *)stacks->text.data + begin, stacks->text.size - begin);
}

/* Adds the stack of the call that made the work, the outermost frame first. False: it has none. */
static bool stacks_add_callers(struct stacks *stacks, uint64_t correlation, uint64_t node)
{
    const struct call_stacks *calls = &stacks->calls;
    uint32_t stack = call_stacks_of_work(calls, correlation, node);
    uint32_t chain[CALL_STACKS_DEPTH];
    size_t depth = 0;

    for (; stack && depth < CALL_STACKS_DEPTH; stack = call_stacks_caller(calls, stack))
        chain[depth++] = stack;
    for (size_t i = depth; i-- > 0;) {
        mp_buffer_clear(&stacks->frame);
        call_stacks_put_frame(&stacks->frame, calls, call_stacks_frame(calls, chain[i]), false);
        mp_buffer_append_byte(&stacks->frame, '\0');
        if (stacks->frame.status)
            stacks->text.status = stacks->frame.status;
        else
            stacks_add(stacks, (const char *)stacks->frame.data);
    }
    return depth != 0;
}

static void add_chain(struct stacks *stacks, uint32_t node)
{
    uint32_t kinds[MAX_DEPTH];
    size_t depth = 0;

    for (; node != NVTX_NONE && depth < MAX_DEPTH; node = stacks->spans.nodes[node].parent)
        kinds[depth++] = stacks->spans.nodes[node].kind;
    for (size_t i = depth; i-- > 0;)
        stacks_add(stacks, mp_intern_get(&stacks->names, stacks->spans.kinds[kinds[i]].name, NULL));
    if (depth)
        stacks->innermost = kinds[0] + 1;
}

/* Adds the ranges that a thread, by the trace's number, was in all the time from `begin` to `end`.
 */
static void stacks_add_ranges(struct stacks *stacks, uint64_t thread, uint64_t begin, uint64_t end)
{
    uint32_t index = mp_map_get(&stacks->spans.thread_index, thread);

    if (index == MP_MAP_ABSENT)
        return;
    const struct nvtx_thread *in = &stacks->spans.threads[index];
    for (uint32_t i = 0; i < in->lane_count; i++)
        add_chain(stacks, nvtx_spans_find(&stacks->spans, &stacks->spans.lanes[in->first_lane + i],
                                          begin, end));
}

static bool same_text(const char *a, const char *b)
{
    return !strcmp(a ? a : "", b ? b : "");
}

/* Whether a captured range is the innermost one of the launch. */
static bool is_innermost(const struct stacks *stacks, const struct captured_path *path)
{
    if (!stacks->innermost)
        return false;
    const struct nvtx_kind *kind = &stacks->spans.kinds[stacks->innermost - 1];
    return same_text(path->name, mp_intern_get(&stacks->names, kind->name, NULL)) &&
           same_text(path->domain,
                     kind->domain ? mp_intern_get(&stacks->names, kind->domain, NULL) : NULL);
}

/* Adds the ranges in which a node was captured; 0: no node. */
static void stacks_add_captured(struct stacks *stacks, uint64_t node)
{
    const struct captured_node *found = node ? captured_find(&stacks->captured, node) : NULL;
    const char *names[CAPTURED_MAX_DEPTH];
    size_t depth = 0;

    for (uint32_t at = found ? found->path : 0; at && depth < CAPTURED_MAX_DEPTH;) {
        const struct captured_path *path = captured_path(&stacks->captured, at);

        if (is_innermost(stacks, path))
            break;
        names[depth++] = path->name;
        at = path->parent;
    }
    while (depth-- > 0)
        stacks_add(stacks, names[depth]);
}

/* ---- The format ---- */

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

static const struct export_option options[] = {
    {"weight", "W",
     "folded: device time (default: device), waiting time of calls and threads (waiting), or time "
     "on the critical path (critical)"},
    {"frames", "F",
     "folded: functions that called, where they are known (default: callers), or NVTX ranges "
     "(ranges)"},
    {NULL, NULL, NULL},
};

static enum mp_status set(void *state, const char *name, const char *value, struct mp_error *error)
{
    struct folded *folded = state;

    if (!strcmp(name, "frames")) {
        folded->ranges_only = !strcmp(value, "ranges");
        if (folded->ranges_only || !strcmp(value, "callers"))
            return MP_OK;
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "unknown frames '%s'; there are callers, ranges", value);
    }
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

/* If there are capture ranges, waiting outside of them does not count, as in deps. */
static bool counts(const struct folded *folded, const struct export_row *row)
{
    return row->activity != DEPS_NONE && (folded->weight != WEIGHT_WAITING || row->capture_range ||
                                          !folded->analyses->deps.profile->ranges.items.count);
}

/* Adds up the pieces of a call around other calls. */
static uint64_t weight_of_call(const struct folded *folded, const struct export_row *row)
{
    const struct deps_activity *activities = folded->analyses->deps.activities;

    if (!counts(folded, row))
        return 0;
    uint64_t sum = weight_of(folded, row->activity);
    uint32_t last = activities[row->activity].last_of_call;
    for (uint32_t i = row->activity + 1; i <= last; i++) {
        if (activities[i].first_of_call == row->activity)
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

    MP_TRY(text->status);
    uint32_t id = mp_intern_add(&folded->texts, text->data, text->size);
    if (!id)
        return MP_ERR_MEMORY;
    while (folded->sum_count <= id) {
        MP_TRY(MP_RESERVE(folded->sums, folded->sum_count, folded->sum_capacity));
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

    if (!folded->analyses->known || row->activity == DEPS_NONE)
        return;
    uint32_t launch = deps->activities[row->activity].launch;
    if (launch == DEPS_NONE)
        return;
    const struct deps_activity *call = &deps->activities[launch];
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

    switch ((int)row->kind) {
    case EXPORT_KERNEL:
        return take_work(folded, row, export_row_kernel(row).node);
    case EXPORT_COPY:
        return take_work(folded, row, export_row_copy(row).node);
    case EXPORT_SET:
        return take_work(folded, row, export_row_set(row).node);
    case EXPORT_GRAPH:
        return take_work(folded, row, 0);
    case EXPORT_CALL:
        return folded->weight == WEIGHT_DEVICE
                   ? MP_OK
                   : take_host(folded, row, export_row_call(row).thread);
    case EXPORT_WAIT:
        return folded->weight == WEIGHT_DEVICE
                   ? MP_OK
                   : take_host(folded, row, export_row_wait(row).thread);
    case EXPORT_HOST_FUNCTION:
        return folded->weight == WEIGHT_CRITICAL
                   ? take_work(folded, row, export_row_host_function(row).node)
                   : MP_OK;
    default:
        return MP_OK;
    }
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
    .options = options,
    .set = set,
    .begin = begin,
    .process = start_process,
    .row = take_row,
    .process_end = end_process,
    .end = end,
    .release = release,
};
