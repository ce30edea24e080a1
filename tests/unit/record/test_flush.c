/* The flusher's part in CUPTI, with functions of our own where CUPTI's stand: when it flushes, that
 * the records which CUPTI dropped are counted, and when it may register the clock again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "record/cupti/flush.h"
#include "record/process/recorder.h"

#include "base/poison.h"

static struct recorder recorder;

/* What our CUPTI has seen and says. */
static struct {
    uint32_t flags[8]; /* of the flushes, in order */
    size_t flushes;
    size_t dropped; /* since it was last asked */
    CUptiResult answer;
    bool takes_over; /* another client has CUPTI after a flush */
} cupti;

static int switches;

static CUptiResult flush_all(uint32_t flag)
{
    assert_true(cupti.flushes < sizeof(cupti.flags) / sizeof(cupti.flags[0]));
    cupti.flags[cupti.flushes++] = flag;
    if (cupti.takes_over)
        atomic_store(&recorder.gpu.clients.taken, true);
    else
        atomic_fetch_add(&recorder.gpu.pool.completed, 1);
    return CUPTI_SUCCESS;
}

static CUptiResult dropped_records(CUcontext context, uint32_t stream, size_t *dropped)
{
    assert_null(context);
    assert_int_equal(stream, 0);
    *dropped = cupti.dropped;
    cupti.dropped = 0;
    return cupti.answer;
}

static bool switch_alone(struct gpu *whose, void (*how)(struct gpu *gpu))
{
    assert_ptr_equal(whose, &recorder.gpu);
    assert_non_null(how);
    switches++;
    return true;
}

static void drop(size_t count)
{
    cupti.dropped += count;
}

/* A recording in which CUPTI may be flushed and the kinds are on. */
static int record(void **state)
{
    (void)state;
    memset(&recorder, 0, sizeof(recorder));
    memset(&cupti, 0, sizeof(cupti));
    switches = 0;
    recorder.gpu.cupti.flush_all = flush_all;
    recorder.gpu.cupti.dropped_records = dropped_records;
    atomic_store(&recorder.gpu.core.phase, PHASE_RECORDING);
    atomic_store(&recorder.gpu.cupti_state.flush_allowed, true);
    atomic_store(&recorder.gpu.core.enabled, true);
    atomic_store(&recorder.gpu.pool.requested, 1);
    return 0;
}

static void what_cupti_drops_between_flushes_adds_up(void **state)
{
    (void)state;
    drop(7);
    flush_buffers(&recorder.gpu, switch_alone);
    assert_int_equal(atomic_load(&recorder.gpu.flusher.dropped), 7);
    flush_buffers(&recorder.gpu, switch_alone);
    assert_int_equal(atomic_load(&recorder.gpu.flusher.dropped), 7);
    drop(5);
    flush_buffers(&recorder.gpu, switch_alone);
    assert_int_equal(atomic_load(&recorder.gpu.flusher.dropped), 12);
}

static void a_count_that_cupti_refuses_is_not_taken(void **state)
{
    (void)state;
    drop(7);
    cupti.answer = CUPTI_ERROR_NOT_INITIALIZED;
    flush_buffers(&recorder.gpu, switch_alone);
    assert_int_equal(atomic_load(&recorder.gpu.flusher.dropped), 0);
}

static void only_complete_buffers_are_asked_for(void **state)
{
    (void)state;
    flush_buffers(&recorder.gpu, switch_alone);
    assert_int_equal(cupti.flushes, 1);
    assert_int_equal(cupti.flags[0], 0);
}

static void a_forced_flush_follows_an_ordinary_one(void **state)
{
    (void)state;
    atomic_store(&recorder.gpu.flusher.forced, true);
    flush_buffers(&recorder.gpu, switch_alone);
    assert_int_equal(cupti.flushes, 2);
    assert_int_equal(cupti.flags[0], 0);
    assert_int_equal(cupti.flags[1], CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

static bool flushes(void)
{
    size_t before = cupti.flushes;

    flush_buffers(&recorder.gpu, switch_alone);
    return cupti.flushes > before;
}

static void cupti_is_left_alone_when_it_may_not_be_flushed(void **state)
{
    (void)state;
    drop(7);
    assert_true(flushes());
    assert_int_equal(cupti.dropped, 0);

    drop(7);
    atomic_store(&recorder.gpu.cupti_state.flush_allowed, false);
    assert_false(flushes());
    assert_int_equal(cupti.dropped, 7); /* this is not asked for either */
    record(NULL);
    atomic_store(&recorder.gpu.pool.requested, 0);
    assert_false(flushes());
    record(NULL);
    atomic_store(&recorder.gpu.clients.taken, true);
    assert_false(flushes());
}

/* ---- The clock ---- */

static void the_clock_is_given_once_for_each_request(void **state)
{
    (void)state;
    flush_buffers(&recorder.gpu, switch_alone);
    assert_int_equal(switches, 0);
    atomic_store(&recorder.gpu.flusher.gives_clock, true);
    flush_buffers(&recorder.gpu, switch_alone);
    assert_int_equal(switches, 1);
    flush_buffers(&recorder.gpu, switch_alone);
    assert_int_equal(switches, 1);
}

static bool gives_clock(uint64_t answers)
{
    return flush_may_give_clock(&recorder.gpu, answers);
}

/* Without a probe, an answer of CUPTI to this flush is what shows that it is ours. */
static void without_an_answer_of_cupti_no_clock_is_given(void **state)
{
    (void)state;
    assert_false(gives_clock(clients_answers(&recorder.gpu)));
    assert_true(gives_clock(clients_answers(&recorder.gpu) - 1));
}

static void another_clients_clock_is_not_taken_away(void **state)
{
    (void)state;
    atomic_store(&recorder.gpu.flusher.gives_clock, true);
    cupti.takes_over = true;
    flush_buffers(&recorder.gpu, switch_alone);
    assert_int_equal(switches, 0);
}

static void no_clock_is_given_where_nothing_is_recorded(void **state)
{
    (void)state;
    assert_true(gives_clock(0));
    atomic_store(&recorder.gpu.core.phase, PHASE_FINISHING);
    assert_false(gives_clock(0));
    record(NULL);
    atomic_store(&recorder.gpu.flusher.forced, true);
    assert_false(gives_clock(0));
    record(NULL);
    atomic_store(&recorder.gpu.core.enabled, false);
    assert_false(gives_clock(0));
    record(NULL);
    atomic_store(&recorder.gpu.cupti_state.flush_allowed, false);
    assert_false(gives_clock(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_cupti_drops_between_flushes_adds_up, record),
        cmocka_unit_test_setup(a_count_that_cupti_refuses_is_not_taken, record),
        cmocka_unit_test_setup(only_complete_buffers_are_asked_for, record),
        cmocka_unit_test_setup(a_forced_flush_follows_an_ordinary_one, record),
        cmocka_unit_test_setup(cupti_is_left_alone_when_it_may_not_be_flushed, record),
        cmocka_unit_test_setup(the_clock_is_given_once_for_each_request, record),
        cmocka_unit_test_setup(without_an_answer_of_cupti_no_clock_is_given, record),
        cmocka_unit_test_setup(another_clients_clock_is_not_taken_away, record),
        cmocka_unit_test_setup(no_clock_is_given_where_nothing_is_recorded, record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
