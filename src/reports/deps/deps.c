/* The steps that make the event graph, in their order, and the result for one window. README.md in
 * this folder says what each step does.
 */
#include "reports/deps/deps.h"

#include <stdlib.h>
#include <string.h>

#include "reports/deps/build.h"
#include "reports/deps/lookup.h"

#include "base/poison.h"

enum mp_status deps_bind(struct deps *deps)
{
    deps->counts.undecided = 0;
    deps_bind_calls(deps);
    MP_TRY(deps_measure(deps));
    deps_bind_work(deps);
    return MP_OK;
}

static enum mp_status deps_build(struct deps_builder *builder, struct mp_trace *trace,
                                 struct mp_error *error)
{
    struct deps *deps = builder->deps;
    uint32_t by_time;

    MP_TRY(deps_count(builder, trace, error));
    MP_TRY(deps_read(builder, trace, error));
    deps_close_gaps(builder);
    MP_TRY(deps_add_unrecorded(builder));
    MP_TRY(deps_sort_lanes(builder));
    MP_TRY(deps_link(builder));
    MP_TRY(deps_find_wakers(deps));
    deps_group_threads(deps);
    deps_find_watchers(deps);
    deps_lay_stretches(deps);
    MP_TRY(deps_bind(deps));
    MP_TRY(deps_order_by_time(deps, &by_time));
    return by_time ? deps_bind(deps) : MP_OK;
}

static enum mp_status lay_peers(struct deps *deps, const struct peer_waits *peers)
{
    deps->peers = calloc((size_t)(deps->count - deps->host_count) + 1, sizeof *deps->peers);
    if (!deps->peers)
        return MP_ERR_MEMORY;
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        if (work->kind == DEPS_KERNEL)
            deps->peers[i - deps->host_count] =
                peer_waits_of(peers, work->begin, work->end - work->begin);
    }
    return MP_OK;
}

enum mp_status deps_load(struct mp_trace *trace, const struct deps_options *options,
                         struct deps *deps, struct mp_error *error)
{
    struct deps_builder builder = {.deps = deps,
                                   .style = options->style,
                                   .suffixes = options->suffixes,
                                   .check = options->check};
    enum mp_status status = MP_OK;

    *deps = (struct deps){.style = options->style};
    if (options->fronts) {
        deps->fronts = calloc(1, sizeof *deps->fronts);
        status = deps->fronts ? MP_OK : MP_ERR_MEMORY;
    }
    if (!status)
        status = deps_build(&builder, trace, error);
    if (!status && options->peers)
        status = lay_peers(deps, options->peers);
    deps_builder_free(&builder);
    if (!status)
        return MP_OK;
    deps_free(deps);
    if (status == MP_ERR_IO)
        return status;
    return mp_error_set(error, status, "cannot analyse the trace: %s", mp_status_name(status));
}

void deps_free(struct deps *deps)
{
    free(deps->activities);
    free(deps->copies);
    free(deps->waits);
    free(deps->stretches);
    free(deps->lanes);
    free(deps->launch_latencies);
    mp_map_free(&deps->launch_classes);
    mp_intern_free(&deps->names);
    if (deps->fronts)
        free(deps->fronts->items);
    free(deps->fronts);
    deps_less_free(&deps->recording);
    free(deps->recorded);
    free(deps->ranks);
    free(deps->peers);
    if (deps->profile)
        profile_free(deps->profile);
    free(deps->profile);
    *deps = (struct deps){.count = 0};
}

enum mp_status deps_less_new(size_t count, struct deps_less *less)
{
    *less = (struct deps_less){.before = calloc(count + 1, sizeof *less->before),
                               .within = calloc(count + 1, sizeof *less->within),
                               .own = calloc(count + 1, sizeof *less->own)};
    return less->before && less->within && less->own ? MP_OK : MP_ERR_MEMORY;
}

void deps_less_free(struct deps_less *less)
{
    free(less->before);
    free(less->within);
    free(less->own);
    *less = (struct deps_less){.before = NULL};
}

const char *deps_name(const struct deps *deps, const struct deps_activity *activity)
{
    return mp_intern_get(&deps->names, activity->name, NULL);
}

enum mp_status deps_result_init(const struct deps *deps, struct deps_result *result)
{
    *result = (struct deps_result){.row_count = deps->names.count + 1,
                                   .thread_count = deps->thread_count};
    result->rows = calloc(result->row_count, sizeof *result->rows);
    result->host = calloc((size_t)result->thread_count + 1, sizeof *result->host);
    if (result->rows && result->host)
        return MP_OK;
    deps_result_free(result);
    return MP_ERR_MEMORY;
}

void deps_result_clear(struct deps_result *result)
{
    memset(result->rows, 0, result->row_count * sizeof *result->rows);
    memset(result->parts, 0, sizeof result->parts);
    memset(result->host, 0, result->thread_count * sizeof *result->host);
    result->recording_inside = 0;
    result->by_time = 0;
    result->late_launches = 0;
    result->window = 0;
}

void deps_result_free(struct deps_result *result)
{
    free(result->rows);
    free(result->host);
    *result = (struct deps_result){.rows = NULL};
}
