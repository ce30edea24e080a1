/* The NVTX ranges of one name: which rows of `nvtx` make one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <string.h>

#include "profile/nvtx/ranges.h"

#define PUSH  MP_nvtx_kind_push
#define POP   MP_nvtx_kind_pop
#define START MP_nvtx_kind_start
#define END   MP_nvtx_kind_end

static struct nvtx_ranges ranges;

static void load(const char *name)
{
    scene_load();
    assert_int_equal(
        nvtx_ranges_load(&ranges, scene.trace, &scene.deps.profile->definitions, name, NULL),
        MP_OK);
}

static void done(void)
{
    nvtx_ranges_free(&ranges);
    scene_end(SOUND);
}

static void expect_range(size_t index, uint64_t thread, uint64_t begin, uint64_t end)
{
    assert_true(index < ranges.count);
    assert_int_equal(ranges.items[index].thread, thread);
    assert_int_equal(ranges.items[index].begin, begin * 1000);
    assert_int_equal(ranges.items[index].end, end * 1000);
}

static void a_range_goes_from_push_to_pop(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx_range("other", 5, 8);
    put_nvtx_range("it", 10, 20);
    put_nvtx_range("it", 20, 25);
    load("it");
    assert_int_equal(ranges.count, 2);
    expect_range(0, 1, 10, 20);
    expect_range(1, 1, 20, 25);
    assert_int_equal(ranges.unfinished, 0);
    done();
}

/*     it 10 ( other 11 ( it 12 ( ) 13 ) 14 ) 15      it 16 ( it 17 ( ) 18 ) 19 */
static void of_nested_ranges_the_outermost_counts(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(PUSH, 1, NULL, "it", 10, 0);
    put_nvtx(PUSH, 1, NULL, "other", 11, 0);
    put_nvtx(PUSH, 1, NULL, "it", 12, 0);
    put_nvtx(POP, 1, NULL, NULL, 13, 0);
    put_nvtx(POP, 1, NULL, NULL, 14, 0);
    put_nvtx(POP, 1, NULL, NULL, 15, 0);
    put_nvtx(PUSH, 1, NULL, "it", 16, 0);
    put_nvtx(PUSH, 1, NULL, "it", 17, 0);
    put_nvtx(POP, 1, NULL, NULL, 18, 0);
    put_nvtx(POP, 1, NULL, NULL, 19, 0);
    load("it");
    assert_int_equal(ranges.count, 2);
    expect_range(0, 1, 10, 15);
    expect_range(1, 1, 16, 19);
    done();
}

static void a_range_inside_another_name_ends_with_its_own_pop(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(PUSH, 1, NULL, "epoch", 1, 0);
    put_nvtx_range("it", 10, 20);
    put_nvtx_range("it", 30, 40);
    put_nvtx(POP, 1, NULL, NULL, 50, 0);
    load("it");
    assert_int_equal(ranges.count, 2);
    expect_range(1, 1, 30, 40);
    done();
}

/* Every domain has stacks of its own, and every thread. */
static void domains_and_threads_have_stacks_of_their_own(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(PUSH, 1, NULL, "it", 10, 0);
    put_nvtx(PUSH, 1, "library", "it", 11, 0);
    put_nvtx(PUSH, 2, NULL, "it", 12, 0);
    put_nvtx(POP, 1, NULL, NULL, 20, 0);
    put_nvtx(POP, 1, "library", NULL, 21, 0);
    put_nvtx(POP, 2, NULL, NULL, 22, 0);
    load("it");
    assert_int_equal(ranges.count, 3);
    expect_range(0, 1, 10, 20);
    expect_range(1, 1, 11, 21);
    expect_range(2, 2, 12, 22);
    done();
}

/* nvtxRangeStart's ranges are found by id, overlap, and end in any thread; the thread is the one
 * that began them. */
static void started_ranges_end_in_any_thread(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(START, 1, NULL, "it", 10, 71);
    put_nvtx(START, 1, NULL, "it", 12, 72);
    put_nvtx(START, 1, NULL, "other", 13, 73);
    put_nvtx(END, 2, NULL, NULL, 20, 71);
    put_nvtx(END, 2, NULL, NULL, 21, 73);
    put_nvtx(END, 2, NULL, NULL, 22, 72);
    load("it");
    assert_int_equal(ranges.count, 2);
    expect_range(0, 1, 10, 20);
    expect_range(1, 1, 12, 22);
    assert_int_equal(ranges.unfinished, 0);
    done();
}

static void ranges_stand_in_order_of_their_begins(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(START, 1, NULL, "it", 5, 71);
    put_nvtx_range("it", 10, 20);
    put_nvtx(END, 1, NULL, NULL, 30, 71);
    load("it");
    assert_int_equal(ranges.count, 2);
    expect_range(0, 1, 5, 30);
    expect_range(1, 1, 10, 20);
    done();
}

/* What was pushed before the recording began has no begin; marks are no ranges. */
static void pops_without_a_push_are_passed_over(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(POP, 1, NULL, NULL, 5, 0);
    put_nvtx(END, 1, NULL, NULL, 6, 99);
    put_nvtx(MP_nvtx_kind_mark, 1, NULL, "it", 7, 0);
    put_nvtx_range("it", 10, 20);
    load("it");
    assert_int_equal(ranges.count, 1);
    expect_range(0, 1, 10, 20);
    done();
}

static void ranges_without_an_end_are_counted(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx_range("it", 10, 20);
    put_nvtx(PUSH, 1, NULL, "it", 30, 0);
    put_nvtx(PUSH, 2, NULL, "it", 31, 0);
    put_nvtx(PUSH, 3, NULL, "other", 31, 0);
    put_nvtx(START, 1, NULL, "it", 32, 71);
    load("it");
    assert_int_equal(ranges.count, 1);
    assert_int_equal(ranges.unfinished, 3);
    done();
}

static void of_an_id_that_is_started_twice_the_last_counts(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(START, 1, NULL, "it", 10, 71);
    put_nvtx(END, 1, NULL, NULL, 11, 71);
    put_nvtx(START, 1, NULL, "it", 20, 71);
    put_nvtx(END, 1, NULL, NULL, 21, 71);
    put_nvtx(END, 1, NULL, NULL, 22, 71);
    load("it");
    assert_int_equal(ranges.count, 2);
    expect_range(1, 1, 20, 21);
    done();
}

static void an_unknown_name_lists_those_that_there_are(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx_range("forward", 10, 20);
    put_nvtx_range("backward", 20, 30);
    put_nvtx_range("forward", 30, 40);
    load("it");
    assert_int_equal(ranges.count, 0);
    assert_string_equal(ranges.others, "forward, backward");
    done();
}

static void names_that_do_not_fit_are_left_out(void **state)
{
    char name[100];

    (void)state;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    scene_begin();
    put_nvtx_range(name, 10, 20);
    name[0] = 'y';
    put_nvtx_range(name, 20, 30);
    put_nvtx_range("short", 30, 40);
    load("it");
    assert_int_equal(strlen(ranges.others), 99 + 2 + 5);
    assert_non_null(strstr(ranges.others, ", short"));
    done();
}

static void of_many_names_a_few_are_listed(void **state)
{
    char name[] = "a";

    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 26; i++, name[0]++)
        put_nvtx_range(name, 10 + 2 * i, 11 + 2 * i);
    load("it");
    assert_string_equal(ranges.others, "a, b, c, d, e");
    done();
}

static void without_nvtx_there_is_nothing_to_list(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cudaGetDevice", 10, 20, 1);
    load("it");
    assert_int_equal(ranges.count, 0);
    assert_string_equal(ranges.others, "");
    assert_int_equal(ranges.unfinished, 0);
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_goes_from_push_to_pop),
        cmocka_unit_test(of_nested_ranges_the_outermost_counts),
        cmocka_unit_test(a_range_inside_another_name_ends_with_its_own_pop),
        cmocka_unit_test(domains_and_threads_have_stacks_of_their_own),
        cmocka_unit_test(started_ranges_end_in_any_thread),
        cmocka_unit_test(ranges_stand_in_order_of_their_begins),
        cmocka_unit_test(pops_without_a_push_are_passed_over),
        cmocka_unit_test(ranges_without_an_end_are_counted),
        cmocka_unit_test(of_an_id_that_is_started_twice_the_last_counts),
        cmocka_unit_test(an_unknown_name_lists_those_that_there_are),
        cmocka_unit_test(names_that_do_not_fit_are_left_out),
        cmocka_unit_test(of_many_names_a_few_are_listed),
        cmocka_unit_test(without_nvtx_there_is_nothing_to_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
