/* Which calls make the steps of MINIPROF_BASELINE, and what is told of them. No call takes any time
 * that counts: the first step is said to have ended long ago. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "record/core/call_log.h"
#include "record/core/clock.h"
#include "record/process/baseline.h"
#include "record/process/lifecycle.h"
#include "record/process/recorder.h"

#include "fake_context.h"

#include "base/poison.h"

static struct recorder recorder;
static struct call_entry told[64];
static unsigned told_count;

static void keep_entry(void *context, uint32_t tid, const struct call_entry *entry)
{
    (void)context;
    (void)tid;
    assert_true(told_count < sizeof(told) / sizeof(told[0]));
    told[told_count++] = *entry;
}

static int record(void **state)
{
    (void)state;
    memset(&recorder, 0, sizeof(recorder));
    atomic_store(&recorder.gpu.attach.done, true);
    told_count = 0;
    assert_int_equal(call_logs_open(&recorder.gpu.core.logs), MP_OK);
    atomic_store(&recorder.gpu.core.phase, PHASE_RECORDING);
    recorder.ranges.open = true;
    recorder.ranges.begun = 1;
    recorder.gpu.core.wanted.baseline = true;
    atomic_store(&recorder.baseline.first, 1);
    return 0;
}

static void call(uint32_t kind, CUpti_ApiCallbackSite site, CUresult result)
{
    const struct api_watch watch = {.sync_kind = (uint8_t)kind};
    const CUpti_CallbackData data = {.callbackSite = site, .functionReturnValue = &result};

    baseline_call(&recorder, &watch, &data);
}

static void wait_for_stream(CUresult result)
{
    call(MP_sync_kind_stream_synchronize, CUPTI_API_ENTER, result);
    call(MP_sync_kind_stream_synchronize, CUPTI_API_EXIT, result);
}

static void launch_graph(void)
{
    call(MP_sync_kind_graph_launch, CUPTI_API_ENTER, CUDA_SUCCESS);
    call(MP_sync_kind_graph_launch, CUPTI_API_EXIT, CUDA_SUCCESS);
}

static int chosen(void)
{
    return atomic_load(&recorder.baseline.chosen) - 1;
}

/* A step is from one call to the next, so the first call ends none. */
static void waits_become_steps_when_four_have_ended(void **state)
{
    (void)state;
    for (unsigned i = 0; i < BLOCK_CHOICE_STEPS; i++)
        wait_for_stream(CUDA_SUCCESS);
    wait_for_stream(CUDA_ERROR_NOT_READY);
    assert_int_equal(chosen(), -1);
    wait_for_stream(CUDA_SUCCESS);
    assert_int_equal(chosen(), BLOCK_SYNC);
}

static void graph_launches_stand_before_waits(void **state)
{
    (void)state;
    for (unsigned i = 0; i <= BLOCK_CHOICE_STEPS; i++)
        launch_graph();
    assert_int_equal(chosen(), BLOCK_GRAPH);
    for (unsigned i = 0; i <= BLOCK_CHOICE_STEPS; i++)
        wait_for_stream(CUDA_SUCCESS);
    assert_int_equal(chosen(), BLOCK_GRAPH);
}

/* They follow each other without a gap, and lie in the time of the test. */
static void chosen_steps_are_told_from_call_to_call(void **state)
{
    uint64_t from = mp_clock_now();

    (void)state;
    for (unsigned i = 0; i < BLOCK_CHOICE_STEPS + 4; i++)
        launch_graph();
    call_logs_drain(&recorder.gpu.core.logs, keep_entry, NULL);
    assert_int_equal(told_count, 3);
    for (unsigned i = 0; i < told_count; i++) {
        assert_int_equal(told[i].kind, CALL_ENTRY_STEP);
        assert_true(told[i].start >= from && told[i].start <= told[i].end);
        from = told[i].end;
        assert_true(i == 0 || told[i].start == told[i - 1].end);
    }
    assert_true(from <= mp_clock_now());
    assert_int_equal(atomic_load(&recorder.baseline.steps), 3);
}

static void outside_of_a_range_nothing_is_a_step(void **state)
{
    (void)state;
    recorder.ranges.open = false;
    for (unsigned i = 0; i < 3 * BLOCK_CHOICE_STEPS; i++)
        launch_graph();
    assert_int_equal(chosen(), -1);
}

/* As CUPTI calls back: a wait ends a step at its EXIT, also while the range is paused. */
static void callbacks_tell_of_steps(void **state)
{
    enum { CBID = 5 };
    CUresult result = CUDA_SUCCESS;
    uint64_t note = 0;
    CUpti_CallbackData data = {.functionReturnValue = &result, .correlationData = &note};

    (void)state;
    for (size_t i = 1; !recorder.gpu.api.watch[CBID]; i++)
        if (api_watches[i - 1].sync_kind == MP_sync_kind_stream_synchronize)
            recorder.gpu.api.watch[CBID] = (uint8_t)i;
    atomic_store(&recorder.gpu.core.paused, true);
    for (unsigned i = 0; i <= BLOCK_CHOICE_STEPS; i++) {
        assert_int_equal(chosen(), -1);
        data.callbackSite = CUPTI_API_ENTER;
        callbacks_take(&recorder, CUPTI_CB_DOMAIN_DRIVER_API, CBID, &data);
        assert_int_equal(chosen(), -1);
        data.callbackSite = CUPTI_API_EXIT;
        callbacks_take(&recorder, CUPTI_CB_DOMAIN_DRIVER_API, CBID, &data);
    }
    assert_int_equal(chosen(), BLOCK_SYNC);
}

/* ---- Switching ---- */

/* Waits that fill the first block, in one context; the flusher has nothing to do. Whether recording
 * pauses then. */
static bool pauses(uint32_t idle_after)
{
    struct work mark;

    fake_context_use(&recorder.gpu.driver, idle_after);
    recorder.gpu.cuda.contexts.count = 1;
    recorder.baseline.blocks.share = 50;
    recorder.ranges.posted = recorder.ranges.on = true;
    recorder.ranges.left = UINT64_MAX;
    assert_int_equal(work_queue_open(&recorder.gpu.core.work, 1), MP_OK);
    for (unsigned i = 0; i <= BLOCK_CHOICE_STEPS; i++)
        wait_for_stream(CUDA_SUCCESS);
    recorder.baseline.blocks.since = 1; /* it began long ago */
    for (unsigned i = 0; i < BLOCK_STEPS; i++) {
        assert_false(atomic_load(&recorder.gpu.core.paused));
        wait_for_stream(CUDA_SUCCESS);
    }
    assert_int_equal(work_take(&recorder.gpu.core.work, &mark),
                     atomic_load(&recorder.gpu.core.paused));
    work_queue_close(&recorder.gpu.core.work);
    return atomic_load(&recorder.gpu.core.paused);
}

static void a_block_ends_where_the_context_has_no_work(void **state)
{
    (void)state;
    assert_true(pauses(0));
}

static void a_block_goes_on_while_the_context_has_work(void **state)
{
    (void)state;
    assert_false(pauses(FAKE_NEVER));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(waits_become_steps_when_four_have_ended, record),
        cmocka_unit_test_setup(graph_launches_stand_before_waits, record),
        cmocka_unit_test_setup(chosen_steps_are_told_from_call_to_call, record),
        cmocka_unit_test_setup(outside_of_a_range_nothing_is_a_step, record),
        cmocka_unit_test_setup(callbacks_tell_of_steps, record),
        cmocka_unit_test_setup(a_block_ends_where_the_context_has_no_work, record),
        cmocka_unit_test_setup(a_block_goes_on_while_the_context_has_work, record),
    };

    return cmocka_run_group_tests_name("record/baseline", tests, NULL, NULL);
}
