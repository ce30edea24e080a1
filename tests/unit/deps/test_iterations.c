/* Statistics over windows, and which of them is the slowest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include "reports/deps/deps.h"

/* ---- Windows ---- */

static struct deps_windows windows;
static struct deps_iterations iterations;

static void build(void)
{
    scene_load();
    assert_int_equal(scene_iterations("it", 0, &windows, NULL), MP_OK);
    assert_int_equal(deps_iterations_build(&scene.deps, &windows, &iterations), MP_OK);
}

static void done(void)
{
    scene_check(&windows, SOUND);
    deps_iterations_free(&iterations);
    deps_windows_free(&windows);
    scene_end(SOUND);
}

static uint32_t name_of(const char *name)
{
    return scene.deps.activities[find(name)].name;
}

/*     it 1    0-30    work 10
 *     it 2   30-90    work 40, and a wait of 5 for a        lengths 30, 60, 20
 *     it 3   90-110   nothing */
static void put_three(void)
{
    scene_begin();
    put_call(1, "work", 11, 21, 1);
    put_nvtx_range("it", 1, 31);
    put_launch(7, "a", 31, 36, 85, 2);
    put_call(1, "work", 40, 80, 3);
    put_stream_sync(7, 80, 87, 4);
    put_nvtx_range("it", 31, 91);
    put_nvtx_range("it", 91, 111);
}

static void rows_are_counted_in_all_windows(void **state)
{
    const struct statistics *work;

    (void)state;
    put_three();
    build();
    assert_true(iterations.window.mean == 110000.0 / 3);
    assert_int_equal(iterations.window.p50, 30000);
    assert_int_equal(iterations.window.p99, 60000);
    /* Of the second window: host 4, return 2, a 49, launch 5. work is on the first one's path
     * alone: 10 of 0, 0, 10. */
    work = &iterations.critical[name_of("work")];
    assert_true(work->mean == 10000.0 / 3);
    assert_int_equal(work->p50, 0);
    assert_int_equal(work->p99, 10000);
    assert_int_equal(iterations.critical[name_of("a")].max, 49000);
    assert_int_equal(iterations.waiting[name_of("cudaStreamSynchronize")].max, 5000);
    assert_int_equal(iterations.parts[DEPS_HOST_CODE].p50, 20000); /* 20, 4, 20 */
    assert_int_equal(iterations.parts[DEPS_RETURN].max, 2000);
    assert_int_equal(iterations.parts[DEPS_RETURN].min, 0);
    assert_int_equal(iterations.total.rows[name_of("work")].calls, 2);
    assert_int_equal(iterations.total.window, 110000);
    done();
}

static void windows_are_in_order_of_their_lengths(void **state)
{
    (void)state;
    put_three();
    build();
    assert_int_equal(iterations.by_length[0], 1);
    assert_int_equal(iterations.by_length[1], 0);
    assert_int_equal(iterations.by_length[2], 2);
    assert_int_equal(iterations.median, 0);
    done();
}

/* Of an even number P50 is the lower one of the middle. */
static void the_median_window_has_the_length_of_p50(void **state)
{
    static const uint64_t lengths[] = {40, 10, 30, 20, 30, 10, 60};

    (void)state;
    for (size_t count = 1; count <= sizeof lengths / sizeof *lengths; count++) {
        uint64_t at = 1;

        scene_begin();
        for (size_t i = 0; i < count; i++) {
            put_nvtx_range("it", at, at + lengths[i]);
            at += lengths[i];
        }
        build();
        assert_int_equal(lengths[iterations.median] * 1000, iterations.window.p50);
        for (size_t i = 1; i < count; i++)
            assert_true(lengths[iterations.by_length[i]] <= lengths[iterations.by_length[i - 1]]);
        done();
    }
}

static void no_windows_have_no_statistics(void **state)
{
    struct deps_windows none = {.items = NULL};

    (void)state;
    scene_begin();
    put_call(1, "work", 11, 21, 1);
    scene_load();
    assert_int_equal(deps_iterations_build(&scene.deps, &none, &iterations), MP_OK);
    assert_int_equal(iterations.window.max, 0);
    assert_int_equal(iterations.total.window, 0);
    deps_iterations_free(&iterations);
    scene_end(SOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_counted_in_all_windows),
        cmocka_unit_test(windows_are_in_order_of_their_lengths),
        cmocka_unit_test(the_median_window_has_the_length_of_p50),
        cmocka_unit_test(no_windows_have_no_statistics),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
