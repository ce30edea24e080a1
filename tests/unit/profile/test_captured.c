/* The NVTX ranges in which nodes of CUDA graphs were captured: looked up by node, as a report, in
 * the GPU trace, and with tables that make no sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/nvtx/captured.h"
#include "reports/nvtx/result.h"
#include "reports/trace/trace.h"

static struct nvtx_result result;
static struct captured captured;

static void put_path(uint64_t id, uint64_t parent, const char *domain, const char *name)
{
    mp_append_path(scene.writer, &(struct mp_row_path){.id = id,
                                                       .parent = parent,
                                                       .domain = domain ? put_string(domain) : 0,
                                                       .name = name ? put_string(name) : 0});
}

static void put_captured(uint64_t graph, uint64_t node, uint64_t path, uint64_t thread)
{
    mp_append_captured(scene.writer,
                       &(struct mp_row_captured){
                           .graph = graph, .graph_node = node, .path = path, .thread = thread});
}

/* ---- The lookup ---- */

/* "domain:outer > inner" of the node with this id, by the way that captured.h shows. */
static const char *path_of(uint64_t node)
{
    static char text[200];
    const struct captured_node *found = captured_find(&captured, node);

    text[0] = '\0';
    for (uint32_t at = found ? found->path : 0; at; at = captured_path(&captured, at)->parent) {
        const struct captured_path *path = captured_path(&captured, at);
        char rest[200];

        memcpy(rest, text, sizeof rest);
        snprintf(text, sizeof text, "%s%s%s%s%.150s", path->domain ? path->domain : "",
                 path->domain ? ":" : "", path->name, *rest ? " > " : "", rest);
    }
    return found ? text : NULL;
}

static void load_captured(void)
{
    scene_load();
    assert_int_equal(captured_load(&captured, scene.trace, NULL), MP_OK);
}

static void end_captured(void)
{
    captured_free(&captured);
    scene_end(UNSOUND);
}

static void a_node_tells_its_ranges_from_outside_in(void **state)
{
    (void)state;
    scene_begin();
    put_node(1, "a", 2, 0x201, 10, 20, 1); /* row 1 of `node`; 2 and 3 below */
    put_node(1, "b", 2, 0x202, 20, 30, 1);
    put_node(1, "c", 4, 0x201, 30, 40, 2);
    put_path(1, 0, NULL, "model");
    put_path(2, 1, "layers", "conv");
    put_captured(2, 0x201, 2, 7);
    put_captured(4, 0x201, 1, 8);
    load_captured();
    assert_true(captured_has_any(&captured));
    assert_string_equal(path_of(1), "model > layers:conv");
    assert_null(path_of(2));
    assert_string_equal(path_of(3), "model");
    assert_int_equal(captured_find(&captured, 1)->thread, 7);
    assert_int_equal(captured_path(&captured, 2)->depth, 2);
    assert_int_equal(captured_path(&captured, 1)->depth, 1);
    assert_null(captured_find(&captured, 0));
    assert_null(captured_find(&captured, 4));
    assert_null(captured_path(&captured, 0));
    assert_null(captured_path(&captured, 3));
    assert_int_equal(captured.undefined, 0);
    end_captured();
}

static void a_trace_without_the_tables_has_none(void **state)
{
    (void)state;
    scene_begin();
    put_node(1, "a", 2, 0x201, 10, 20, 1);
    load_captured();
    assert_false(captured_has_any(&captured));
    assert_null(captured_find(&captured, 1));
    end_captured();
}

static void a_node_that_comes_twice_has_the_last_path(void **state)
{
    (void)state;
    scene_begin();
    put_node(1, "a", 2, 0x201, 10, 20, 1);
    put_path(1, 0, NULL, "first");
    put_path(2, 0, NULL, "second");
    put_captured(2, 0x201, 1, 1);
    put_captured(2, 0x201, 2, 1);
    load_captured();
    assert_int_equal(captured.count, 1);
    assert_string_equal(path_of(1), "second");
    end_captured();
}

static void forged_paths_end(void **state)
{
    (void)state;
    scene_begin();
    put_node(1, "a", 2, 1, 10, 20, 1);
    put_node(1, "b", 2, 2, 20, 30, 1);
    put_node(1, "c", 2, 3, 30, 40, 1);
    put_path(1, 1, NULL, "its own parent");
    put_path(2, 3, NULL, "before its parent");
    put_path(3, 2, NULL, "in a circle");
    put_path(3, 2, NULL, "defined again");
    put_path(0, 0, NULL, "of no number");
    put_path(5, 4, NULL, NULL);
    put_path((uint64_t)1 << 40, 0, NULL, "of a number that no file of this size has");
    put_path(UINT64_MAX, UINT64_MAX - 1, NULL, "of the last number");
    put_captured(2, 1, 1, 1);
    put_captured(2, 2, 3, 1);
    put_captured(2, 3, 5, UINT64_MAX);
    load_captured();
    assert_string_equal(path_of(1), "its own parent");
    assert_string_equal(path_of(2), "before its parent > defined again");
    assert_string_equal(path_of(3), "<unnamed>");
    assert_int_equal(captured_path(&captured, 3)->depth, 2);
    end_captured();
}

static void forged_nodes_are_passed_over(void **state)
{
    (void)state;
    scene_begin();
    put_node(1, "a", 2, 1, 10, 20, 1);
    put_path(1, 0, NULL, "path");
    put_captured(2, 1, 9, 1);                       /* no such path */
    put_captured(2, 1, UINT64_MAX, 1);              /* no such number */
    put_captured(2, 1, ((uint64_t)1 << 32) | 1, 1); /* the path's number in its lower half */
    put_captured(7, 7, 1, 1);                       /* a node that did not run */
    mp_append_path(scene.writer, &(struct mp_row_path){.id = 2, .domain = 999, .name = 998});
    put_captured(0, 0, 2, 1);
    load_captured();
    assert_null(path_of(1));
    assert_int_equal(captured.count, 2);
    assert_int_equal(captured.undefined, 2);
    assert_string_equal(captured_path(&captured, 2)->domain, "[unnamed domain]");
    assert_string_equal(captured_path(&captured, 2)->name, "[unnamed range]");
    end_captured();
}

/* ---- The report ---- */

static void load_with(struct nvtx_options options)
{
    scene_load();
    assert_int_equal(nvtx_result_build(scene.deps.profile, &options, &result, NULL), MP_OK);
}

static void load(void)
{
    load_with((struct nvtx_options){.style = NAMES_READABLE});
}

static void done(void)
{
    nvtx_result_free(&result);
    scene_end(UNSOUND);
}

/* "thread/domain/name nodes=N: a 2x30, b 1x10": names with counts and total time in us. */
static const char *range_at(size_t index)
{
    static char text[400];
    const struct nvtx_captured_range *range = &result.captured[index];
    int used;

    assert_true(index < result.captured_count);
    used = snprintf(text, sizeof text, "%u/%s/%s nodes=%u:", (unsigned)range->thread,
                    range->domain ? range->domain : "", range->name, (unsigned)range->nodes);
    for (size_t i = 0; i < range->work.row_count; i++) {
        const struct summary_row *row = &range->work.rows[i];

        used +=
            snprintf(text + used, sizeof text - (size_t)used, "%s %s %ux%u", i ? "," : "",
                     row->name, (unsigned)row->tally.calls, (unsigned)(row->tally.total / 1000));
    }
    return text;
}

static void work_is_in_all_ranges_around_the_capture(void **state)
{
    (void)state;
    scene_begin();
    put_path(1, 0, NULL, "model");
    put_path(2, 1, NULL, "conv");
    put_path(3, 1, "library", "conv");
    put_captured(2, 1, 2, 1);
    put_captured(2, 2, 3, 1);
    put_captured(2, 3, 1, 1);
    put_captured(2, 9, 2, 1); /* did not run */
    put_node(1, "a", 2, 1, 10, 20, 1);
    put_node(1, "b", 2, 2, 20, 23, 1);
    put_node(1, "c", 2, 3, 30, 31, 1);
    put_node(1, "d", 2, 4, 40, 50, 1); /* captured in no range */
    put_node(1, "a", 2, 1, 60, 75, 2);
    put_kernel(1, "a", 80, 90, 3); /* of no graph */
    load();
    assert_int_equal(result.captured_count, 3);
    assert_string_equal(range_at(0), "1/library/conv nodes=1: b 1x3");
    assert_string_equal(range_at(1), "1//conv nodes=1: a 2x25");
    assert_string_equal(range_at(2), "1//model nodes=3: a 2x25, b 1x3, c 1x1");
    assert_int_equal(result.captured[2].work.total, 29000);
    assert_int_equal(result.range_count, 0);
    done();
}

static void a_range_inside_its_own_name_counts_once(void **state)
{
    (void)state;
    scene_begin();
    put_path(1, 0, NULL, "f");
    put_path(2, 1, NULL, "g");
    put_path(3, 2, NULL, "f");
    put_captured(2, 1, 3, 1);
    put_captured(2, 2, 1, 1);
    put_node(1, "a", 2, 1, 10, 20, 1);
    put_node(1, "b", 2, 2, 20, 30, 1);
    load();
    assert_int_equal(result.captured_count, 2);
    assert_string_equal(range_at(0), "1//f nodes=2: a 1x10, b 1x10");
    assert_string_equal(range_at(1), "1//g nodes=1: a 1x10");
    done();
}

static void threads_that_capture_are_apart(void **state)
{
    (void)state;
    scene_begin();
    put_path(1, 0, NULL, "f");
    put_captured(2, 1, 1, 5);
    put_captured(4, 1, 1, 3);
    put_node(1, "a", 2, 1, 10, 20, 1);
    put_node(1, "a", 4, 1, 20, 27, 1);
    load();
    assert_int_equal(result.captured_count, 2);
    assert_string_equal(range_at(0), "3//f nodes=1: a 1x7");
    assert_string_equal(range_at(1), "5//f nodes=1: a 1x10");
    done();
}

static void a_capture_range_holds_what_it_launched(void **state)
{
    (void)state;
    scene_begin();
    put_range(1, 5, 100, 1, 2);
    put_range(2, 200, 300, 3, 9);
    put_path(1, 0, NULL, "f");
    put_captured(2, 1, 1, 1);
    put_node(1, "a", 2, 1, 10, 20, 1);
    put_node(1, "a", 2, 1, 210, 217, 4);
    put_node(1, "a", 2, 1, 220, 223, 5);
    load_with((struct nvtx_options){.style = NAMES_READABLE, .range = 2});
    assert_int_equal(result.captured_count, 1);
    assert_string_equal(range_at(0), "1//f nodes=1: a 2x10");
    done();
}

static void times_that_make_no_sense_are_left_out(void **state)
{
    (void)state;
    scene_begin();
    put_path(1, 0, NULL, "f");
    put_captured(2, 1, 1, 1);
    put_node(1, "unknown", 2, 1, 0, 20, 1);
    put_node(1, "reversed", 2, 1, 20, 10, 1);
    put_node(1, "good", 2, 1, 30, 40, 1);
    load();
    assert_int_equal(result.captured_count, 1);
    assert_string_equal(range_at(0), "1//f nodes=1: good 1x10");
    done();
}

static void a_path_deeper_than_any_is_followed_so_far(void **state)
{
    char name[16];

    (void)state;
    scene_begin();
    for (uint64_t id = 1; id <= CAPTURED_MAX_DEPTH + 10; id++) {
        snprintf(name, sizeof name, "%05u", (unsigned)id);
        put_path(id, id - 1, NULL, name);
    }
    put_captured(2, 1, CAPTURED_MAX_DEPTH + 10, 1);
    put_node(1, "a", 2, 1, 10, 20, 1);
    load();
    assert_int_equal(result.captured_count, CAPTURED_MAX_DEPTH);
    assert_string_equal(range_at(0), "1//00011 nodes=1: a 1x10");
    done();
}

/* ---- The GPU trace ---- */

/* What JSON says of the rows, "captured_in" alone, one after the other. */
static void expect_captured_in(const char *expected)
{
    struct traces_options options = {.gpu = true, .captured = true, .style = NAMES_READABLE};
    struct report_out out = {.format = REPORT_JSON};
    struct quality quality;
    char said[500] = "";
    char *text = NULL;
    size_t size;

    scene_load();
    out.file = open_memstream(&text, &size);
    assert_non_null(out.file);
    assert_int_equal(print_traces(&out, scene.trace, &options, &quality, NULL), MP_OK);
    fclose(out.file);
    for (const char *at = text; (at = strstr(at, "\"captured_in\": ")); at++) {
        size_t used = strlen(said);
        const char *value = at + strlen("\"captured_in\": ");

        snprintf(said + used, sizeof said - used, "%s%.*s", used ? " | " : "",
                 (int)strcspn(value, ","), value);
    }
    free(text);
    assert_string_equal(said, expected);
    quality_free(&quality);
    scene_end(UNSOUND);
}

static void rows_of_the_gpu_trace_name_their_path(void **state)
{
    (void)state;
    scene_begin();
    put_path(1, 0, NULL, "model");
    put_path(2, 1, "layers", "conv");
    put_captured(2, 1, 2, 1);
    put_captured(2, 3, 1, 1);
    put_node(1, "a", 2, 1, 10, 20, 1);
    put_node(1, "b", 2, 2, 20, 30, 1);
    put_node(1, "c", 2, 3, 30, 40, 1);
    put_kernel(1, "d", 50, 60, 2);
    put_node(1, "a", 2, 1, 70, 80, 3);
    expect_captured_in("\"model > conv\" | null | \"model\" | null | \"model > conv\"");
}

static void without_captured_nodes_the_key_is_not_there(void **state)
{
    (void)state;
    scene_begin();
    put_node(1, "a", 2, 1, 10, 20, 1);
    expect_captured_in("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_tells_its_ranges_from_outside_in),
        cmocka_unit_test(a_trace_without_the_tables_has_none),
        cmocka_unit_test(a_node_that_comes_twice_has_the_last_path),
        cmocka_unit_test(forged_paths_end),
        cmocka_unit_test(forged_nodes_are_passed_over),
        cmocka_unit_test(work_is_in_all_ranges_around_the_capture),
        cmocka_unit_test(a_range_inside_its_own_name_counts_once),
        cmocka_unit_test(threads_that_capture_are_apart),
        cmocka_unit_test(a_capture_range_holds_what_it_launched),
        cmocka_unit_test(times_that_make_no_sense_are_left_out),
        cmocka_unit_test(a_path_deeper_than_any_is_followed_so_far),
        cmocka_unit_test(rows_of_the_gpu_trace_name_their_path),
        cmocka_unit_test(without_captured_nodes_the_key_is_not_there),
    };

    return cmocka_run_group_tests_name("captured ranges", tests, NULL, NULL);
}
