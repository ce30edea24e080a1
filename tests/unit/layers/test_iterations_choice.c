/* Which candidate is chosen, for programs whose iterations are known by construction. Times in the
 * scenes are us.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "unit/layers/iterations_fixture.h"

/* ---- What programs do ---- */

/* A request of a server's thread: a copy in, work, a copy out, a wait; 60 us. */
static void request(uint64_t thread, uint64_t at, bool as_graph)
{
    if (as_graph) {
        uint64_t correlation = next_correlation();

        put_call(thread, "cudaGraphLaunch", at, at + 6, correlation);
        put_node(thread, "alpha", thread, 1, at + 10, at + 40, correlation);
        put_node(thread, "beta", thread, 2, at + 40, at + 55, correlation);
    } else {
        copy(thread, thread, MP_copy_kind_HtoD, at, at + 5, at + 10);
        launch(thread, thread, "alpha", at + 3, at + 10, at + 40);
        launch(thread, thread, "beta", at + 6, at + 40, at + 52);
        copy(thread, thread, MP_copy_kind_DtoH, at + 9, at + 52, at + 55);
    }
    wait_for(thread, at + 12, at + 60);
}

static const char *id_of(uint32_t lane)
{
    static char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)scene.deps.lanes[lane].tid);
    return text;
}

static const struct iterations_candidate *candidate_of(const char *name)
{
    for (size_t i = 0; i < found.candidate_count; i++) {
        if (found.candidates[i].name && !strcmp(found.candidates[i].name, name))
            return &found.candidates[i];
    }
    return NULL;
}

/* ---- Which one ---- */

/* Eight threads, half of them with a graph each: the requests of all, not one thread's launches. */
static void a_server(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t thread = 1; thread <= 8; thread++) {
        for (uint64_t i = 0; i < 50; i++)
            request(thread, 100 + i * 100 + thread * 7, thread % 2);
    }
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_REQUESTS);
    assert_int_equal(found.count, 400);
    assert_int_equal(found.threads, 8);
    assert_true(found.coverage == 1);
    assert_int_equal(found.outside, 0);
    for (size_t i = 0; i < found.count; i++)
        expect(i, ITERATION_LATENCY, 60);
    /* 60 us of 100 in each of eight threads. */
    assert_in_range(summary.at_once * 100, 470, 485);
    assert_int_equal(summary.max_at_once, 8);
    done();
}

/* Requests of a thread by name, and a graph by its id; both are a part only. */
static void parts_by_name(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t thread = 1; thread <= 4; thread++) {
        for (uint64_t i = 0; i < 10; i++)
            request(thread, 100 + i * 100 + thread * 7, thread % 2);
    }
    scene_load();
    analyse(ITERATIONS_GRAPH, "3", 0);
    assert_int_equal(found.graph, 3);
    assert_int_equal(found.count, 10);
    assert_true(found.coverage > 0.2 && found.coverage < 0.3);
    forget();
    assert_int_equal(find_by(ITERATIONS_GRAPH, "9", 0), MP_ERR_ARGUMENT);
    assert_int_equal(find_by(ITERATIONS_REQUESTS, "nobody", 0), MP_ERR_ARGUMENT);
    assert_int_equal(find_by(ITERATIONS_SYNCS, "nobody", 0), MP_ERR_ARGUMENT);
    assert_int_equal(find_by(ITERATIONS_KERNELS, "nobody", 0), MP_ERR_ARGUMENT);
    scene_end(UNSOUND);
}

/* Of the ranges "rare" every fourth has work: most are alike, in having none. */
static void ranges_that_seldom_have_work_are_not_regular(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 20; i++) {
        uint64_t at = 100 + i * 100;

        mark(1, NULL, "step", at, at + 30);
        launch(1, 7, "a", at + 5, at + 10, at + 20);
        mark(1, NULL, "rare", at + 50, at + 60);
        if (i % 4 == 0)
            launch(1, 7, "b", at + 52, at + 55, at + 58);
    }
    load(ITERATIONS_AUTO, NULL, 0);
    assert_string_equal(found.name, "step");
    assert_true(candidate_of("step")->regularity == 1);
    assert_true(candidate_of("rare")->regularity == 0);
    done();
}

/* CUB marks its reduction, a small part of each of 100 iterations on two streams. */
static void a_library_does_not_compete(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 100; i++) {
        uint64_t at = 100 + i * 185;

        copy(1, 7, MP_copy_kind_HtoD, at, at + 5, at + 130);
        launch(1, 7, "multiply", at + 10, at + 130, at + 150);
        mark(1, "CCCL", "cub::DeviceReduce::Sum", at + 14, at + 20);
        launch(1, 8, "sum", at + 15, at + 20, at + 40);
        wait_for(1, at + 30, at + 42);
        wait_for(1, at + 50, at + 155);
    }
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_not_equal(found.way, ITERATIONS_NVTX);
    assert_int_equal(found.count, 100);
    expect(50, ITERATION_HOST, 185);
    assert_true(found.coverage == 1);
    forget();
    /* Nor for ever: it can be asked for. */
    analyse(ITERATIONS_NVTX, "cub::DeviceReduce::Sum", 0);
    assert_int_equal(found.count, 100);
    assert_true(found.coverage < 0.2);
    done();
}

/* Of two domains the one that is asked for; a name that has an @ is a name first. */
static void names_in_domains(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t at = 100 + i * 100;

        mark(1, "mine", "step", at, at + 30);
        launch(1, 7, "a", at + 5, at + 10, at + 20);
        mark(1, "other", "step", at + 50, at + 60);
        mark(1, NULL, "a@b", at + 70, at + 80);
    }
    scene_load();
    analyse(ITERATIONS_NVTX, "step@mine", 0);
    assert_int_equal(found.count, 3);
    assert_string_equal(found.domain, "mine");
    assert_string_equal(found.name, "step");
    forget();
    analyse(ITERATIONS_NVTX, "step", 0);
    assert_int_equal(found.count, 6);
    forget();
    analyse(ITERATIONS_NVTX, "a@b", 0);
    assert_int_equal(found.count, 3);
    assert_null(found.domain);
    forget();
    assert_int_equal(find_by(ITERATIONS_NVTX, "step@nobody", 0), MP_ERR_ARGUMENT);
    analyse(ITERATIONS_AUTO, NULL, 0);
    assert_string_equal(found.domain, "mine");
    assert_int_equal(found.count, 3);
    done();
}

/* Ten ranges of the name that is chosen stand alone, 2,000 are inside of another name's. The other
 * candidate needs more room than the ten. */
static void ranges_inside_of_others_count(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 10; i++) {
        uint64_t at = 1000 + i * 20000;

        mark(1, NULL, "step", at, at + 19000);
        launch(1, 7, "large", at + 10, at + 15, at + 18900);
    }
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t at = 300000 + i * 100;

        mark(1, NULL, "outer", at, at + 30);
        mark(1, NULL, "step", at + 5, at + 25);
        launch(1, 7, "small", at + 10, at + 15, at + 16);
    }
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_NVTX);
    assert_string_equal(found.name, "step");
    assert_int_equal(found.count, 2010);
    done();
}

/* A trace that is damaged, or two that were put together, may give the string another text after
 * the ranges: then all of them have it. */
static void a_name_that_means_another_text_later(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 10; i++) {
        uint64_t at = 100 + i * 100;

        mark(1, NULL, "step", at, at + 90);
        launch(1, 7, "kernel", at + 10, at + 15, at + 80);
    }
    assert_int_equal(mp_writer_flush(scene.writer), MP_OK);
    mp_append_string(scene.writer,
                     &(struct mp_row_string){put_string("step"), {"another", strlen("another")}});
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_NVTX);
    assert_string_equal(found.name, "another");
    assert_int_equal(found.count, 10);
    assert_int_equal(found.outside, 0);
    done();
}

/* A name of the program that covers a fiftieth loses against what its thread does. */
static void a_name_that_covers_little(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 20; i++) {
        uint64_t at = 100 + i * 200;

        mark(1, NULL, "log", at, at + 4);
        launch(1, 7, "norm", at + 1, at + 5, at + 7);
        launch(1, 7, "work", at + 10, at + 15, at + 115);
        wait_for(1, at + 14, at + 120);
    }
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_not_equal(found.way, ITERATIONS_NVTX);
    assert_int_equal(found.count, 20);
    forget();
    analyse(ITERATIONS_NVTX, "log", 0);
    assert_in_range(found.coverage * 1000, 19, 20); /* 2 of 102 us */
    done();
}

/* Two waits an iteration, and kernels that never repeat in the same way. */
static void waits_that_repeat(void **state)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};

    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 30; i++) {
        uint64_t at = 100 + i * 200;

        launch(1, 7, names[i * i % 7], at, at + 5, at + 45);
        wait_for(1, at + 10, at + 50);
        copy(1, 7, MP_copy_kind_HtoD, at + 51, at + 55, at + 60);
        launch(1, 7, names[(i * i + i) % 7], at + 60, at + 65, at + 80);
        wait_for(1, at + 62, at + 82);
    }
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_SYNCS);
    assert_int_equal(found.period, 2);
    assert_int_equal(found.count, 30);
    expect_window(0, 100, 300, 300);
    expect_window(29, 5900, 5982, 5982);
    done();
}

/* What autograd's thread launches is the work of the thread that waits; what an independent thread
 * launches is not. */
static void helpers_and_others(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 10; i++) {
        uint64_t at = 100 + i * 200;

        launch(1, 7, "forward", at, at + 5, at + 25);
        launch(2, 7, "backward", at + 20, at + 25, at + 65);
        wait_for(1, at + 30, at + 70);
        launch(3, 9, "other", at + 10, at + 15, at + 20);
        wait_for(3, at + 14, at + 22);
    }
    scene_load();
    analyse(ITERATIONS_REQUESTS, id_of(0), 0);
    assert_int_equal(found.count, 10);
    assert_int_equal(found.of[find("backward")], 0);
    assert_int_equal(found.of[find("other")], DEPS_NONE);
    assert_in_range(found.coverage * 1000, 922, 924); /* 60 of 65 */
    done();
}

/* ---- Requests ---- */

/* From the first work after a wait to the wait for it; what is copied back after a wait belongs to
 * it, what nobody waits for is none. */
static void where_a_request_ends(void **state)
{
    (void)state;
    begin_program();
    launch(1, 7, "a", 100, 105, 120);
    wait_for(1, 110, 125);
    copy(1, 7, MP_copy_kind_DtoH, 130, 135, 140);
    wait_for(1, 133, 142);
    put_host_wait(1, 1, 150, 190, 0, 0); /* for the next request */
    launch(1, 7, "b", 200, 205, 220);
    launch(1, 8, "runs on", 205, 210, 400);
    wait_for(1, 210, 225);
    copy(1, 7, MP_copy_kind_DtoH, 230, 235, 240);
    launch(1, 7, "c", 240, 245, 250);
    wait_for(1, 246, 255);
    launch(1, 7, "d", 500, 505, 510);
    load(ITERATIONS_REQUESTS, NULL, 0);
    assert_int_equal(found.count, 3);
    expect_window(0, 100, 142, 142);
    expect_window(1, 200, 225, 225);
    expect_window(2, 230, 255, 255); /* the copy belonged to what follows */
    assert_int_equal(found.of[find("d")], DEPS_NONE);
    done();
}

/* One request is none when nothing is asked for, and one when it is. */
static void one_request(void **state)
{
    (void)state;
    begin_program();
    request(1, 100, false);
    scene_load();
    analyse(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_WHOLE);
    assert_non_null(strstr(found.why_whole, "no thread waits twice"));
    assert_int_equal(found.candidate_count, 0);
    forget();
    analyse(ITERATIONS_REQUESTS, NULL, 0);
    assert_int_equal(found.count, 1);
    done();
}

/* ---- The list ---- */

/* More names than the list takes: the best stay, the others are counted. */
static void the_list_is_bounded(void **state)
{
    const struct iterations_options options = {.all = true};

    (void)state;
    begin_program();
    for (uint64_t name = 0; name < 100; name++) {
        for (uint64_t i = 0; i < 2; i++) {
            uint64_t at = 100 + (name * 2 + i) * 300;
            char text[16];

            snprintf(text, sizeof text, "n%llu", (unsigned long long)name);
            mark(1, NULL, text, at, at + 10);
            launch(1, 7, "k", at + 1, at + 5, at + 105 + name);
            wait_for(1, at + 20, at + 106 + name);
        }
    }
    scene_load();
    assert_int_equal(iterations_find(&scene.deps, scene.trace, &options, &found, NULL), MP_OK);
    assert_int_equal(found.candidate_count, ITERATIONS_LISTED);
    assert_int_equal(found.candidates_left,
                     103 - ITERATIONS_LISTED); /* and kernels, syncs, requests */
    assert_int_equal(found.way, ITERATIONS_KERNELS);
    assert_int_equal(found.chosen, 0);
    for (size_t i = 1; i < found.candidate_count; i++)
        assert_true(found.candidates[i].score <= found.candidates[i - 1].score);
    assert_non_null(candidate_of("n99"));
    assert_null(candidate_of("n0"));
    iterations_free(&found);
    scene_end(UNSOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server),
        cmocka_unit_test(parts_by_name),
        cmocka_unit_test(ranges_that_seldom_have_work_are_not_regular),
        cmocka_unit_test(a_library_does_not_compete),
        cmocka_unit_test(names_in_domains),
        cmocka_unit_test(ranges_inside_of_others_count),
        cmocka_unit_test(a_name_that_means_another_text_later),
        cmocka_unit_test(a_name_that_covers_little),
        cmocka_unit_test(waits_that_repeat),
        cmocka_unit_test(helpers_and_others),
        cmocka_unit_test(where_a_request_ends),
        cmocka_unit_test(one_request),
        cmocka_unit_test(the_list_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
