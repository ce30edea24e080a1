/* record/waits: the ring through which threads hand waits to the writer; which spans belong to a
 * capture range; what the library with the waits is asked for.
 */
#include "record/waits/waits.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/preload.h"
#include "record/names/capture.h"
#include "record/process/recorder.h"

#include "base/poison.h"

static struct waits waits;

static bool put(uint64_t begin, uint32_t thread, bool *half)
{
    return waits_put(&waits, &(struct mp_preload_wait){.begin = begin, .thread = thread}, half);
}

static void waits_come_in_order(void **state)
{
    struct mp_preload_wait wait;
    bool half;

    (void)state;
    memset(&waits, 0, sizeof waits);
    assert_false(waits_take(&waits, &wait));
    for (uint64_t lap = 0; lap < 5; lap++) {
        for (uint64_t i = 0; i < WAITS_SLOTS - 7; i++)
            assert_true(put(lap << 32 | i, 1, &half));
        for (uint64_t i = 0; i < WAITS_SLOTS - 7; i++) {
            assert_true(waits_take(&waits, &wait));
            assert_true(wait.begin == (lap << 32 | i));
        }
        assert_false(waits_take(&waits, &wait));
    }
    assert_int_equal(waits.lost, 0);
}

static void a_full_ring_loses_and_counts(void **state)
{
    struct mp_preload_wait wait;
    unsigned halves = 0;
    bool half;

    (void)state;
    memset(&waits, 0, sizeof waits);
    for (uint64_t i = 0; i < WAITS_SLOTS; i++) {
        assert_true(put(i, 1, &half));
        halves += half;
    }
    assert_int_equal(halves, 1);
    for (unsigned i = 0; i < 10; i++)
        assert_false(put(i, 2, &half));
    assert_int_equal(waits.lost, 10);
    assert_true(waits_take(&waits, &wait));
    assert_int_equal(wait.begin, 0);
    assert_true(put(99, 1, &half));
    assert_false(put(99, 1, &half));
}

/* Each thread's waits arrive in its order, or are counted as lost. */
#define THREADS 4u
#define EACH    200000u

static void *put_main(void *argument)
{
    bool half;

    for (uint64_t i = 1; i <= EACH; i++)
        if (!put(i, (uint32_t)(uintptr_t)argument, &half))
            sched_yield();
    return NULL;
}

static void threads_put_at_once(void **state)
{
    uint64_t last[THREADS] = {0};
    pthread_t threads[THREADS];
    struct mp_preload_wait wait;
    uint64_t taken = 0;

    (void)state;
    memset(&waits, 0, sizeof waits);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_main, (void *)i), 0);
    while (taken + waits.lost < (uint64_t)THREADS * EACH) {
        if (!waits_take(&waits, &wait)) {
            sched_yield();
            continue;
        }
        taken++;
        assert_in_range(wait.thread, 0, THREADS - 1);
        assert_true(wait.begin > last[wait.thread]);
        last[wait.thread] = wait.begin;
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_false(waits_take(&waits, &wait));
    assert_true(taken + waits.lost == (uint64_t)THREADS * EACH);
}

/* ---- Ranges ---- */

static void spans_that_touch_a_range_are_kept(void **state)
{
    static const struct {
        uint64_t begin, end;
        bool kept;
    } spans[] = {
        {10, 90, false},    {10, 100, false}, /* ends as the range begins */
        {10, 101, true},    {10, 500, true},   {100, 200, true},
        {120, 130, true},   {199, 250, true},  {200, 250, false}, /* begins as it ends */
        {250, 290, false},  {250, 301, true},  {150, 350, true},
        {399, 10000, true}, {400, 401, false}, {401, 9999, false},
    };
    struct capture *capture = calloc(1, sizeof *capture);

    (void)state;
    capture_open(capture, MP_CAPTURE_RANGE, false);
    assert_false(capture_keeps_span(capture, 1, 1000));
    capture_start(capture, 100, 1, true);
    assert_true(capture_keeps_span(capture, 1, 1000));
    capture_stop(capture, 200, 2);
    capture_start(capture, 300, 3, true);
    capture_stop(capture, 400, 4);
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        assert_int_equal(capture_keeps_span(capture, spans[i].begin, spans[i].end), spans[i].kept);
    free(capture);
}

/* ---- What is asked for ---- */

static struct recorder recorder;

static bool covers(const struct mp_preload_code *code, const void *symbol)
{
    uintptr_t address = (uintptr_t)symbol;

    return address >= atomic_load(&code->begin) && address < atomic_load(&code->end);
}

static void ask(struct mp_preload *preload)
{
    waits_ask(&recorder.waits, &recorder.stacks, &recorder.gpu.core, preload,
              (uintptr_t)recorder.gpu.cupti.flush_all);
}

/* CUPTI is a function of libc here. */
static void waits_of_the_recorder_and_of_cupti_are_left_alone(void **state)
{
    static struct mp_preload preload;
    const void *in_libc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");

    (void)state;
    assert_non_null(in_libc);
    memcpy(&recorder.gpu.cupti.flush_all, &in_libc, sizeof in_libc);
    recorder.gpu.core.config.waits = MP_SWITCH_ON;
    ask(&preload);
    assert_true(covers(&preload.left_alone[0], &waits)); /* of this program, as the recorder is */
    assert_false(covers(&preload.left_alone[0], in_libc));
    assert_true(covers(&preload.left_alone[1], in_libc));
    assert_false(covers(&preload.left_alone[1], &waits));
    assert_non_null(atomic_load(&preload.waited));
    waits_stop(&recorder.waits);
    assert_null(atomic_load(&preload.waited));
}

static void without_waits_nothing_is_asked_for(void **state)
{
    static struct mp_preload preload;

    (void)state;
    recorder.gpu.core.config.waits = MP_SWITCH_OFF;
    ask(&preload);
    assert_null(atomic_load(&preload.waited));
    recorder.gpu.core.config.waits = MP_SWITCH_ON;
    ask(NULL);
    assert_null(atomic_load(&preload.waited));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_come_in_order),
        cmocka_unit_test(a_full_ring_loses_and_counts),
        cmocka_unit_test(threads_put_at_once),
        cmocka_unit_test(spans_that_touch_a_range_are_kept),
        cmocka_unit_test(waits_of_the_recorder_and_of_cupti_are_left_alone),
        cmocka_unit_test(without_waits_nothing_is_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
