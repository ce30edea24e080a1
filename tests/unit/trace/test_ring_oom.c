/* chunks.h when the system has no memory: older events give way, and only then it is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <miniprof/format.h>

#include "trace/chunks.h"
#include "unit/failing_malloc.h"

static struct mp_chunk_ring ring = {.max = 1 << 20};

static enum mp_status add(const char *table, uint64_t last)
{
    const struct mp_chunk_header header = {.rows = 1, .last_time = last};

    return mp_chunk_ring_add(&ring, mp_table_by_name(table), (const uint8_t *)&header,
                             sizeof(header), 0);
}

static void events_give_way(void **state)
{
    (void)state;
    assert_int_equal(add("kernel", 10), MP_OK);
    assert_int_equal(add("kernel", 20), MP_OK);
    countdown = 1;
    assert_int_equal(add("kernel", 30), MP_OK);
    assert_int_equal(ring.events.rows, 2);
    assert_int_equal(ring.events.first->last, 20);
    assert_int_equal(ring.gone, 10);
    countdown = 1;
    assert_int_equal(add("string", 0), MP_OK);
    assert_int_equal(ring.events.rows, 1);
    mp_chunk_ring_clear(&ring);
}

static void without_events_it_is_refused(void **state)
{
    size_t bytes;

    (void)state;
    assert_int_equal(add("string", 0), MP_OK);
    bytes = mp_chunk_ring_bytes(&ring);
    countdown = 1;
    assert_int_equal(add("kernel", 10), MP_ERR_MEMORY);
    countdown = 1;
    assert_int_equal(add("string", 0), MP_ERR_MEMORY);
    assert_int_equal(mp_chunk_ring_bytes(&ring), bytes);
    assert_int_equal(ring.kept.rows, 1);
    mp_chunk_ring_clear(&ring);
    assert_int_equal(mp_chunk_ring_bytes(&ring), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_give_way),
        cmocka_unit_test(without_events_it_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
