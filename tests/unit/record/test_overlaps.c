/* Launches that may overlap their predecessor: what is noted of them, and when their callback goes
 * and comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/cupti/subscriber.h"
#include "record/process/recorder.h"

#include "base/poison.h"

#define CBID 42u /* cuLaunchKernelEx, as our CUPTI has it */

static struct recorder recorder;
static bool is_on; /* the callback */

static CUptiResult enable_callback(uint32_t on, CUpti_SubscriberHandle subscriber,
                                   CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    (void)subscriber;
    assert_int_equal(domain, CUPTI_CB_DOMAIN_DRIVER_API);
    assert_int_equal(cbid, CBID);
    is_on = on != 0;
    return CUPTI_SUCCESS;
}

static int begin(void **state)
{
    (void)state;
    memset(&recorder, 0, sizeof(recorder));
    recorder.gpu.cupti.enable_callback = enable_callback;
    atomic_store(&recorder.gpu.core.enabled, true);
    for (size_t i = 1; !recorder.gpu.api.watch[CBID]; i++)
        if (api_watches[i - 1].role == API_ROLE_OVERLAP)
            recorder.gpu.api.watch[CBID] = (uint8_t)i;
    is_on = true;
    return 0;
}

/* Launches with no attribute; after each, the callback is there unless it counts as given up. */
static void launch(uint32_t count)
{
    for (uint32_t i = 0; i < count && is_on; i++) {
        subscriber_overlap_leaves(&recorder.gpu, CBID);
        assert_int_equal(is_on, !overlaps_given_up(&recorder.gpu.overlaps));
    }
}

/* As a launch whose attribute is `allowed`. */
static void enter(uint32_t correlation, int allowed)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
    CUlaunchConfig config = {.attrs = &attribute, .numAttrs = 1};
    cuLaunchKernelEx_params call = {.config = &config};

    attribute.value.programmaticStreamSerializationAllowed = allowed;
    overlaps_launch(&recorder.gpu.overlaps,
                    &(CUpti_CallbackData){.functionParams = &call, .correlationId = correlation});
}

static void after_many_launches_without_the_attribute_the_callback_goes(void **state)
{
    (void)state;
    launch(OVERLAPS_PATIENCE);
    assert_true(is_on);
    launch(1);
    assert_false(is_on);
}

static void one_launch_that_has_it_keeps_the_callback(void **state)
{
    (void)state;
    enter(7, 0);
    assert_false(overlaps_has(&recorder.gpu.overlaps, 7));
    enter(8, 1);
    assert_true(overlaps_has(&recorder.gpu.overlaps, 8));
    assert_false(overlaps_has(&recorder.gpu.overlaps, 7));
    launch(2 * OVERLAPS_PATIENCE);
    assert_true(is_on);
}

static void where_rows_come_from_callbacks_it_stays(void **state)
{
    (void)state;
    atomic_store(&recorder.gpu.cupti_state.calls_by_callback, true);
    for (uint32_t i = 0; i < 2 * OVERLAPS_PATIENCE; i++)
        subscriber_overlap_leaves(&recorder.gpu, CBID);
    assert_true(is_on);
}

static void who_needs_it_gets_it_back(void **state)
{
    (void)state;
    launch(OVERLAPS_PATIENCE + 1);
    assert_false(is_on);
    subscriber_keep_overlaps(&recorder.gpu);
    assert_true(is_on);
    launch(2 * OVERLAPS_PATIENCE);
    assert_true(is_on);
}

/* Then it comes with the next range (subscriber.c). */
static void between_ranges_it_does_not_come_back(void **state)
{
    (void)state;
    launch(OVERLAPS_PATIENCE + 1);
    atomic_store(&recorder.gpu.core.enabled, false);
    subscriber_keep_overlaps(&recorder.gpu);
    assert_false(is_on);
    assert_false(overlaps_given_up(&recorder.gpu.overlaps));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(after_many_launches_without_the_attribute_the_callback_goes, begin),
        cmocka_unit_test_setup(one_launch_that_has_it_keeps_the_callback, begin),
        cmocka_unit_test_setup(where_rows_come_from_callbacks_it_stays, begin),
        cmocka_unit_test_setup(who_needs_it_gets_it_back, begin),
        cmocka_unit_test_setup(between_ranges_it_does_not_come_back, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
