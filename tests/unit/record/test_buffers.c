/* What CUPTI gets, large buffers and overflow buffers, and what becomes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "record/cupti/buffers.h"

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

/* Takes so many buffers of `size`: each another one, all of it writable. */
static void take_many(struct buffer_pool *pool, uint8_t **taken, size_t count, size_t size)
{
    size_t bytes = 0;
    size_t i;

    for (i = 0; i < count; i++) {
        taken[i] = buffer_request(pool, &bytes);
        assert_non_null(taken[i]);
        assert_int_equal(bytes, size);
        assert_true(is_zeroed(taken[i], bytes)); /* which a buffer given twice would not be */
        memset(taken[i], 0xa5, bytes);
    }
}

/* Takes all buffers of the first kind, which are MEGABYTES of 1 MiB. */
static void take_all(struct buffer_pool *pool, uint8_t **taken)
{
    take_many(pool, taken, MEGABYTES, BUFFER_BYTES);
}

struct all {
    uint8_t *taken[MEGABYTES];
    uint8_t *over[OVERFLOWS];
};

static void take_everything(struct buffer_pool *pool, struct all *all)
{
    take_all(pool, all->taken);
    assert_int_equal(atomic_load(&pool->exhausted), 0);
    take_many(pool, all->over, OVERFLOWS, OVERFLOW_BYTES);
    assert_int_equal(atomic_load(&pool->exhausted), OVERFLOWS);
}

/* While few are out they go to the writer as others do. */
static void test_kept(void **state)
{
    struct buffer_pool pool = open_pool(true);
    uint8_t *taken[MEGABYTES];
    uint8_t *over[OVERFLOWS / 2];
    size_t bytes;
    int i;

    (void)state;
    take_all(&pool, taken);
    take_many(&pool, over, OVERFLOWS / 2, OVERFLOW_BYTES);
    for (i = 0; i < OVERFLOWS / 2; i++) {
        assert_true(buffer_returns(&pool, over[i]));
        assert_false(buffer_is_too_much(&pool, over[i]));
        assert_false(buffer_returns(&pool, over[i])); /* CUPTI does not have it any more */
    }
    over[0][OVERFLOW_BYTES - 1] = 1;
    buffer_release(&pool, over[0]);
    assert_ptr_equal(buffer_request(&pool, &bytes), over[0]);
    assert_int_equal(bytes, OVERFLOW_BYTES);
    assert_true(is_zeroed(over[0], bytes));

    /* One of the large ones, as soon as there is one. */
    assert_true(buffer_returns(&pool, taken[1]));
    assert_false(buffer_is_too_much(&pool, taken[1]));
    buffer_release(&pool, taken[1]);
    assert_ptr_equal(buffer_request(&pool, &bytes), taken[1]);
    assert_int_equal(bytes, BUFFER_BYTES);
    buffer_pool_close(&pool);
}

/* As many holders as there are buffers, as a program with hundreds of threads has: where the writer
 * follows all is kept. */
static void test_many_holders(void **state)
{
    struct buffer_pool pool = open_pool(true);
    struct all all;
    size_t bytes;
    int i;

    (void)state;
    take_everything(&pool, &all);
    for (i = 0; i < 10 * OVERFLOWS; i++) {
        uint8_t **held = &all.over[i % OVERFLOWS];

        assert_true(buffer_returns(&pool, *held));
        assert_false(buffer_is_too_much(&pool, *held));
        buffer_release(&pool, *held);
        *held = buffer_request(&pool, &bytes);
        assert_non_null(*held);
    }
    buffer_pool_close(&pool);
}

/* A sixteenth of them waits for the writer, and there are few others: one more is too much. */
static void test_discarded(void **state)
{
    struct buffer_pool pool = open_pool(true);
    struct all all;
    size_t bytes = 1;
    int i;

    (void)state;
    take_everything(&pool, &all);
    assert_null(buffer_request(&pool, &bytes));
    assert_int_equal(bytes, 0);
    assert_int_equal(atomic_load(&pool.exhausted), OVERFLOWS + 1);
    assert_true(buffer_returns(&pool, all.taken[0]));
    assert_false(buffer_is_too_much(&pool, all.taken[0]));

    for (i = 0; i < OVERFLOWS / 16; i++) {
        assert_true(buffer_returns(&pool, all.over[i]));
        assert_false(buffer_is_too_much(&pool, all.over[i]));
    }
    for (; i < OVERFLOWS; i++) {
        assert_true(buffer_returns(&pool, all.over[i]));
        assert_true(buffer_is_too_much(&pool, all.over[i]));
        buffer_discard(&pool, all.over[i], 7);
        assert_ptr_equal(buffer_request(&pool, &bytes), all.over[i]);
        assert_true(is_zeroed(all.over[i], bytes));
    }
    assert_int_equal(atomic_load(&pool.discarded), 7 * OVERFLOWS / 16 * 15);
    buffer_release(&pool, all.over[0]); /* the writer is back */
    assert_true(buffer_returns(&pool, all.over[OVERFLOWS - 1]));
    assert_false(buffer_is_too_much(&pool, all.over[OVERFLOWS - 1]));
    buffer_pool_close(&pool);
}

/* A flush brings one of each thread in a row. While there are others to be had all of it is kept.
 */
static void test_flushed(void **state)
{
    struct buffer_pool pool = open_pool(true);
    uint8_t *large[MEGABYTES];
    uint8_t *held[OVERFLOWS / 4 * 3];
    size_t i;

    (void)state;
    take_all(&pool, large);
    take_many(&pool, held, sizeof(held) / sizeof(held[0]), OVERFLOW_BYTES);
    for (i = 0; i < sizeof(held) / sizeof(held[0]); i++) {
        assert_true(buffer_returns(&pool, held[i]));
        assert_false(buffer_is_too_much(&pool, held[i]));
    }
    buffer_pool_close(&pool);
}

/* So many threads launch, each with its buffer, and the writer does not follow: CUPTI always gets
 * another one. */
static void test_stalled(void **state)
{
    static const size_t threads[] = {1, 4, OVERFLOWS / 4, OVERFLOWS / 2, OVERFLOWS / 16 * 15 - 1};
    static uint8_t *held[OVERFLOWS];
    size_t bytes;
    size_t t;
    size_t i;

    (void)state;
    for (t = 0; t < sizeof(threads) / sizeof(threads[0]); t++) {
        struct buffer_pool pool = open_pool(true);
        uint8_t *large[MEGABYTES];

        take_all(&pool, large);
        take_many(&pool, held, threads[t], OVERFLOW_BYTES);
        for (i = 0; i < (size_t)10 * OVERFLOWS; i++) {
            uint8_t **buffer = &held[i % threads[t]];

            assert_true(buffer_returns(&pool, *buffer));
            if (buffer_is_too_much(&pool, *buffer))
                buffer_discard(&pool, *buffer, 1);
            *buffer = buffer_request(&pool, &bytes);
            assert_non_null(*buffer);
        }
        assert_true(atomic_load(&pool.discarded) > 0);
        buffer_pool_close(&pool);
    }
}

static void test_spare(void **state)
{
    struct buffer_pool pool = open_pool(false);
    struct all all;
    uint8_t *spare;
    size_t bytes;

    (void)state;
    take_everything(&pool, &all);
    spare = buffer_request(&pool, &bytes);
    assert_non_null(spare);
    assert_int_equal(bytes, SPARE_BYTES);
    assert_true(is_zeroed(spare, bytes));
    assert_true(buffer_is_spare(&pool, spare, 100));
    assert_int_equal(atomic_load(&pool.spilled), 100);
    assert_false(buffer_is_spare(&pool, all.over[0], 100));
    assert_false(buffer_returns(&pool, spare));
    buffer_pool_close(&pool);
}

static void test_foreign(void **state)
{
    struct buffer_pool pool = open_pool(true);
    uint8_t other[8];
    struct all all;

    (void)state;
    take_everything(&pool, &all);
    assert_false(buffer_returns(&pool, other));
    assert_false(buffer_returns(&pool, all.taken[0] + 1));
    assert_false(buffer_returns(&pool, all.over[0] + OVERFLOW_BYTES / 2));
    buffer_release(&pool, other); /* nothing to release */
    assert_int_equal(pool.free_count, 0);
    assert_int_equal(pool.overflow_count, 0);
    buffer_pool_close(&pool);
}

/* What another client of CUPTI was given comes back, of both kinds; what waits for the writer is
 * its own. */
static void test_recover(void **state)
{
    struct buffer_pool pool = open_pool(true);
    size_t bytes, sum = 0;
    uint8_t *buffer;
    struct all all;

    (void)state;
    take_everything(&pool, &all);
    assert_true(buffer_returns(&pool, all.over[9]));
    assert_true(buffer_pool_is_out(&pool));
    while ((buffer = buffer_pool_recover(&pool, &bytes)) != NULL) {
        assert_ptr_not_equal(buffer, all.over[9]);
        sum += bytes;
        buffer_release(&pool, buffer);
    }
    assert_int_equal(sum, MEGABYTES * BUFFER_BYTES + (OVERFLOWS - 1) * OVERFLOW_BYTES);
    assert_false(buffer_pool_is_out(&pool));
    buffer_release(&pool, all.over[9]);
    atomic_store(&pool.exhausted, 0);
    take_everything(&pool, &all);
    buffer_pool_close(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),      cmocka_unit_test(test_many_holders),
        cmocka_unit_test(test_discarded), cmocka_unit_test(test_flushed),
        cmocka_unit_test(test_stalled),   cmocka_unit_test(test_spare),
        cmocka_unit_test(test_foreign),   cmocka_unit_test(test_recover),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
