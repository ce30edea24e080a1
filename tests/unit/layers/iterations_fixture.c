/* Scenes for the tests of iterations: built by deps_fixture.h, then found and measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit/layers/iterations_fixture.h"

struct iterations found;
struct iteration_measures *measures;
struct iterations_summary summary;

enum mp_status find_by(enum iterations_way way, const char *name, uint64_t range)
{
    struct iterations_options options = {.way = way, .name = name, .range = range};
    struct mp_error error = {.text = ""};
    enum mp_status status = iterations_find(&scene.deps, scene.trace, &options, &found, &error);

    assert_true((status == MP_OK) == !*error.text);
    return status;
}

/* Finds and measures; what must hold of any iteration does. */
void analyse(enum iterations_way way, const char *name, uint64_t range)
{
    assert_int_equal(find_by(way, name, range), MP_OK);
    measures = calloc(found.count, sizeof *measures);
    assert_non_null(measures);
    assert_int_equal(iterations_measure(&scene.deps, &found, measures), MP_OK);
    assert_int_equal(iterations_sum_up(&scene.deps, &found, measures, &summary), MP_OK);
    for (size_t i = 0; i < found.count; i++) {
        const uint64_t *values = measures[i].values;
        uint64_t idle = 0;

        assert_int_equal(values[ITERATION_BUSY] + values[ITERATION_OTHERS] + values[ITERATION_IDLE],
                         values[ITERATION_LATENCY]);
        for (int cause = ITERATION_IDLE_LAUNCH; cause <= ITERATION_IDLE_UNKNOWN; cause++)
            idle += values[cause];
        assert_int_equal(idle, values[ITERATION_IDLE]);
        assert_true(values[ITERATION_API] <= values[ITERATION_HOST]);
        assert_true(values[ITERATION_HOST] <= values[ITERATION_LATENCY]);
    }
}

void load(enum iterations_way way, const char *name, uint64_t range)
{
    scene_load();
    analyse(way, name, range);
}

void forget(void)
{
    iterations_summary_free(&summary);
    free(measures);
    iterations_free(&found);
}

void done(void)
{
    forget();
    scene_end(UNSOUND);
}

void expect_window(size_t index, uint64_t begin, uint64_t host_end, uint64_t end)
{
    assert_in_range(index, 0, found.count - 1);
    assert_int_equal(found.items[index].begin, begin * US);
    assert_int_equal(found.items[index].host_end, host_end * US);
    assert_int_equal(found.items[index].end, end * US);
}

void expect(size_t index, enum iteration_quantity quantity, uint64_t us)
{
    assert_int_equal(measures[index].values[quantity], us * US);
}

void expect_count(size_t index, enum iteration_quantity quantity, uint64_t count)
{
    assert_int_equal(measures[index].values[quantity], count);
}

/* ---- What programs do ---- */

static uint64_t last_correlation;

void begin_program(void)
{
    last_correlation = 0;
    scene_begin();
}

uint64_t next_correlation(void)
{
    return ++last_correlation;
}

void launch(uint64_t thread, uint64_t stream, const char *name, uint64_t at, uint64_t begin,
            uint64_t end)
{
    uint64_t correlation = next_correlation();

    put_call(thread, "cudaLaunchKernel", at, at + 2, correlation);
    put_kernel(stream, name, begin, end, correlation);
}

void copy(uint64_t thread, uint64_t stream, enum mp_copy_kind kind, uint64_t at, uint64_t begin,
          uint64_t end)
{
    uint64_t correlation = next_correlation();

    put_call(thread, "cudaMemcpyAsync", at, at + 2, correlation);
    put_copy(stream, kind, ASYNCHRONOUS, begin, end, correlation);
}

void launch_graph(uint64_t thread, uint64_t stream, uint64_t graph, uint64_t at, uint64_t begin,
                  uint64_t end)
{
    uint64_t correlation = next_correlation();
    uint64_t middle = begin + (end - begin) / 2;

    put_call(thread, "cudaGraphLaunch", at, at + 2, correlation);
    put_node(stream, "alpha", graph, 1, begin, middle, correlation);
    put_node(stream, "beta", graph, 2, middle, end, correlation);
}

void wait_for(uint64_t thread, uint64_t at, uint64_t end)
{
    put_call(thread, "cudaStreamSynchronize", at, end, next_correlation());
}

void mark(uint64_t thread, const char *domain, const char *name, uint64_t begin, uint64_t end)
{
    put_nvtx(MP_nvtx_kind_push, thread, domain, name, begin, 0);
    put_nvtx(MP_nvtx_kind_pop, thread, domain, NULL, end, 0);
}
