/* The options --iterations and --iteration, which several commands have. They are read in one
 * place, so that their words and complaints are the same everywhere.
 */
#include "reports/common/iterations_by.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/text/strings.h"
#include "base/text/units.h"
#include "cli/command.h"

#include "base/poison.h"

/* Ways that take a name after a colon. */
static bool takes_name(enum iterations_way way)
{
    return way == ITERATIONS_NVTX || (way >= ITERATIONS_GRAPH && way < ITERATIONS_WHOLE);
}

bool iterations_by_parse(const char *how, struct iterations_options *options)
{
    for (int i = 0; how && i < ITERATIONS_WHOLE; i++) {
        enum iterations_way way = (enum iterations_way)i;
        const char *key = iterations_way_key(way);
        size_t length = strlen(key);
        bool named = !strncmp(how, key, length) && how[length] == ':' && how[length + 1];

        if (strcmp(how, key) != 0 && !(named && takes_name(way)))
            continue;
        options->way = way;
        options->name = named ? how + length + 1 : NULL;
        return true;
    }
    return false;
}

void iterations_by(const char *how, struct iterations_options *options)
{
    if (!how || iterations_by_parse(how, options))
        return;
    options->way = ITERATIONS_NVTX;
    options->name = how;
}

bool iterations_one(const char *command, struct iterations_values *values, bool names,
                    uint64_t *number)
{
    const char *one = values->one;

    *number = 0;
    if (!one || mp_text_to_u64(one, 1, UINT64_MAX, number))
        return true;
    if (names && !values->how && one[strspn(one, "0123456789")]) {
        values->how = one;
        return true;
    }
    complain(command, "--iteration takes a number from 1, not '%s'; --iterations takes a name",
             one);
    return false;
}

enum mp_status iterations_have(uint64_t number, size_t count, struct mp_error *error)
{
    if (number <= count)
        return MP_OK;
    return mp_error_set(error, MP_ERR_ARGUMENT,
                        "--iteration=%" PRIu64 " is past the last: there %s %s iteration%s", number,
                        count == 1 ? "is" : "are", mp_count(count).text, count == 1 ? "" : "s");
}

static enum mp_status copy_ranges(const struct deps *deps, const struct iterations *found,
                                  uint64_t number, struct nvtx_ranges *ranges)
{
    size_t first = number ? (size_t)number - 1 : 0;
    size_t end = number ? (size_t)number : found->count;

    ranges->items = calloc(found->count + 1, sizeof *ranges->items);
    if (!ranges->items)
        return MP_ERR_MEMORY;
    ranges->count = end - first;
    ranges->unfinished = found->unfinished;
    for (size_t i = first; i < end; i++) {
        const struct iteration *one = &found->items[i];

        ranges->items[i - first] = (struct nvtx_range){
            .begin = one->begin,
            .end = one->host_end,
            .thread = one->thread == DEPS_NONE ? 0 : deps->lanes[one->thread].id,
        };
    }
    return MP_OK;
}

static enum mp_status list_work(const struct deps *deps, const struct iterations *found,
                                struct layers_iterations *work, uint64_t **correlations)
{
    uint64_t *ids = calloc((size_t)(deps->count - deps->host_count) + 1, sizeof *ids);
    size_t count = 0;
    size_t kept = 0;

    if (!ids)
        return MP_ERR_MEMORY;
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (found->of[i] != DEPS_NONE && deps->activities[i].correlation)
            ids[count++] = deps->activities[i].correlation;
    }
    mp_sort_u64(ids, count);
    for (size_t i = 0; i < count; i++) {
        if (!kept || ids[kept - 1] != ids[i])
            ids[kept++] = ids[i];
    }
    *correlations = ids;
    *work = (struct layers_iterations){ids, kept, found->count};
    return MP_OK;
}

/* ---- For commands that have no event graph ---- */

/* The event graph of a trace and its iterations; both are freed by forget(). */
struct found {
    struct deps deps;
    struct iterations iterations;
};

static enum mp_status find(struct mp_trace *trace, const struct iterations_options *options,
                           struct found *found, struct mp_error *error)
{
    const struct deps_options graph = {.fronts = false};

    MP_TRY(deps_load(trace, &graph, &found->deps, error));
    enum mp_status status =
        iterations_find(&found->deps, trace, options, &found->iterations, error);
    if (status)
        deps_free(&found->deps);
    return status;
}

static void forget(struct found *found)
{
    iterations_free(&found->iterations);
    deps_free(&found->deps);
}

enum mp_status iterations_as_ranges(struct mp_trace *trace,
                                    const struct iterations_options *options, uint64_t number,
                                    struct nvtx_ranges *ranges, struct mp_error *error)
{
    struct found found;

    *ranges = (struct nvtx_ranges){.items = NULL};
    MP_TRY(find(trace, options, &found, error));
    enum mp_status status = iterations_have(number, found.iterations.count, error);
    if (!status && copy_ranges(&found.deps, &found.iterations, number, ranges) != MP_OK)
        status = mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    forget(&found);
    return status;
}

enum mp_status iterations_as_work(struct mp_trace *trace, const struct iterations_options *options,
                                  struct layers_iterations *work, uint64_t **correlations,
                                  struct mp_error *error)
{
    struct found found;

    *correlations = NULL;
    MP_TRY(find(trace, options, &found, error));
    enum mp_status status = list_work(&found.deps, &found.iterations, work, correlations);
    forget(&found);
    return status ? mp_error_set(error, status, "out of memory") : MP_OK;
}
