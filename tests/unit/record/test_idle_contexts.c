/* How the recorder finds out that a context is idle, without waiting longer than it may. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "record/core/call_log.h"
#include "record/cupti/contexts.h"
#include "record/process/recorder.h"

#include "fake_context.h"

#include "base/poison.h"

#define LONG UINT64_C(60000000000) /* no test waits for so long, ns */

static struct recorder recorder;
static bool busy_during_look;
static CUstreamCaptureMode mode_now; /* of this thread */

static int open_recorder(void **state)
{
    (void)state;
    memset(&recorder, 0, sizeof(recorder));
    atomic_store(&recorder.gpu.attach.done, true);
    assert_int_equal(call_logs_open(&recorder.gpu.core.logs), MP_OK);
    call_log_mine(&recorder.gpu.core.logs)->busy = false;
    return 0;
}

/* Whatever the answer, the context is popped and the event destroyed. */
static bool becomes_idle(uint64_t limit)
{
    bool idle = contexts_current_becomes_idle(&recorder.gpu, limit);

    assert_int_equal(fake_context.pushed, fake_context.popped);
    assert_int_equal(fake_context.created, fake_context.destroyed);
    return idle;
}

static void one_look_finds_an_idle_context(void **state)
{
    (void)state;
    fake_context_use(&recorder.gpu.driver, 0);
    assert_true(becomes_idle(0));
    assert_int_equal(fake_context.looks, 1);
}

static void without_a_limit_it_only_looks(void **state)
{
    (void)state;
    fake_context_use(&recorder.gpu.driver, 1);
    assert_false(becomes_idle(0));
    assert_int_equal(fake_context.looks, 1);
}

static void it_looks_until_the_context_is_idle(void **state)
{
    (void)state;
    fake_context_use(&recorder.gpu.driver, 5);
    assert_true(becomes_idle(LONG));
    assert_int_equal(fake_context.looks, 6);
}

static void a_context_that_is_never_idle_is_left_at_the_limit(void **state)
{
    (void)state;
    fake_context_use(&recorder.gpu.driver, FAKE_NEVER);
    assert_false(becomes_idle(1000000));
    assert_int_equal(fake_context.created, 1);
}

static void an_error_of_the_program_is_no_idle_context(void **state)
{
    (void)state;
    fake_context_use(&recorder.gpu.driver, 0);
    fake_context.ended = CUDA_ERROR_LAUNCH_FAILED;
    assert_false(becomes_idle(LONG));
    fake_context_use(&recorder.gpu.driver, 0);
    fake_context.record = CUDA_ERROR_INVALID_CONTEXT;
    assert_false(becomes_idle(LONG));
    assert_int_equal(fake_context.looks, 0);
}

static void a_captured_stream_is_left_alone(void **state)
{
    (void)state;
    fake_context_use(&recorder.gpu.driver, 0);
    atomic_store(&recorder.gpu.cuda.stream_captures, 1);
    assert_false(becomes_idle(LONG));
    assert_int_equal(fake_context.pushed, 0);
}

/* Without callbacks any stream may be captured, unless the preloaded library tells of captures. At
 * the process's end the context is looked at all the same. */
static void without_callbacks_the_current_context_is_left_alone(void **state)
{
    CUcontext context = NULL;

    (void)state;
    fake_context_use(&recorder.gpu.driver, 0);
    recorder.gpu.driver.get_current(&context);
    atomic_store(&recorder.gpu.cupti_state.callbacks_taken, true);
    assert_false(contexts_current_becomes_idle(&recorder.gpu, LONG));
    assert_null(contexts_watch_current(&recorder.gpu, &(CUcontext){NULL}));
    assert_int_equal(fake_context.pushed, 0);
    assert_true(contexts_become_idle(&recorder.gpu, &context, 1, LONG));
    recorder.gpu.attach.preload = (struct mp_preload *)&recorder; /* it is only there */
    assert_true(becomes_idle(LONG));
    atomic_store(&recorder.gpu.cuda.captures_reported, 1);
    assert_false(becomes_idle(LONG));
    assert_false(contexts_become_idle(&recorder.gpu, &context, 1, LONG));
}

/* Nor before CUPTI comes. */
static void before_callbacks_the_current_context_is_left_alone(void **state)
{
    (void)state;
    fake_context_use(&recorder.gpu.driver, 0);
    atomic_store(&recorder.gpu.attach.done, false);
    assert_false(becomes_idle(LONG));
    recorder.gpu.attach.preload = (struct mp_preload *)&recorder;
    assert_true(becomes_idle(LONG));
}

static CUresult begin_capture_during(CUcontext context, CUevent event)
{
    (void)context, (void)event;
    assert_int_equal(atomic_load(&recorder.gpu.cuda.capture_breakers), 1);
    return CUDA_SUCCESS;
}

/* A capture that begins waits for the call that would break it, and no such call is made while it
 * begins. */
static void a_capture_and_a_look_see_each_other(void **state)
{
    (void)state;
    fake_context_use(&recorder.gpu.driver, 0);
    recorder.gpu.driver.record_context = begin_capture_during;
    assert_true(becomes_idle(LONG));
    assert_int_equal(atomic_load(&recorder.gpu.cuda.capture_breakers), 0);
    contexts_capture_begins(&recorder.gpu); /* returns at once */
    assert_false(becomes_idle(LONG));
    assert_int_equal(fake_context.created, 1);
    contexts_capture_began(&recorder.gpu);
    assert_true(becomes_idle(LONG));
}

static CUresult exchange(CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode before = mode_now;

    mode_now = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

static CUresult look_at_mode(CUevent event)
{
    (void)event;
    return mode_now == CU_STREAM_CAPTURE_MODE_RELAXED ? CUDA_SUCCESS
                                                      : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* cuEventQuery breaks captures of other threads unless this thread's mode is relaxed. */
static void it_looks_in_relaxed_mode(void **state)
{
    (void)state;
    fake_context_use(&recorder.gpu.driver, 0);
    recorder.gpu.driver.query_event = look_at_mode;
    recorder.gpu.driver.exchange_capture_mode = exchange;
    mode_now = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    assert_true(becomes_idle(LONG));
    assert_int_equal(mode_now, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

static void a_driver_without_the_call_cannot_tell(void **state)
{
    (void)state;
    fake_context_use(&recorder.gpu.driver, 0);
    recorder.gpu.driver.record_context = NULL;
    assert_false(contexts_can_be_watched(&recorder.gpu.driver));
    assert_false(becomes_idle(LONG));
    assert_int_equal(fake_context.pushed, 0);
}

static void all_contexts_have_to_be_idle(void **state)
{
    const CUcontext items[] = {FAKE_CONTEXT, (CUcontext)(uintptr_t)0x30, FAKE_CONTEXT};

    (void)state;
    fake_context_use(&recorder.gpu.driver, 0);
    assert_true(contexts_become_idle(&recorder.gpu, items, 1, LONG));
    assert_false(contexts_become_idle(&recorder.gpu, items, 3, LONG));
    assert_int_equal(fake_context.pushed, 2);
}

static CUresult look(CUevent event)
{
    (void)event;
    busy_during_look = call_log_mine(&recorder.gpu.core.logs)->busy;
    return CUDA_SUCCESS;
}

/* Callbacks of these calls are not the program's; what the thread was in before, it is in after. */
static void its_calls_are_the_recorders(void **state)
{
    struct call_log *log = call_log_mine(&recorder.gpu.core.logs);

    (void)state;
    fake_context_use(&recorder.gpu.driver, 0);
    recorder.gpu.driver.query_event = look;
    assert_true(becomes_idle(LONG));
    assert_true(busy_during_look);
    assert_false(log->busy);
    log->busy = true;
    assert_true(becomes_idle(LONG));
    assert_true(log->busy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_look_finds_an_idle_context, open_recorder),
        cmocka_unit_test_setup(without_a_limit_it_only_looks, open_recorder),
        cmocka_unit_test_setup(it_looks_until_the_context_is_idle, open_recorder),
        cmocka_unit_test_setup(a_context_that_is_never_idle_is_left_at_the_limit, open_recorder),
        cmocka_unit_test_setup(an_error_of_the_program_is_no_idle_context, open_recorder),
        cmocka_unit_test_setup(a_captured_stream_is_left_alone, open_recorder),
        cmocka_unit_test_setup(without_callbacks_the_current_context_is_left_alone, open_recorder),
        cmocka_unit_test_setup(before_callbacks_the_current_context_is_left_alone, open_recorder),
        cmocka_unit_test_setup(a_capture_and_a_look_see_each_other, open_recorder),
        cmocka_unit_test_setup(it_looks_in_relaxed_mode, open_recorder),
        cmocka_unit_test_setup(a_driver_without_the_call_cannot_tell, open_recorder),
        cmocka_unit_test_setup(all_contexts_have_to_be_idle, open_recorder),
        cmocka_unit_test_setup(its_calls_are_the_recorders, open_recorder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
