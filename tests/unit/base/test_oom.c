/* Containers when memory runs out: every allocation of a run fails once, in turn. The linker
 * redirects malloc and its kin here (tests/tests.mk), in this program and not in libc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/data/map.h"
#include "base/data/storage.h"
#include "unit/failing_malloc.h"

static void a_map_that_cannot_grow_keeps_its_keys_and_can_go_on(void **state)
{
    unsigned failing;

    (void)state;
    for (failing = 1; failing <= 6; failing++) {
        struct mp_map map = {0};
        unsigned failures = 0;
        uint32_t key;

        countdown = failing;
        for (key = 0; key < 400; key++) {
            uint32_t before = map.count;

            if (mp_map_put(&map, key, key) == MP_OK)
                continue;
            failures++;
            assert_int_equal(map.count, before);
            assert_int_equal(mp_map_put(&map, key, key), MP_OK);
        }
        countdown = 0;
        assert_int_equal(failures, 1);
        for (key = 0; key < 400; key++)
            assert_int_equal(mp_map_get(&map, key), key);
        mp_map_free(&map);
    }
}

static void a_pool_that_cannot_grow_answers_zero_and_can_go_on(void **state)
{
    unsigned failing;

    (void)state;
    for (failing = 1; failing <= 10; failing++) {
        struct mp_intern pool = {.bytes = {.block_bytes = 256}};
        unsigned failures = 0;
        uint32_t id;

        countdown = failing;
        for (id = 1; id <= 200; id++) {
            if (mp_intern_add(&pool, &id, sizeof(id)) == id)
                continue;
            failures++;
            assert_int_equal(pool.count, id - 1);
            assert_int_equal(mp_intern_add(&pool, &id, sizeof(id)), id);
        }
        countdown = 0;
        assert_int_equal(failures, 1);
        for (id = 1; id <= 200; id++)
            assert_int_equal(mp_intern_find(&pool, &id, sizeof(id)), id);
        mp_intern_free(&pool);
    }
}

static void a_buffer_that_cannot_grow_keeps_its_contents(void **state)
{
    struct mp_buffer buffer = {0};
    size_t size;

    (void)state;
    countdown = 3;
    while (mp_buffer_append_text(&buffer, "0123456789") == MP_OK)
        assert_true(buffer.size < 100000);
    countdown = 0;
    size = buffer.size;
    assert_int_equal(buffer.status, MP_ERR_MEMORY);
    assert_int_equal(size % 10, 0);
    assert_int_equal(buffer.data[size - 1], '9');
    assert_int_equal(mp_buffer_append_text(&buffer, "x"), MP_ERR_MEMORY);
    assert_int_equal(buffer.size, size);
    mp_buffer_free(&buffer);
}

static void an_arena_without_memory_answers_null_and_can_go_on(void **state)
{
    struct mp_arena arena = {0};

    (void)state;
    countdown = 1;
    assert_null(mp_arena_alloc(&arena, 10));
    assert_int_equal(arena.total_bytes, 0);
    assert_non_null(mp_arena_alloc(&arena, 10));
    mp_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_that_cannot_grow_keeps_its_keys_and_can_go_on),
        cmocka_unit_test(a_pool_that_cannot_grow_answers_zero_and_can_go_on),
        cmocka_unit_test(a_buffer_that_cannot_grow_keeps_its_contents),
        cmocka_unit_test(an_arena_without_memory_answers_null_and_can_go_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
