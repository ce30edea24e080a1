/* Findings when memory runs out: every allocation fails once, in turn. What is left behind, a
 * sanitizer finds (make SAN=address check).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "reports/advise/advise.h"
#include "unit/deps/deps_fixture.h"
#include "unit/failing_malloc.h"

static struct iterations_study study;

/* Every rule has something to look at. */
static void put_everything(void)
{
    scene_begin();
    use_stack(put_stack(0, "main", 1));
    for (uint64_t i = 0; i < 12; i++) {
        uint64_t t = 1000 + i * 300;
        uint64_t id = 100 * (i + 1);

        put_nvtx_range("it", t, t + 250 + (i == 7 ? 40 : 0));
        put_call(1, "cudaMalloc", t + 1, t + 9, id);
        put_call(1, "cudaMemcpy", t + 10, t + 22, id + 1);
        put_copy_of(7, MP_copy_kind_HtoD, PAGEABLE, 100000, t + 12, t + 20, id + 1);
        put_launch(7, "nchwToNhwc a", t + 30, t + 36, t + 39, id + 2);
        put_launch(7, "nchwToNhwc sgemm b", t + 37, t + 44, t + 47, id + 3);
        put_launch(7, "sgemm c", t + 44, t + 51, t + 54, id + 4);
        put_stream_sync(7, t + 50, t + 58, id + 5);
        put_launch(8, "d", t + 60, t + 66, t + 200, id + 6);
        put_nvtx_range("slow", t + 60, t + 66);
        put_nvtx_range("b", t + 37, t + 43);
        put_nvtx_range("c reformat", t + 44, t + 49);
        put_stream_sync(8, t + 70, t + 210 + (i == 7 ? 40 : 0), id + 7);
        put_call(1, "cudaGraphInstantiate", t + 212, t + 216, id + 8);
        put_call(1, "cuModuleLoadData", t + 216, t + 218, id + 9);
        put_call(2, "cuModuleLoadData", t + 100, t + 140, id + 10);
        mp_append_memory(scene.writer, &(struct mp_row_memory){.time = (t + 2) * 1000,
                                                               .correlation = id,
                                                               .pool = 1,
                                                               .pool_size = 4096});
        mp_append_pool(scene.writer, &(struct mp_row_pool){.operation = MP_pool_operation_trimmed,
                                                           .time = (t + 57) * 1000,
                                                           .correlation = id + 5,
                                                           .pool = 1});
        mp_append_jit(scene.writer, &(struct mp_row_jit){.start = (t + 101) * 1000,
                                                         .duration = 30000,
                                                         .correlation = id + 10});
        mp_append_unified(scene.writer, &(struct mp_row_unified){.kind = MP_unified_kind_bytes_HtoD,
                                                                 .value = 4096,
                                                                 .start = (t + 100) * 1000,
                                                                 .duration = 9000});
    }
    scene_load();
}

static void prepare(void)
{
    const struct iterations_options options = {.way = ITERATIONS_NVTX, .name = "it"};

    put_everything();
    assert_int_equal(iterations_study(&scene.deps, scene.trace, &options, &study, NULL), MP_OK);
}

static struct advice advice;

static enum mp_status advise(struct mp_error *error)
{
    return advise_build(&(struct advise_input){&scene.deps, &study}, &advice, error);
}

static void every_allocation_can_fail(void **state)
{
    (void)state;
    prepare();
    expect_memory_errors_of(advise, 30);
    assert_true(advice.count > 4);
    assert_int_equal(advice.path_count, 2);
    advise_free(&advice);
    iterations_study_free(&study);
    scene_end(UNSOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_can_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
