/* Which node is a copy of which: numbers go with clones, not with handles, and early nodes make
 * room where there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/graphs/origins.h"

enum { GRAPH = 0x1000, CLONE = 0x2000, OTHER = 0x3000, NODE = 0x10, COPY = 0x20, LATER = 0x30 };

static struct origins origins;

static int open_origins(void **state)
{
    (void)state;
    return !origins_open(&origins);
}

static void a_number_goes_with_the_clones(void **state)
{
    uint32_t number;

    (void)state;
    number = origins_create(&origins, GRAPH, NODE);
    assert_true(number != 0);
    assert_int_equal(origins_find(&origins, NODE), number);
    assert_int_equal(origins_find(&origins, COPY), 0);
    origins_clone(&origins, CLONE, COPY, NODE);
    assert_int_equal(origins_find(&origins, COPY), number);
    origins_forget(&origins, GRAPH);
    assert_int_equal(origins_find(&origins, NODE), 0);
    assert_int_equal(origins_find(&origins, COPY), number);
    origins_clone(&origins, OTHER, LATER, COPY);
    assert_int_equal(origins_find(&origins, LATER), number);
    origins_forget(&origins, OTHER);
    origins_forget(&origins, CLONE);
    assert_int_equal(origins.held, 0);
}

static void a_handle_that_is_used_again_is_another_node(void **state)
{
    uint32_t first, second;

    (void)state;
    first = origins_create(&origins, GRAPH, NODE);
    second = origins_create(&origins, OTHER, NODE);
    assert_true(second != 0 && second != first);
    assert_int_equal(origins_find(&origins, NODE), second);
    assert_int_equal(origins.held, 1);
    origins_forget(&origins, GRAPH); /* it is not of that graph any more */
    assert_int_equal(origins_find(&origins, NODE), second);
    origins_skip(&origins, NODE); /* made again, while nothing is noted */
    assert_int_equal(origins_find(&origins, NODE), 0);
    origins_create(&origins, GRAPH, COPY);
    origins_clone(&origins, CLONE, COPY, NODE); /* a clone of one without a number */
    assert_int_equal(origins_find(&origins, COPY), 0);
    origins_skip(&origins, COPY);
    origins_clone(&origins, CLONE, COPY, NODE);
    assert_int_equal(origins.held, 0);
}

static void a_graph_goes_with_all_its_nodes_and_no_others(void **state)
{
    (void)state;
    for (uintptr_t i = 0; i < 10000; i++)
        assert_true(origins_create(&origins, GRAPH + i % 7, 16 * i) != 0);
    origins_forget(&origins, GRAPH + 3);
    for (uintptr_t i = 0; i < 10000; i++)
        assert_int_equal(origins_find(&origins, 16 * i) == 0, i % 7 == 3);
    for (uintptr_t i = 0; i < 10000; i += 2)
        origins_skip(&origins, 16 * i);
    for (uintptr_t i = 0; i < 7; i++)
        origins_forget(&origins, GRAPH + i);
    assert_int_equal(origins.held, 0);
    assert_int_equal(origins.lost, 0);
}

static void early_nodes_make_room(void **state)
{
    const uintptr_t more = 1000;

    (void)state;
    for (uintptr_t i = 1; i <= ORIGINS_MAX + more; i++)
        assert_true(origins_create(&origins, GRAPH, 16 * i) != 0);
    assert_int_equal(origins.held, ORIGINS_MAX);
    assert_int_equal(origins.lost, more);
    for (uintptr_t i = 1; i <= more; i++)
        assert_int_equal(origins_find(&origins, 16 * i), 0);
    for (uintptr_t i = more + 1; i <= ORIGINS_MAX + more; i++)
        assert_true(origins_find(&origins, 16 * i) != 0);
    /* One that goes in the call itself is still copied. */
    origins_clone(&origins, CLONE, COPY + 1, 16 * (more + 1));
    assert_int_equal(origins_find(&origins, 16 * (more + 1)), 0);
    assert_true(origins_find(&origins, COPY + 1) != 0);
    origins_forget(&origins, GRAPH);
    assert_int_equal(origins.held, 1);
    origins_forget(&origins, CLONE);
}

static void without_memory_nothing_is_kept(void **state)
{
    struct origins none = {.items = NULL};

    (void)state;
    assert_int_equal(origins_create(&none, GRAPH, NODE), 0);
    origins_clone(&none, CLONE, COPY, NODE);
    origins_skip(&none, NODE);
    origins_forget(&none, GRAPH);
    assert_int_equal(origins_find(&none, NODE), 0);
}

static void graphs_are_built_once(void **state)
{
    (void)state;
    assert_true(origins_building(&origins, GRAPH));
    assert_false(origins_building(&origins, GRAPH));
    assert_false(origins_built(&origins, CLONE));
    assert_true(origins_built(&origins, GRAPH));
    assert_false(origins_built(&origins, GRAPH));
    for (uintptr_t i = 0; i < ORIGINS_MAX_BUILDING; i++)
        assert_true(origins_building(&origins, GRAPH + i));
    assert_false(origins_building(&origins, CLONE)); /* beyond what is followed */
    assert_false(origins_built(&origins, CLONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_number_goes_with_the_clones, open_origins),
        cmocka_unit_test_setup(a_handle_that_is_used_again_is_another_node, open_origins),
        cmocka_unit_test_setup(a_graph_goes_with_all_its_nodes_and_no_others, open_origins),
        cmocka_unit_test_setup(early_nodes_make_room, open_origins),
        cmocka_unit_test(without_memory_nothing_is_kept),
        cmocka_unit_test_setup(graphs_are_built_once, open_origins),
    };

    return cmocka_run_group_tests_name("copies of nodes", tests, NULL, NULL);
}
