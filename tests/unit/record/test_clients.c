/* Another CUPTI client takes CUPTI over and leaves, with functions of our own where CUPTI's stand:
 * when that is noticed, and how many calls are counted as lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings/config.h"
#include "record/core/call_log.h"
#include "record/cupti/activity.h"
#include "record/cupti/clients.h"
#include "record/process/recorder.h"

#include "base/poison.h"

enum { LAUNCH = 307 }; /* a cbid */

static struct recorder recorder;
static bool other;         /* another client has the buffers */
static uint8_t per_thread; /* PER_THREAD_ACTIVITY_BUFFER */
static void (*switched)(struct gpu *gpu);

static CUptiResult enable_and_dump(CUpti_ActivityKind kind)
{
    assert_int_equal(kind, CUPTI_ACTIVITY_KIND_DEVICE);
    if (!other)
        atomic_fetch_add(&recorder.gpu.pool.requested, 1);
    return CUPTI_SUCCESS;
}

static CUptiResult flush_all(uint32_t flag)
{
    assert_int_equal(flag, 0);
    return CUPTI_SUCCESS;
}

static CUptiResult get_attribute(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
    (void)attribute;
    assert_int_equal(*size, 1);
    memcpy(value, &per_thread, 1);
    return CUPTI_SUCCESS;
}

static bool switch_alone(struct gpu *whose, void (*how)(struct gpu *gpu))
{
    assert_ptr_equal(whose, &recorder.gpu);
    switched = how;
    return true;
}

static void answer(void)
{
    atomic_fetch_add(&recorder.gpu.pool.completed, 1);
}

static void note(unsigned syncs, unsigned launches, uint64_t start)
{
    const struct call_entry sync = {.kind = CALL_ENTRY_SYNC,
                                    .start = start,
                                    .answers = (uint32_t)clients_answers(&recorder.gpu)};
    const struct call_entry launch = {.kind = CALL_ENTRY_CALL,
                                      .detail = MP_api_driver,
                                      .cbid = LAUNCH,
                                      .start = start,
                                      .answers = sync.answers};

    for (unsigned i = 0; i < syncs; i++)
        clients_note(&recorder.gpu, &sync);
    for (unsigned i = 0; i < launches; i++)
        clients_note(&recorder.gpu, &launch);
}

/* A recording with three calls, whose records have come at 1 ms. */
static int record(void **state)
{
    (void)state;
    memset(&recorder, 0, sizeof(recorder));
    other = false;
    per_thread = 1;
    switched = NULL;
    recorder.gpu.cupti.enable_and_dump = enable_and_dump;
    recorder.gpu.cupti.flush_all = flush_all;
    recorder.gpu.cupti.get_attribute = get_attribute;
    recorder.gpu.core.config.gpu = MP_SWITCH_ON;
    recorder.gpu.api.flags[MP_api_driver][LAUNCH] = API_LAUNCH;
    recorder.gpu.cupti_state.buffers_readable = true;
    atomic_store(&recorder.gpu.core.enabled, true);
    atomic_store(&recorder.gpu.cuda.context_made, true);
    note(2, 1, 10);
    answer();
    clients_look(&recorder.gpu, 1, switch_alone);
    return 0;
}

static void expect(bool taken, uint64_t lost)
{
    assert_int_equal(atomic_load(&recorder.gpu.clients.taken), taken);
    assert_int_equal(atomic_load(&recorder.gpu.clients.lost), lost);
}

/* Five more calls, and nothing of them for as long as it takes. */
static void lose_cupti(void)
{
    int64_t quiet = mp_time_limit_ms(MP_TIME_CLIENT_QUIET);

    other = true;
    note(2, 3, 20);
    clients_look(&recorder.gpu, quiet, switch_alone);
    expect(false, 0);
    clients_look(&recorder.gpu, 1 + quiet, switch_alone);
    expect(true, 5);
    assert_ptr_equal(switched, activity_follow_calls);
}

static void calls_without_records_show_another_client(void **state)
{
    (void)state;
    lose_cupti();
    note(4, 2, 30); /* callbacks log the calls now, so only launches are lost */
    clients_look(&recorder.gpu, 5000, switch_alone);
    expect(true, 7);
}

static void a_program_that_makes_no_calls_has_lost_nothing(void **state)
{
    (void)state;
    other = true;
    clients_look(&recorder.gpu, 100000, switch_alone);
    expect(false, 0);
}

static void a_cupti_that_answers_when_asked_is_ours(void **state)
{
    (void)state;
    note(2, 3, 20);
    clients_look(&recorder.gpu, 100000, switch_alone);
    expect(false, 0);
}

static void a_cupti_that_was_slow_has_lost_nothing(void **state)
{
    (void)state;
    lose_cupti();
    answer();
    clients_look(&recorder.gpu, 5000, switch_alone);
    expect(false, 0);
}

static void cupti_is_taken_back_when_the_other_client_has_left(void **state)
{
    (void)state;
    lose_cupti();
    note(1, 1, 30);
    per_thread = 0;
    clients_look(&recorder.gpu, 5000, switch_alone);
    expect(false, 6);
    assert_true(recorder.gpu.clients.said);
    assert_ptr_equal(switched, activity_enable_again);
}

/* Two calls of before the range, three of it. */
static void begin_range(uint64_t answers_then)
{
    note(2, 0, 999);
    atomic_store(&recorder.gpu.cupti_state.renewed_at, 1000);
    atomic_store(&recorder.gpu.cupti_state.answers_then, answers_then);
    note(3, 0, 1000);
    clients_look(&recorder.gpu, 2, switch_alone);
}

static void a_range_that_registers_again_ends_what_was_missing(void **state)
{
    (void)state;
    begin_range(recorder.gpu.clients.answers);
    expect(false, 2);
    assert_true(recorder.gpu.clients.said);
}

static void a_range_that_follows_answers_has_lost_nothing(void **state)
{
    (void)state;
    begin_range(recorder.gpu.clients.answers + 1);
    expect(false, 0);
    assert_false(recorder.gpu.clients.said);
}

/* A look takes the answer for the calls that the writer knows of. */
static void a_call_that_the_writer_hears_of_late_was_answered(void **state)
{
    const struct call_entry late = {
        .kind = CALL_ENTRY_SYNC, .start = 20, .answers = (uint32_t)clients_answers(&recorder.gpu)};

    (void)state;
    answer();
    clients_look(&recorder.gpu, 1, switch_alone);
    clients_note(&recorder.gpu, &late);
    begin_range(recorder.gpu.clients.answers);
    expect(false, 2);
    clients_end(&recorder.gpu);
    expect(false, 2);
}

/* What CUPTI answers once everything is registered again is no answer to a call of before. */
static void a_late_call_of_before_is_lost(void **state)
{
    const struct call_entry late = {
        .kind = CALL_ENTRY_SYNC, .start = 999, .answers = (uint32_t)clients_answers(&recorder.gpu)};

    (void)state;
    atomic_store(&recorder.gpu.cupti_state.answers_before, clients_answers(&recorder.gpu));
    atomic_store(&recorder.gpu.cupti_state.registered_at, 1000);
    atomic_store(&recorder.gpu.cupti_state.calls_by_callback, true);
    atomic_store(&recorder.gpu.cupti_state.calls_end, 1000);
    answer();
    clients_note(&recorder.gpu, &late);
    clients_look(&recorder.gpu, 2, switch_alone);
    expect(false, 1);
    clients_note(&recorder.gpu, &late);
    note(3, 0, 1000); /* callbacks log these */
    clients_look(&recorder.gpu, 3, switch_alone);
    expect(false, 2);
    assert_true(recorder.gpu.clients.said);
}

/* Without callbacks, whose calls nobody sees. */
static void go_without_callbacks(void)
{
    atomic_store(&recorder.gpu.cupti_state.callbacks_taken, true);
    answer();
    clients_look(&recorder.gpu, 1, switch_alone); /* the probe is tested */
    assert_true(recorder.gpu.clients.probe_works);
}

static void without_callbacks_silence_is_looked_into(void **state)
{
    int64_t quiet = mp_time_limit_ms(MP_TIME_CLIENT_QUIET);

    (void)state;
    go_without_callbacks();
    clients_look(&recorder.gpu, 2 + quiet, switch_alone); /* CUPTI answers the probe */
    expect(false, 0);
    other = true;
    clients_look(&recorder.gpu, 3 + quiet, switch_alone);
    clients_look(&recorder.gpu, 4 + 2 * quiet, switch_alone);
    expect(true, 1);
    assert_true(recorder.gpu.clients.said);
}

static void without_callbacks_a_range_begins_with_everything_registered(void **state)
{
    (void)state;
    assert_false(clients_enter(&recorder.gpu));
    go_without_callbacks();
    assert_false(clients_enter(&recorder.gpu));
    per_thread = 0;
    assert_true(clients_enter(&recorder.gpu));
    per_thread = 1;
    other = true;
    assert_true(clients_enter(&recorder.gpu));
}

static void without_callbacks_a_takeover_is_counted_at_the_end_of_its_range(void **state)
{
    (void)state;
    go_without_callbacks();
    assert_false(clients_leave(&recorder.gpu));
    expect(false, 0);
    other = true;
    assert_true(clients_leave(&recorder.gpu)); /* the kinds are the other's */
    expect(true, 1);
    atomic_store(&recorder.gpu.core.enabled, false);
    answer(); /* of before */
    clients_look(&recorder.gpu, 3, switch_alone);
    expect(true, 1);
    assert_true(recorder.gpu.clients.said);

    other = false;
    assert_false(clients_enter(&recorder.gpu));
    expect(false, 1);
    per_thread = 0;
    assert_false(clients_leave(&recorder.gpu)); /* nobody needs the kinds */
    expect(false, 2);
}

static void a_session_under_way_is_said_once(void **state)
{
    (void)state;
    atomic_store(&recorder.gpu.clients.foreign, true);
    clients_look(&recorder.gpu, 2, switch_alone);
    assert_false(recorder.gpu.clients.said);
    go_without_callbacks();
    assert_true(recorder.gpu.clients.said);
    expect(false, 0);
}

static void what_never_came_is_lost_at_the_end(void **state)
{
    (void)state;
    other = true;
    note(2, 3, 20);
    clients_end(&recorder.gpu);
    expect(false, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(calls_without_records_show_another_client, record),
        cmocka_unit_test_setup(a_program_that_makes_no_calls_has_lost_nothing, record),
        cmocka_unit_test_setup(a_cupti_that_answers_when_asked_is_ours, record),
        cmocka_unit_test_setup(a_cupti_that_was_slow_has_lost_nothing, record),
        cmocka_unit_test_setup(cupti_is_taken_back_when_the_other_client_has_left, record),
        cmocka_unit_test_setup(a_range_that_registers_again_ends_what_was_missing, record),
        cmocka_unit_test_setup(a_range_that_follows_answers_has_lost_nothing, record),
        cmocka_unit_test_setup(a_call_that_the_writer_hears_of_late_was_answered, record),
        cmocka_unit_test_setup(a_late_call_of_before_is_lost, record),
        cmocka_unit_test_setup(without_callbacks_silence_is_looked_into, record),
        cmocka_unit_test_setup(without_callbacks_a_range_begins_with_everything_registered, record),
        cmocka_unit_test_setup(without_callbacks_a_takeover_is_counted_at_the_end_of_its_range,
                               record),
        cmocka_unit_test_setup(a_session_under_way_is_said_once, record),
        cmocka_unit_test_setup(what_never_came_is_lost_at_the_end, record),
    };

    return cmocka_run_group_tests_name("record/clients", tests, NULL, NULL);
}
