/* Which callbacks are on, by the reason for which a function is watched: always, only in ranges,
 * or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/cupti/subscriber.h"
#include "record/process/recorder.h"

#include "base/poison.h"

#define ROLE(role) (1u << (role))
#define ALL_ROLES  (2u * ROLE(API_ROLE_NONE) - 1)
#define ONLY_RANGES                                                                                \
    (ROLE(API_ROLE_SYNC) | ROLE(API_ROLE_OVERLAP) | ROLE(API_ROLE_HOST) | ROLE(API_ROLE_VALUE))

static struct recorder recorder;
static struct mp_preload *const preload = (struct mp_preload *)&recorder; /* it is only there */
static unsigned on;                                                       /* a bit for each role */

static CUptiResult enable_callback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                   CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    (void)subscriber;
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
        on = enable ? on | ROLE(cbid) : on & ~ROLE(cbid);
    return CUPTI_SUCCESS;
}

/* One function is watched for each reason; its number is that of the reason. */
static int begin(void **state)
{
    (void)state;
    memset(&recorder, 0, sizeof(recorder));
    on = 0;
    recorder.gpu.cupti.enable_callback = enable_callback;
    recorder.gpu.api.syncs = true;
    for (unsigned role = 0; role <= API_ROLE_NONE; role++)
        for (size_t i = 1; !recorder.gpu.api.watch[role]; i++)
            if (api_watches[i - 1].role == role)
                recorder.gpu.api.watch[role] = (uint8_t)i;
    return 0;
}

static void syncs_and_work_are_called_back_in_ranges(void **state)
{
    (void)state;
    recorder.gpu.host_functions.preload = preload;
    subscriber_watch_base(&recorder.gpu);
    assert_int_equal(on, ALL_ROLES & ~ONLY_RANGES);
    subscriber_watch_syncs(&recorder.gpu, true);
    assert_int_equal(on, ALL_ROLES);
    subscriber_watch_syncs(&recorder.gpu, false);
    assert_int_equal(on, ALL_ROLES & ~ONLY_RANGES);
}

static void what_nobody_needs_is_not_called_back(void **state)
{
    (void)state;
    recorder.gpu.api.syncs = false;
    subscriber_watch_syncs(&recorder.gpu, true);
    assert_int_equal(on, ROLE(API_ROLE_OVERLAP));
}

static void launches_and_graphs_end_with_the_recording(void **state)
{
    (void)state;
    subscriber_watch_base(&recorder.gpu);
    subscriber_watch_ends(&recorder.gpu);
    assert_int_equal(on, ALL_ROLES & ~ONLY_RANGES & ~ROLE(API_ROLE_LAUNCH) &
                             ~ROLE(API_ROLE_INSTANTIATE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(syncs_and_work_are_called_back_in_ranges, begin),
        cmocka_unit_test_setup(what_nobody_needs_is_not_called_back, begin),
        cmocka_unit_test_setup(launches_and_graphs_end_with_the_recording, begin),
    };

    return cmocka_run_group_tests_name("record/subscriber", tests, NULL, NULL);
}
