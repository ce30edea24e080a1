/* What CUPTI gets when the buffers are out, and what becomes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "record/buffers.h"

enum { MEGABYTES = 8 };

static struct buffer_pool open_pool(bool null_allowed)
{
    struct buffer_pool pool = {0};

    assert_int_equal(buffer_pool_open(&pool, MEGABYTES, null_allowed), MP_OK);
    return pool;
}

static bool is_zeroed(const uint8_t *buffer, size_t bytes)
{
    return buffer[0] == 0 && memcmp(buffer, buffer + 1, bytes - 1) == 0;
}

/* Takes all buffers of the first kind, which are MEGABYTES of 1 MiB. */
static void take_all(struct buffer_pool *pool, uint8_t **taken)
{
    size_t bytes = 0;
    int i;

    for (i = 0; i < MEGABYTES; i++) {
        taken[i] = buffer_request(pool, &bytes);
        assert_non_null(taken[i]);
        assert_int_equal(bytes, BUFFER_BYTES);
        assert_false(buffer_is_overflow(pool, taken[i]));
    }
    assert_int_equal(atomic_load(&pool->exhausted), 0);
}

/* And all overflow buffers: each another one, all of it writable. */
static void take_overflows(struct buffer_pool *pool, uint8_t **taken)
{
    size_t bytes = 0;
    int i;

    for (i = 0; i < OVERFLOWS; i++) {
        taken[i] = buffer_request(pool, &bytes);
        assert_non_null(taken[i]);
        assert_int_equal(bytes, OVERFLOW_BYTES);
        assert_true(buffer_is_overflow(pool, taken[i]));
        assert_true(is_zeroed(taken[i], bytes)); /* which a buffer given twice would not be */
        memset(taken[i], 0xa5, bytes);
    }
    assert_int_equal(atomic_load(&pool->exhausted), OVERFLOWS);
}

static void test_overflow(void **state)
{
    struct buffer_pool pool = open_pool(true);
    uint8_t *taken[MEGABYTES];
    uint8_t *over[OVERFLOWS];
    size_t bytes = 1;

    (void)state;
    take_all(&pool, taken);
    take_overflows(&pool, over);
    assert_null(buffer_request(&pool, &bytes));
    assert_int_equal(bytes, 0);
    assert_int_equal(atomic_load(&pool.exhausted), OVERFLOWS + 1);

    buffer_discard(&pool, over[3], 7);
    buffer_discard(&pool, over[200], 5);
    assert_int_equal(atomic_load(&pool.discarded), 12);
    assert_ptr_equal(buffer_request(&pool, &bytes), over[200]);
    assert_int_equal(bytes, OVERFLOW_BYTES);
    assert_true(is_zeroed(over[200], bytes));

    /* One of the others, as soon as there is one. */
    assert_true(buffer_returns(&pool, taken[1]));
    buffer_release(&pool, taken[1]);
    assert_ptr_equal(buffer_request(&pool, &bytes), taken[1]);
    assert_int_equal(bytes, BUFFER_BYTES);
    buffer_pool_close(&pool);
}

static void test_spare(void **state)
{
    struct buffer_pool pool = open_pool(false);
    uint8_t *taken[MEGABYTES];
    uint8_t *over[OVERFLOWS];
    uint8_t *spare;
    size_t bytes;

    (void)state;
    take_all(&pool, taken);
    take_overflows(&pool, over);
    spare = buffer_request(&pool, &bytes);
    assert_non_null(spare);
    assert_int_equal(bytes, SPARE_BYTES);
    assert_true(is_zeroed(spare, bytes));
    assert_false(buffer_is_overflow(&pool, spare));
    assert_true(buffer_is_spare(&pool, spare, 100));
    assert_int_equal(atomic_load(&pool.spilled), 100);
    assert_false(buffer_is_spare(&pool, over[0], 100));
    buffer_pool_close(&pool);
}

/* What another client of CUPTI was given comes back, of both kinds. */
static void test_recover(void **state)
{
    struct buffer_pool pool = open_pool(true);
    uint8_t *taken[MEGABYTES];
    uint8_t *over[OVERFLOWS];
    int i;

    (void)state;
    take_all(&pool, taken);
    take_overflows(&pool, over);
    for (i = 0; i < MEGABYTES; i++)
        buffer_release(&pool, buffer_pool_recover(&pool));
    assert_null(buffer_pool_recover(&pool));
    atomic_store(&pool.exhausted, 0);
    take_all(&pool, taken);
    take_overflows(&pool, over);
    buffer_pool_close(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_spare),
        cmocka_unit_test(test_recover),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
