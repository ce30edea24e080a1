/* Which call launched which kernel, where nobody told: NVTX knows calls, and CUPTI launches.
 *
 *     thread   |- AllReduce -|     |- AllReduce -| |- AllReduce -|  |- ncclGroupEnd -|
 *                   launch                                              launch
 *
 * Outside of a group a call launches its kernel before it returns. In a group the calls wait for
 * the launch at the group's end. So a launch belongs to the call that it lies in, or else to all
 * calls of its thread since the last launch. Where these are of several communicators, each of them
 * has a kernel, and nothing says which one it is: such calls stay without a kernel.
 */
#include "reports/ranks/ranks_inside.h"

#include <stdlib.h>

#include "profile/reading.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

/* ---- When kernels were launched ---- */

static enum mp_status take_call(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_call_columns call = mp_call_columns(batch->columns);
    struct ranks_part *part = context;
    uint32_t index = mp_map_get(&part->by_correlation, call.correlation[row]);

    if (index == MP_MAP_ABSENT)
        return MP_OK;
    part->kernels[index].launch_thread = call.thread[row];
    part->kernels[index].launched = call.start[row];
    return MP_OK;
}

static const struct reading_table tables[] = {
    {MP_TABLE_call, MP_MASK(call, thread, start, correlation), .take_row = take_call},
};

/* ---- Calls and launches of a thread in order ---- */

/* A call or a launch. */
struct moment {
    uint64_t thread, time;
    size_t index;
    bool is_call, is_pair;
};

static int compare_moments(const void *left, const void *right)
{
    const struct moment *a = left;
    const struct moment *b = right;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (int)b->is_call - (int)a->is_call;
}

static bool wants_launch(const struct ranks_call *call)
{
    return !call->captured && !call->correlation;
}

static size_t list_moments(const struct ranks_part *part, struct moment *moments)
{
    size_t count = 0;

    for (size_t i = 0; i < part->call_count; i++) {
        const struct ranks_call *call = &part->calls[i];
        const char *name = definitions_text(&part->definitions, call->function);

        if (wants_launch(call))
            moments[count++] =
                (struct moment){call->thread, call->start, i, true, name && ranks_is_pair(name)};
    }
    for (size_t i = 0; i < part->kernel_count; i++) {
        const struct ranks_kernel *kernel = &part->kernels[i];

        if (kernel->launched)
            moments[count++] =
                (struct moment){kernel->launch_thread, kernel->launched, i, false, kernel->is_pair};
    }
    return count;
}

static bool lies_in(const struct ranks_call *call, uint64_t time)
{
    return time >= call->start && time - call->start <= call->duration;
}

/* Whether the calls from `first` to before `end` that the launch may carry are of one
 * communicator. */
static bool is_one_communicator(const struct ranks_part *part, const struct moment *moments,
                                size_t first, size_t end, bool is_pair)
{
    const struct ranks_call *seen = NULL;

    for (size_t i = first; i < end; i++) {
        const struct ranks_call *call = &part->calls[moments[i].index];

        if (!moments[i].is_call || moments[i].is_pair != is_pair || call->correlation)
            continue;
        if (seen && seen->communicator != call->communicator)
            return false;
        seen = call;
    }
    return true;
}

/* Gives the calls from `first` on, of the launch's kind, its correlation. */
static void claim(struct ranks_part *part, const struct moment *moments, size_t first,
                  size_t launch)
{
    const bool is_pair = moments[launch].is_pair;
    const struct ranks_kernel *kernel = &part->kernels[moments[launch].index];

    if (!is_one_communicator(part, moments, first, launch, is_pair))
        return;
    for (size_t i = first; i < launch; i++) {
        struct ranks_call *call = &part->calls[moments[i].index];

        if (moments[i].is_call && moments[i].is_pair == is_pair && !call->correlation)
            call->correlation = kernel->correlation;
    }
}

/* Goes through the moments of all threads. `first` is where the group that is open began: behind
 * the last launch that was followed by a call. */
static void claim_all(struct ranks_part *part, const struct moment *moments, size_t count)
{
    size_t first = 0;

    for (size_t i = 0; i < count; i++) {
        if (i && moments[i].thread != moments[i - 1].thread)
            first = i;
        if (moments[i].is_call) {
            if (i && !moments[i - 1].is_call)
                first = i;
            continue;
        }
        if (i > first && moments[i - 1].is_call &&
            lies_in(&part->calls[moments[i - 1].index], moments[i].time))
            first = i - 1;
        claim(part, moments, first, i);
    }
}

static bool needs_launches(const struct ranks_part *part)
{
    for (size_t i = 0; i < part->call_count; i++) {
        if (wants_launch(&part->calls[i]))
            return true;
    }
    return false;
}

enum mp_status ranks_find_launches(struct mp_trace *trace, struct ranks_part *part,
                                   struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace, .what = "the launches", .context = part, READING_TABLES(tables)};
    struct moment *moments;
    size_t count;

    if (!part->kernel_count || !needs_launches(part))
        return MP_OK;
    MP_TRY(reading_run(&reading, error));
    moments = calloc(part->call_count + part->kernel_count, sizeof *moments);
    if (!moments)
        return mp_error_set(error, MP_ERR_MEMORY, "cannot read the launches: out of memory");
    count = list_moments(part, moments);
    qsort(moments, count, sizeof *moments, compare_moments);
    claim_all(part, moments, count);
    free(moments);
    return MP_OK;
}
