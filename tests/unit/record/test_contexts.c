/* The contexts that exist, and what the second one brings: copies between devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "record/cupti/contexts.h"
#include "record/process/recorder.h"

#include "base/poison.h"

static struct recorder recorder;
static CUpti_ActivityKind enabled[4];
static unsigned enabled_count;

static CUptiResult enable(CUpti_ActivityKind kind)
{
    assert_true(enabled_count < 4);
    enabled[enabled_count++] = kind;
    return CUPTI_SUCCESS;
}

/* A recording, in which the first context has been seen to. */
static int record(void **state)
{
    (void)state;
    memset(&recorder, 0, sizeof(recorder));
    enabled_count = 0;
    recorder.gpu.cupti.enable = enable;
    recorder.gpu.core.config.gpu = MP_SWITCH_ON;
    atomic_store(&recorder.gpu.core.enabled, true);
    atomic_store(&recorder.gpu.cuda.context_made, true);
    return 0;
}

static CUcontext context(unsigned number)
{
    static char places[MAX_CONTEXTS_HELD + 1];

    return (CUcontext)(void *)&places[number];
}

static void the_second_context_brings_copies_between_devices(void **state)
{
    (void)state;
    contexts_hold(&recorder.gpu, context(0));
    contexts_hold(&recorder.gpu, context(0));
    assert_int_equal(contexts_count(&recorder.gpu.cuda.contexts), 1);
    assert_false(atomic_load(&recorder.gpu.cuda.several_contexts));
    assert_int_equal(enabled_count, 0);
    contexts_hold(&recorder.gpu, context(1));
    assert_true(atomic_load(&recorder.gpu.cuda.several_contexts));
    contexts_hold(&recorder.gpu, context(2));
    assert_int_equal(enabled_count, 1);
    assert_int_equal(enabled[0], CUPTI_ACTIVITY_KIND_MEMCPY2);
}

static void contexts_that_go_make_room(void **state)
{
    (void)state;
    for (unsigned i = 0; i <= MAX_CONTEXTS_HELD; i++)
        contexts_hold(&recorder.gpu, context(i));
    assert_int_equal(contexts_count(&recorder.gpu.cuda.contexts), MAX_CONTEXTS_HELD);
    contexts_forget(&recorder.gpu.cuda.contexts, context(MAX_CONTEXTS_HELD)); /* not held */
    assert_int_equal(contexts_count(&recorder.gpu.cuda.contexts), MAX_CONTEXTS_HELD);
    for (unsigned i = 0; i < MAX_CONTEXTS_HELD; i++)
        contexts_forget(&recorder.gpu.cuda.contexts, context(i));
    assert_int_equal(contexts_count(&recorder.gpu.cuda.contexts), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_second_context_brings_copies_between_devices, record),
        cmocka_unit_test_setup(contexts_that_go_make_room, record),
    };

    return cmocka_run_group_tests_name("record/contexts", tests, NULL, NULL);
}
