/* The NVTX ranges around nodes of graphs when there are too many of anything, and when memory is
 * out. malloc and its kin are wrapped (tests/tests.mk). */
#include "unit/record/test_paths.h"

#include "unit/failing_malloc.h"

static void ranges_beyond_the_most_are_counted_when_they_would_be_told(void **state)
{
    struct bench bench;
    uint32_t nodes[3];

    (void)state;
    bench_open(&bench);
    for (uint32_t i = 0; i < OPEN_MAX; i++)
        push(&bench, "f");
    push(&bench, "beyond");
    nodes[0] = make(&bench);
    pop(&bench);
    for (uint32_t i = 1; i < OPEN_MAX; i++)
        pop(&bench);
    nodes[1] = make(&bench);
    nodes[2] = 1000; /* never met */
    instantiate(&bench, nodes, 3);
    settle(&bench);
    assert_int_equal(bench.paths.lost, 0);
    run(&bench);
    settle(&bench);
    assert_int_equal(bench.paths.lost, 2);
    assert_string_equal(in_file(&bench), "0.2=f");
    bench_close(&bench);
}

static void numbers_of_long_ago_are_counted(void **state)
{
    struct bench bench;
    uint32_t nodes[2];

    (void)state;
    bench_open(&bench);
    push(&bench, "f");
    nodes[0] = make(&bench);
    for (uint32_t i = 0; i < PATHS_MAX_ORIGINS; i++)
        nodes[1] = make(&bench);
    instantiate(&bench, nodes, 2);
    run(&bench);
    settle(&bench);
    assert_int_equal(bench.paths.lost, 1);
    assert_string_equal(in_file(&bench), "0.2=f");
    bench_close(&bench);
}

static void names_beyond_the_most_are_counted(void **state)
{
    static char name[1 << 12];
    struct bench bench;
    uint32_t max = PATHS_MAX_TEXT / (sizeof name - 1);
    uint32_t nodes[2];

    (void)state;
    bench_open(&bench);
    memset(name, 'x', sizeof name - 1);
    push(&bench, "short");
    nodes[0] = make(&bench);
    pop(&bench);
    for (uint32_t i = 0; i <= max; i++) {
        snprintf(name, 9, "%08u", (unsigned)i);
        name[8] = 'x';
        push(&bench, name);
        nodes[1] = make(&bench);
        pop(&bench);
    }
    instantiate(&bench, nodes, 2);
    run(&bench);
    settle(&bench);
    assert_int_equal(bench.paths.lost, 1);
    assert_string_equal(in_file(&bench), "0.1=short");
    bench_close(&bench);
}

static void paths_beyond_the_most_are_counted(void **state)
{
    struct bench bench;
    uint32_t nodes[2];

    (void)state;
    bench_open(&bench);
    start(&bench, "known", 1);
    nodes[0] = make(&bench);
    for (uint32_t i = 1; i < PATHS_MAX; i++) {
        end(&bench, 1, i, 0);
        start(&bench, "f", i + 1);
        make(&bench);
    }
    end(&bench, 1, PATHS_MAX, 0);
    start(&bench, "g", PATHS_MAX + 1);
    nodes[1] = make(&bench);
    instantiate(&bench, nodes, 2);
    run(&bench);
    settle(&bench);
    assert_int_equal(bench.paths.lost, 1);
    assert_string_equal(in_file(&bench), "0.1=known");
    bench_close(&bench);
}

/* Ends without a start, which were recorded in part, more than are remembered. */
static void ends_without_a_start_are_forgotten(void **state)
{
    struct bench bench;
    uint32_t node;

    (void)state;
    bench_open(&bench);
    for (uint64_t range = 1; range <= 20000; range++)
        end(&bench, 1, range, 0);
    start(&bench, "f", 19999); /* its end is remembered */
    start(&bench, "g", 1);     /* its end is not */
    node = make(&bench);
    instantiate(&bench, &node, 1);
    run(&bench);
    settle(&bench);
    assert_string_equal(in_file(&bench), "0.1=g");
    bench_close(&bench);
}

/* Everything that allocates; what the file says, how many nodes were counted, and whether names are
 * missing. */
static const char *said_when(unsigned failing, uint64_t *lost, bool *nameless)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    static struct bench bench;
    uint32_t nodes[40];
    const char *said;

    bench_open(&bench);
    countdown = failing;
    for (uint32_t i = 0; i < 40; i++) {
        if (i % 2)
            start(&bench, names[i % 4], 100 + i);
        else
            push(&bench, names[i % 4]);
        nodes[i] = make(&bench);
        if (i % 8 == 7)
            end(&bench, 2, 100 + i - 2, 0);
        end(&bench, 2, 1000 + i, 0);
    }
    instantiate(&bench, nodes, 40);
    run(&bench);
    settle(&bench);
    countdown = 0;
    *lost = bench.paths.lost + bench.store.nodes_lost;
    *nameless = mp_writer_flush(bench.writer) != MP_OK || bench.writer->lost_rows ||
                bench.dictionary.failures;
    said = in_file(&bench);
    bench_close(&bench);
    return said;
}

/* How many of the words in `text` stand in `all`; none may stand there otherwise. */
static unsigned known_words(char *text, const char *all)
{
    unsigned count = 0;

    for (char *word = strtok_r(text, " ", &text); word; word = strtok_r(NULL, " ", &text)) {
        assert_non_null(strstr(all, word));
        count++;
    }
    return count;
}

static void each_allocation_may_fail(void **state)
{
    static char all[6000], some[6000];
    unsigned failing, failed = 0;
    uint64_t lost;
    bool nameless;

    (void)state;
    writer_may_fail = true;
    snprintf(all, sizeof all, "%s", said_when(0, &lost, &nameless));
    assert_true(!lost && !nameless);
    for (failing = 1; failing < 200; failing++) {
        snprintf(some, sizeof some, "%s", said_when(failing, &lost, &nameless));
        if (!nameless)
            assert_int_equal(known_words(some, all) + lost, 40);
        failed += lost != 0;
    }
    assert_true(failed > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_beyond_the_most_are_counted_when_they_would_be_told),
        cmocka_unit_test(numbers_of_long_ago_are_counted),
        cmocka_unit_test(names_beyond_the_most_are_counted),
        cmocka_unit_test(paths_beyond_the_most_are_counted),
        cmocka_unit_test(ends_without_a_start_are_forgotten),
        cmocka_unit_test(each_allocation_may_fail),
    };

    return cmocka_run_group_tests_name("the most NVTX ranges around nodes", tests, NULL, NULL);
}
