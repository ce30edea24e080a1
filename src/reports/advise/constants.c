/* constant_copies: copies to the device that look the same in every iteration, beside the input.
 *
 *     iteration 1   HtoD 600 KB, HtoD 4 KB, HtoD 256 B        the largest one is the input;
 *     iteration 2   HtoD 600 KB, HtoD 4 KB, HtoD 256 B        the others could be constants
 *
 * A trace has no contents, so only sizes, calls and their order are compared.
 */
#include <stdlib.h>

#include "base/data/sort.h"
#include "base/text/units.h"
#include "reports/advise/build.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

struct constants {
    uint32_t *copies; /* HtoD of iterations, by begin; owned */
    size_t count;
    uint32_t *places;  /* by iteration: copies so far; owned */
    uint32_t *model;   /* by place: the median iteration's copy; owned */
    bool *alike;       /* by place: all iterations that count have that copy; owned */
    uint32_t expected; /* places */
};

static bool begins_first(const void *context, uint32_t a, uint32_t b)
{
    const struct deps_activity *activities = context;

    return activities[a].begin < activities[b].begin;
}

static uint64_t bytes_of(const struct deps *deps, uint32_t index)
{
    return deps->copies[deps->activities[index].copy].bytes;
}

static bool is_input_copy(const struct advise *advise, uint32_t index)
{
    const struct deps_activity *work = &advise->deps->activities[index];

    return work->kind == DEPS_COPY && advise->iterations->of[index] != DEPS_NONE &&
           advise->deps->copies[work->copy].kind == MP_copy_kind_HtoD;
}

/* The name of what launched a copy, in deps->names; 0: not known. */
static uint32_t launcher(const struct deps *deps, uint32_t index)
{
    uint32_t launch = deps->activities[index].launch;

    return launch == DEPS_NONE ? 0 : deps->activities[launch].name;
}

static enum mp_status list_copies(const struct advise *advise, struct constants *constants)
{
    const struct deps *deps = advise->deps;
    size_t room = (size_t)deps->count - deps->host_count + 1;
    uint32_t *scratch = malloc(room * sizeof *scratch);

    constants->copies = malloc(room * sizeof *constants->copies);
    if (!constants->copies || !scratch) {
        free(scratch);
        return MP_ERR_MEMORY;
    }
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (is_input_copy(advise, i))
            constants->copies[constants->count++] = i;
    }
    mp_sort(constants->copies, constants->count, scratch, begins_first, deps->activities);
    free(scratch);
    return MP_OK;
}

static enum mp_status list_places(const struct advise *advise, struct constants *constants)
{
    constants->places = calloc(advise->iterations->count + 1, sizeof *constants->places);
    constants->model = calloc(constants->count + 1, sizeof *constants->model);
    constants->alike = calloc(constants->count + 1, sizeof *constants->alike);
    if (!constants->places || !constants->model || !constants->alike)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < constants->count; i++) {
        if (advise->iterations->of[constants->copies[i]] == advise->summary->median)
            constants->model[constants->expected++] = constants->copies[i];
    }
    return MP_OK;
}

/* Whether a copy is as the median iteration's at its place. */
static bool is_as_model(const struct deps *deps, const struct constants *constants, uint32_t place,
                        uint32_t copy)
{
    uint32_t model = constants->model[place];

    return bytes_of(deps, copy) == bytes_of(deps, model) &&
           launcher(deps, copy) == launcher(deps, model);
}

/* Finds the places at which all iterations that count agree, without those of the largest copies.
 * If the numbers of copies differ, it is none. */
static bool compare_places(const struct advise *advise, struct constants *constants)
{
    const struct deps *deps = advise->deps;
    uint64_t largest = 0;
    bool any = false;

    for (uint32_t place = 0; place < constants->expected; place++) {
        uint64_t bytes = bytes_of(deps, constants->model[place]);

        constants->alike[place] = true;
        largest = bytes > largest ? bytes : largest;
    }
    for (size_t i = 0; i < constants->count; i++) {
        uint32_t copy = constants->copies[i];
        uint32_t place = constants->places[advise->iterations->of[copy]]++;

        if (advise_counts(advise, copy) && place < constants->expected)
            constants->alike[place] &= is_as_model(deps, constants, place, copy);
    }
    for (size_t i = 0; i < advise->iterations->count; i++) {
        if (advise->regular[i] && constants->places[i] != constants->expected)
            return false;
        constants->places[i] = 0;
    }
    for (uint32_t place = 0; place < constants->expected; place++) {
        constants->alike[place] &= bytes_of(deps, constants->model[place]) < largest;
        any |= constants->alike[place];
    }
    return any;
}

/* Removes the copies at these places, with their calls; returns their bytes in the iterations that
 * count. */
static uint64_t remove_copies(struct advise *advise, struct constants *constants,
                              struct advise_picked *picked)
{
    const struct deps *deps = advise->deps;
    uint64_t bytes = 0;

    for (size_t i = 0; i < constants->count; i++) {
        uint32_t copy = constants->copies[i];
        uint32_t call = deps->activities[copy].launch;
        uint32_t place = constants->places[advise->iterations->of[copy]]++;

        if (place >= constants->expected || !constants->alike[place])
            continue;
        advise_edit_gone(advise, copy);
        if (call != DEPS_NONE && !(deps->activities[copy].flags & DEPS_NODE))
            for (uint32_t last = deps->activities[call].last_of_call; call <= last; call++)
                advise->edits[call] |= DEPS_EDIT_NO_WAIT;
        advise_picked_add(advise, picked, copy);
        bytes += advise_counts(advise, copy) ? bytes_of(deps, copy) : 0;
    }
    return bytes;
}

static enum mp_status judge_constants(struct advise *advise, struct advise_finding *finding,
                                      struct constants *constants, struct advise_picked *picked)
{
    char size[MP_FORMATTED_BYTES];
    uint64_t bytes;

    MP_TRY(list_copies(advise, constants));
    MP_TRY(list_places(advise, constants));
    if (!compare_places(advise, constants))
        return MP_OK;
    bytes = remove_copies(advise, constants, picked);
    if (!picked->count)
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = "the largest copy is the input, and these have the same contents in each "
                       "iteration: the trace does not have contents";
    mp_format_size(size, sizeof size, (uint64_t)advise_mean(advise, bytes));
    advise_evidence(finding,
                    "%s of %s copies to the device have the same size, call and place "
                    "in each iteration, and are not the largest; %s in %s",
                    mp_figure(advise_mean(advise, picked->count)).text,
                    mp_count(constants->expected).text, size,
                    advise_time(advise_mean(advise, picked->time)).text);
    advise_number(finding, "copies", advise_mean(advise, picked->count));
    advise_number(finding, "copied_bytes", advise_mean(advise, bytes));
    advise_number(finding, "copies_ns", advise_mean(advise, picked->time));
    advise_tally_lines(advise, &picked->tally, finding);
    return MP_OK;
}

enum mp_status advise_constant_copies(struct advise *advise, struct advise_finding *finding)
{
    struct constants constants = {.count = 0};
    struct advise_picked picked;
    enum mp_status status = advise_picked_init(&picked, advise->deps);

    if (!status)
        status = judge_constants(advise, finding, &constants, &picked);
    advise_tally_free(&picked.tally);
    free(constants.copies);
    free(constants.places);
    free(constants.model);
    free(constants.alike);
    return status;
}
