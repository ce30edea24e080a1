/* storage.h and map.h. The tables are compared with plain arrays that hold the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/data/map.h"
#include "base/data/storage.h"

#define KEYS 512

static void arena_allocations_are_aligned_and_do_not_overlap(void **state)
{
    struct mp_arena arena;
    unsigned char *blocks[200];
    size_t i, j;

    (void)state;
    mp_arena_init(&arena, 256);
    for (i = 0; i < 200; i++) {
        blocks[i] = mp_arena_alloc(&arena, i);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
        memset(blocks[i], (int)i, i);
    }
    for (i = 0; i < 200; i++) {
        for (j = 0; j < i; j++)
            assert_int_equal(blocks[i][j], i);
    }
    mp_arena_free(&arena);
    assert_int_equal(arena.total_bytes, 0);
}

static void an_arena_takes_more_than_its_block_size(void **state)
{
    struct mp_arena arena = {0};
    char *large = mp_arena_alloc(&arena, (size_t)1 << 20);

    (void)state;
    assert_non_null(large);
    memset(large, 1, (size_t)1 << 20);
    assert_true(arena.total_bytes >= (size_t)1 << 20);
    mp_arena_free(&arena);
}

static void impossible_arena_sizes_are_refused(void **state)
{
    struct mp_arena arena = {0};
    volatile size_t max = SIZE_MAX; /* hidden from the compiler, which warns of such sizes */

    (void)state;
    assert_null(mp_arena_alloc(&arena, max));
    assert_null(mp_arena_alloc(&arena, max - 64));
    assert_null(mp_arena_copy(&arena, "", max));
    assert_non_null(mp_arena_alloc(&arena, 0));
    mp_arena_free(&arena);
}

static void an_arena_copy_ends_with_a_nul(void **state)
{
    struct mp_arena arena = {0};

    (void)state;
    assert_string_equal(mp_arena_copy(&arena, "kernel", 4), "kern");
    assert_string_equal(mp_arena_copy(&arena, NULL, 0), "");
    mp_arena_free(&arena);
}

static void an_empty_map_answers_without_memory(void **state)
{
    struct mp_map map = {0};

    (void)state;
    assert_int_equal(mp_map_get(&map, 0), MP_MAP_ABSENT);
    assert_false(mp_map_remove(&map, 0));
    mp_map_clear(&map);
    mp_map_free(&map);
}

static void a_map_holds_any_key_and_the_last_value(void **state)
{
    struct mp_map map = {0};

    (void)state;
    assert_int_equal(mp_map_put(&map, 0, 1), MP_OK);
    assert_int_equal(mp_map_put(&map, UINT64_MAX, 2), MP_OK);
    assert_int_equal(mp_map_put(&map, 0, 0), MP_OK);
    assert_int_equal(mp_map_get(&map, 0), 0);
    assert_int_equal(mp_map_get(&map, UINT64_MAX), 2);
    assert_int_equal(map.count, 2);
    assert_int_equal(mp_map_put(&map, 5, MP_MAP_ABSENT), MP_ERR_ARGUMENT);
    assert_int_equal(mp_map_get(&map, 5), MP_MAP_ABSENT);
    mp_map_free(&map);
}

/* A long random history of put and remove on a few keys, so that runs collide, wrap and close up.
 */
static void a_map_agrees_with_an_array_through_puts_and_removes(void **state)
{
    uint32_t wanted[KEYS];
    struct mp_map map = {0};
    uint64_t random = 1;
    uint32_t i, key, held = 0;

    (void)state;
    memset(wanted, 0xff, sizeof(wanted));
    for (i = 0; i < 200000; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        key = (uint32_t)(random >> 33) % KEYS;
        if (random >> 63) {
            held += wanted[key] == MP_MAP_ABSENT;
            wanted[key] = i;
            assert_int_equal(mp_map_put(&map, key * UINT64_C(4294967296), i), MP_OK);
        } else {
            assert_int_equal(mp_map_remove(&map, key * UINT64_C(4294967296)),
                             wanted[key] != MP_MAP_ABSENT);
            held -= wanted[key] != MP_MAP_ABSENT;
            wanted[key] = MP_MAP_ABSENT;
        }
        assert_int_equal(map.count, held);
    }
    for (key = 0; key < KEYS; key++)
        assert_int_equal(mp_map_get(&map, key * UINT64_C(4294967296)), wanted[key]);
    mp_map_clear(&map);
    assert_int_equal(mp_map_get(&map, 0), MP_MAP_ABSENT);
    mp_map_free(&map);
}

static void interned_strings_get_dense_ids_in_order_of_appearance(void **state)
{
    struct mp_intern pool = {0};
    size_t bytes = 99;

    (void)state;
    assert_int_equal(mp_intern_find(&pool, "a", 1), 0);
    assert_int_equal(mp_intern_add(&pool, "relu", 4), 1);
    assert_int_equal(mp_intern_add(&pool, "", 0), 2);
    assert_int_equal(mp_intern_add(&pool, "relu", 4), 1);
    assert_int_equal(mp_intern_add(&pool, "re\0lu", 5), 3);
    assert_int_equal(mp_intern_add(&pool, NULL, 0), 2);
    assert_int_equal(pool.count, 3);
    assert_int_equal(mp_intern_find(&pool, "re\0lu", 5), 3);
    assert_int_equal(mp_intern_find(&pool, "re", 2), 0);
    assert_string_equal(mp_intern_get(&pool, 1, &bytes), "relu");
    assert_int_equal(bytes, 4);
    assert_string_equal(mp_intern_get(&pool, 2, NULL), "");
    assert_null(mp_intern_get(&pool, 0, &bytes));
    assert_null(mp_intern_get(&pool, 4, &bytes));
    mp_intern_free(&pool);
}

static void interned_pointers_survive_growth_and_ids_restart_after_reset(void **state)
{
    struct mp_intern pool = {0};
    const char *first;
    char text[32];
    uint32_t i;

    (void)state;
    assert_int_equal(mp_intern_add(&pool, "first", 5), 1);
    first = mp_intern_get(&pool, 1, NULL);
    for (i = 2; i <= 5000; i++) {
        int bytes = snprintf(text, sizeof(text), "kernel %u", i);

        assert_int_equal(mp_intern_add(&pool, text, (size_t)bytes), i);
    }
    assert_ptr_equal(first, mp_intern_get(&pool, 1, NULL));
    assert_string_equal(mp_intern_get(&pool, 4321, NULL), "kernel 4321");
    assert_int_equal(mp_intern_find(&pool, "kernel 77", 9), 77);
    mp_intern_reset(&pool);
    assert_int_equal(mp_intern_find(&pool, "first", 5), 0);
    assert_int_equal(mp_intern_add(&pool, "second", 6), 1);
    mp_intern_free(&pool);
}

static void a_buffer_keeps_what_was_appended(void **state)
{
    static const uint8_t wanted[] = "ab\xac\x02n=7";
    struct mp_buffer buffer = {0};

    (void)state;
    assert_int_equal(mp_buffer_append_byte(&buffer, 'a'), MP_OK);
    assert_int_equal(mp_buffer_append(&buffer, "b", 1), MP_OK);
    assert_int_equal(mp_buffer_append(&buffer, NULL, 0), MP_OK);
    assert_int_equal(mp_buffer_append_varint(&buffer, 300), MP_OK);
    assert_int_equal(mp_buffer_append_text(&buffer, "n="), MP_OK);
    assert_int_equal(mp_buffer_append_format(&buffer, "%d", 7), MP_OK);
    assert_int_equal(buffer.size, sizeof(wanted) - 1);
    assert_memory_equal(buffer.data, wanted, sizeof(wanted) - 1);
    mp_buffer_free(&buffer);
    assert_null(buffer.data);
}

static void a_buffer_over_its_limit_keeps_its_contents_and_says_so(void **state)
{
    struct mp_buffer buffer = {.limit = 300};
    char block[200] = {1};

    (void)state;
    assert_int_equal(mp_buffer_append(&buffer, block, sizeof(block)), MP_OK);
    assert_int_equal(mp_buffer_append(&buffer, block, sizeof(block)), MP_ERR_LIMIT);
    assert_int_equal(mp_buffer_append_byte(&buffer, 1), MP_ERR_LIMIT);
    assert_int_equal(buffer.size, sizeof(block));
    assert_null(mp_buffer_reserve(&buffer, 1));
    mp_buffer_clear(&buffer);
    assert_int_equal(mp_buffer_append(&buffer, block, sizeof(block)), MP_OK);
    assert_int_equal(mp_buffer_append(&buffer, block, 100), MP_OK);
    mp_buffer_free(&buffer);
}

static void a_buffer_refuses_sizes_that_overflow(void **state)
{
    struct mp_buffer buffer = {0};

    (void)state;
    mp_buffer_append_byte(&buffer, 1);
    assert_null(mp_buffer_reserve(&buffer, SIZE_MAX));
    assert_int_equal(buffer.status, MP_ERR_LIMIT);
    assert_int_equal(buffer.size, 1);
    mp_buffer_free(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_allocations_are_aligned_and_do_not_overlap),
        cmocka_unit_test(an_arena_takes_more_than_its_block_size),
        cmocka_unit_test(impossible_arena_sizes_are_refused),
        cmocka_unit_test(an_arena_copy_ends_with_a_nul),
        cmocka_unit_test(an_empty_map_answers_without_memory),
        cmocka_unit_test(a_map_holds_any_key_and_the_last_value),
        cmocka_unit_test(a_map_agrees_with_an_array_through_puts_and_removes),
        cmocka_unit_test(interned_strings_get_dense_ids_in_order_of_appearance),
        cmocka_unit_test(interned_pointers_survive_growth_and_ids_restart_after_reset),
        cmocka_unit_test(a_buffer_keeps_what_was_appended),
        cmocka_unit_test(a_buffer_over_its_limit_keeps_its_contents_and_says_so),
        cmocka_unit_test(a_buffer_refuses_sizes_that_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
