/* The digest: which of several is the slowest, and that the screen has its size whatever there is
 * to say. Numbers are compared with those of the other reports in tests/golden/compare_report.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/digest/print.h"
#include "unit/deps/deps_fixture.h"

static struct digest of(uint64_t p50, enum iterations_way way, bool no_work)
{
    struct digest digest = {.path = "x.mpt", .no_work = no_work};

    digest.latency.p50 = p50;
    digest.iterations.way = way;
    return digest;
}

static void the_slowest_has_iterations(void **state)
{
    const struct digest digests[] = {
        of(900, ITERATIONS_WHOLE, true),   of(500, ITERATIONS_WHOLE, false),
        of(20, ITERATIONS_NVTX, false),    of(30, ITERATIONS_GRAPH, false),
        of(30, ITERATIONS_KERNELS, false),
    };

    (void)state;
    assert_int_equal(digest_slowest(digests, 1), 0);
    assert_int_equal(digest_slowest(digests, 2), 1);
    assert_int_equal(digest_slowest(digests, 3), 2);
    assert_int_equal(digest_slowest(digests, 5), 3);
}

static void each_part_has_a_key(void **state)
{
    (void)state;
    for (int i = 0; i < DIGEST_PARTS; i++) {
        const char *key = digest_part_key((enum digest_part)i);

        assert_true(strlen(key) > 3 && !strcmp(key + strlen(key) - 3, "_ns"));
        for (int other = 0; other < i; other++)
            assert_string_not_equal(key, digest_part_key((enum digest_part)other));
    }
}

/* ---- Of a trace ---- */

/* Of ranges of 20, 30 and 40 us, and one that was not ended; all, or the second. */
static void ended_ranges_are_added_up(void **state)
{
    const struct digest_options all = {.path = "x.mpt"};
    const struct digest_options second = {.path = "x.mpt", .iterations = {.range = 2}};
    struct digest digest;

    (void)state;
    scene_begin();
    put_launch(7, "a", 105, 110, 115, 1);
    put_range(1, 100, 120, 1, 2);
    put_range(2, 130, 160, 2, 2);
    put_range(3, 170, 210, 2, 2);
    put_range(4, 220, 0, 2, 0);
    scene_load();
    assert_int_equal(digest_build(scene.trace, &all, &digest, NULL), MP_OK);
    assert_int_equal(digest.recording.ranges, 4);
    assert_int_equal(digest.recording.in_ranges, 90000);
    digest_free(&digest);
    assert_int_equal(digest_build(scene.trace, &second, &digest, NULL), MP_OK);
    assert_int_equal(digest.recording.in_ranges, 30000);
    digest_free(&digest);
    scene_end(UNSOUND);
}

static void put_counter(const char *name, uint64_t value)
{
    mp_append_quality(scene.writer, &(struct mp_row_quality){
                                        .name = put_string(name), .time = 1000, .value = value});
}

static void what_the_recorder_counted_is_there(void **state)
{
    const struct digest_options options = {.path = "x.mpt"};
    struct digest digest;

    (void)state;
    scene_begin();
    put_launch(7, "a", 105, 110, 115, 1);
    put_counter("profiled_kernels", 2);
    put_counter("baseline_steps", 3);
    put_counter("baseline_unrecorded", 4);
    put_counter("device_graphs", 5);
    put_counter("conditional_graphs", 6);
    scene_load();
    assert_int_equal(digest_build(scene.trace, &options, &digest, NULL), MP_OK);
    assert_int_equal(digest.quality.profiled, 2);
    assert_int_equal(digest.quality.baseline_steps, 3);
    assert_int_equal(digest.quality.baseline_unrecorded, 4);
    assert_int_equal(digest.quality.device_graphs, 5);
    assert_int_equal(digest.quality.conditional_graphs, 6);
    digest_free(&digest);
    scene_end(UNSOUND);
}

/* ---- The size of the screen ---- */

static char names[DIGEST_HOT][400];
static char command[400];

/* As much as there can be: everything is long. */
static struct digest crowded(void)
{
    struct digest digest = of(123456789, ITERATIONS_KERNELS, false);

    digest.recording = (struct digest_recording){
        .program = command, .host = command, .records = 1, .ranges = 3, .devices_left = 100};
    digest.recording.device_count = DIGEST_DEVICES;
    for (size_t i = 0; i < DIGEST_DEVICES; i++)
        digest.recording.devices[i] = (struct digest_device){i, i % 2 ? "a device" : NULL};
    digest.recording.flight = (struct digest_flight){
        .reason = "slow step", .step = command, .from = 1, .until = 2, .took = 3};
    memset(digest.quality.warning, 'w', sizeof digest.quality.warning - 1);
    digest.quality.profiled = digest.quality.device_graphs = 9;
    digest.quality.conditional_graphs = digest.quality.baseline_unrecorded = 9;
    digest.no_calls = true;
    digest.iterations.count = 1000;
    digest.iterations.coverage = 0.5;
    digest.recording_cost =
        (struct recording_cost){.source = RECORDING_COST_NOT_RECORDED, .name = command};
    digest.latency.mean = 900;
    for (int i = 0; i < DIGEST_PARTS; i++)
        digest.parts[i] = 100;
    digest.finding_count = digest.findings_all = DIGEST_FINDINGS;
    for (size_t i = 0; i < DIGEST_FINDINGS; i++) {
        struct advise_finding *finding = &digest.findings[i];

        finding->rule = ADVISE_SLOW_LAYER;
        finding->title = "One layer dominates the GPU's time";
        finding->to_do = command;
        memset(finding->evidence, 'e', sizeof finding->evidence - 1);
        finding->line_count = 1;
        finding->lines[0].name = names[0];
        memset(finding->lines[0].text, 'l', sizeof finding->lines[0].text - 1);
    }
    digest.hot_count = digest.hot_all = DIGEST_HOT;
    for (size_t i = 0; i < DIGEST_HOT; i++)
        digest.hot[i] = (struct digest_hot){names[i], 1ULL << 30, 1ULL << 60, 1e9, 20};
    digest.command_count = 5;
    for (size_t i = 0; i < digest.command_count; i++)
        digest.commands[i] =
            (struct digest_command){"every percentile", "miniprof deps --a --b "
                                                        "--some-other-option=anything trace.mpt"};
    return digest;
}

static void the_screen_has_its_size(void **state)
{
    struct digest digest;
    const struct digest_report report = {.digests = &digest, .count = 1};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    size_t lines = 0;

    (void)state;
    assert_non_null(out);
    memset(command, 'c', sizeof command - 1);
    for (size_t i = 0; i < DIGEST_HOT; i++)
        memset(names[i], "kxyz\xff"[i], sizeof names[i] - 1);
    digest = crowded();
    assert_int_equal(print_digest_text(out, &report), MP_OK);
    fclose(out);
    for (const char *line = text; *line; lines++) {
        size_t length = strcspn(line, "\n");

        assert_true(length <= DIGEST_TEXT_COLUMNS);
        line += length + 1;
    }
    assert_in_range(lines, DIGEST_TEXT_LINES - 8, DIGEST_TEXT_LINES);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slowest_has_iterations),
        cmocka_unit_test(each_part_has_a_key),
        cmocka_unit_test(ended_ranges_are_added_up),
        cmocka_unit_test(what_the_recorder_counted_is_there),
        cmocka_unit_test(the_screen_has_its_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
