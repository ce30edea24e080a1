/* The dependency analysis on files whose checksums fit, whatever they say: everything that deps.h
 * offers has an answer, and rows and parts sum to the window, of any trace.
 */
#include "mutate.h"
#include "walk.h"

#include "reports/advise/advise.h"
#include "reports/deps/deps.h"
#include "reports/iterations/iterations.h"
#include "reports/recording_cost/recording_cost.h"
#include "reports/replay/replay.h"

#define MAX_ROWS    20000 /* of a trace; bounds the time of one input */
#define MAX_WINDOWS 64
#define MAX_GAINS   3

/* ---- What holds for every trace ---- */

static uint64_t sum_of(const struct deps_result *result)
{
    uint64_t sum = 0;

    for (uint32_t i = 1; i < result->row_count; i++)
        sum += result->rows[i].critical;
    for (int i = 0; i < DEPS_PARTS; i++)
        sum += result->parts[i];
    return sum;
}

static void expect_path(const struct deps *deps, const struct deps_windows *windows,
                        struct deps_result *result)
{
    for (size_t i = 0; i < windows->count; i++) {
        uint64_t before = result->window;

        expect(windows->items[i].end >= windows->items[i].begin);
        deps_path(deps, &windows->items[i], result, NULL);
        expect(result->window - before == windows->items[i].end - windows->items[i].begin);
        expect(sum_of(result) == result->window);
    }
}

static void expect_what_if(const struct deps *deps, const struct deps_windows *windows,
                           const struct deps_result *result)
{
    struct deps_changes changes = {.items = NULL};
    struct deps_gains gains = {.count = 0};
    struct deps_what_if what_if;
    uint64_t *lengths = calloc(windows->count + 1, sizeof *lengths);
    uint64_t *slack = calloc(deps->count + (size_t)1, sizeof *slack);

    expect(deps_slack(deps, windows, slack) == MP_OK);
    expect(deps_replay(deps, NULL, windows, lengths) == MP_OK);
    expect(deps_changes_add(&changes, "*=0.5x", NULL) == MP_OK);
    expect(deps_changes_add(&changes, "launch=+3us", NULL) == MP_OK);
    expect(deps_replay(deps, &changes, windows, lengths) == MP_OK);
    expect(deps_what_if(deps, &changes, windows, &what_if) == MP_OK);
    deps_what_if_free(&what_if);
    deps_changes_free(&changes);
    if (result->row_count < 100)
        expect(deps_top_gains(deps, windows, &gains, MAX_GAINS) == MP_OK);
    for (size_t i = 1; i < gains.count; i++)
        expect(gains.items[i].gain <= gains.items[i - 1].gain);
    free(gains.items);
    free(slack);
    free(lengths);
}

static void expect_windows(const struct deps *deps, struct deps_windows *windows)
{
    struct deps_result result;
    struct deps_iterations iterations;

    if (windows->count > MAX_WINDOWS)
        windows->count = MAX_WINDOWS;
    expect(deps_result_init(deps, &result) == MP_OK);
    expect_path(deps, windows, &result);
    if (deps->fronts)
        expect_what_if(deps, windows, &result);
    expect(deps_iterations_build(deps, windows, &iterations) == MP_OK);
    expect(iterations.total.window == result.window);
    expect(sum_of(&iterations.total) == result.window);
    deps_iterations_free(&iterations);
    deps_result_free(&result);
}

/* Findings of any trace are in order, each has a number, and none gains nothing. */
static void expect_advice(const struct advise_input *input)
{
    struct advice advice;
    struct mp_error error;

    expect(advise_build(input, &advice, &error) == MP_OK);
    expect(advice.count <= ADVISE_RULES);
    for (size_t i = 0; i < advice.count; i++) {
        const struct advise_finding *finding = &advice.findings[i];

        expect(advice.reasons[finding->rule] == ADVISE_TRIED);
        expect(finding->gain && finding->percent >= 1 && finding->number_count);
        expect(!i || finding->gain <= finding[-1].gain);
    }
    advise_free(&advice);
}

/* What the time of an iteration is split into adds up to it. */
static void expect_measures(const struct iterations_study *study)
{
    for (size_t i = 0; i < study->iterations.count; i++) {
        const uint64_t *values = study->measures[i].values;
        uint64_t idle = 0;

        for (int cause = ITERATION_IDLE_LAUNCH; cause <= ITERATION_IDLE_UNKNOWN; cause++)
            idle += values[cause];
        expect(idle == values[ITERATION_IDLE]);
        expect(values[ITERATION_BUSY] + values[ITERATION_OTHERS] + idle ==
               values[ITERATION_LATENCY]);
        expect(values[ITERATION_API] <= values[ITERATION_HOST]);
        expect(values[ITERATION_HOST] <= values[ITERATION_LATENCY]);
    }
}

static void expect_ways(const struct deps *deps, struct mp_trace *trace)
{
    for (int way = ITERATIONS_AUTO; way < ITERATIONS_WHOLE; way++) {
        struct iterations_options options = {.way = (enum iterations_way)way};
        struct iterations_study study;
        enum mp_status status = iterations_study(deps, trace, &options, &study, NULL);
        const struct iterations *found = &study.iterations;

        if (status == MP_OK) {
            expect(found->count && found->pipelined < found->count);
            expect_measures(&study);
            if (deps->fronts)
                expect_advice(&(struct advise_input){deps, &study});
        } else {
            expect(status == MP_ERR_ARGUMENT && way != ITERATIONS_AUTO && !found->items);
        }
        iterations_study_free(&study);
    }
}

/* Whatever the trace says of CUPTI. */
static void lay_costs(struct deps *deps)
{
    struct costs costs;

    costs_built_in(&costs);
    expect(deps_less_new(deps->count, &deps->recording) == MP_OK);
    expect(recording_cost_by_activity(deps, &costs, &deps->recording) == MP_OK);
}

static void expect_analysis(struct mp_trace *trace, bool fronts)
{
    struct deps_options options = {.fronts = fronts};
    struct deps deps;
    struct deps_windows windows;
    enum mp_status status = deps_load(trace, &options, &deps, NULL);

    if (status != MP_OK) {
        expect(status != MP_ERR_MEMORY && !deps.activities && !deps.count);
        return;
    }
    lay_costs(&deps);
    expect(deps_windows_ranges(&deps, 0, &windows, NULL) == MP_OK);
    expect_windows(&deps, &windows);
    deps_windows_free(&windows);
    if (!fronts)
        expect_ways(&deps, trace);
    deps_free(&deps);
}

/* ---- The fuzzer ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mp_trace *trace = walk_open(data, size, NULL);

    if (trace && walk_count(trace) <= MAX_ROWS) {
        expect_analysis(trace, true);
        expect_analysis(trace, false);
    }
    mp_trace_close(trace);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return mutate_trace(data, size, max_size, seed);
}
