/* miniprof diff over small programs of which it is known by how much they differ. Each runs forty
 * iterations of some kernels, every one of them in an NVTX range `it`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reports/diff/diff.h"
#include "unit/deps/deps_fixture.h"

enum { ITERATIONS = 40, MAX_RUNS = 5, MAX_KERNELS = 6 };

struct kernel {
    const char *name;
    uint32_t us;
};

struct program {
    struct kernel kernels[MAX_KERNELS];
    uint32_t noise; /* us more or less, of each kernel */
    uint32_t seed;
    bool unmarked;      /* without NVTX ranges */
    bool layered;       /* each kernel in a range of its name */
    const char *header; /* NULL: the usual one */
    uint64_t graphs;    /* each launch is of a graph as a whole with this id */
};

static const struct program usual = {.kernels = {{"a", 100}, {"b", 200}, {"c", 50}}, .seed = 1};

static uint64_t random_state;

static uint64_t any(uint32_t below)
{
    return fixture_random(&random_state) % below;
}

/* ---- Traces ---- */

static struct {
    int fds[2 * MAX_RUNS];
    char paths[2 * MAX_RUNS][64];
    size_t count;
} files;

static uint64_t put_work(const struct program *program, const struct kernel *kernel, uint64_t call,
                         uint64_t begin, uint64_t correlation)
{
    uint64_t end = begin + kernel->us;

    if (program->noise)
        end += any(2 * program->noise + 1) - program->noise;
    if (program->layered)
        put_nvtx(MP_nvtx_kind_push, 1, NULL, kernel->name, call - 1, 0);
    if (program->graphs) {
        put_call(1, "cudaGraphLaunch", call, call + 5, correlation);
        put_graph(1, program->graphs, begin, end, correlation);
    } else {
        put_launch(1, kernel->name, call, begin, end, correlation);
    }
    if (program->layered)
        put_nvtx(MP_nvtx_kind_pop, 1, NULL, NULL, call + 6, 0);
    return end;
}

/* From the first call to the end of the last kernel: 60 us and the kernels. */
static void put_iteration(const struct program *program, uint64_t begin, uint64_t *correlation)
{
    uint64_t end = begin + 60;
    uint64_t call = begin + 2;

    if (!program->unmarked)
        put_nvtx(MP_nvtx_kind_push, 1, NULL, "it", begin, 0);
    for (unsigned i = 0; i < MAX_KERNELS && program->kernels[i].name; i++, call += 8)
        end = put_work(program, &program->kernels[i], call, end, ++*correlation);
    put_stream_sync(1, call, end, ++*correlation);
    if (!program->unmarked)
        put_nvtx(MP_nvtx_kind_pop, 1, NULL, NULL, end, 0);
}

static const char *write_trace(const struct program *program)
{
    size_t file = files.count++;
    uint64_t correlation = 0;

    assert_in_range(file, 0, 2 * MAX_RUNS - 1);
    random_state = program->seed;
    scene_begin_with(program->header ? program->header : FIXTURE_HEADER);
    for (uint64_t i = 0; i < ITERATIONS; i++)
        put_iteration(program, 10000 + 2000 * i, &correlation);
    files.fds[file] = fixture_file("", 0);
    scene_write(files.fds[file]);
    snprintf(files.paths[file], sizeof files.paths[file], "%s", fixture_path(files.fds[file]));
    return files.paths[file];
}

static struct diff diff;

static void build(const char *const *a, size_t a_count, const char *const *b, size_t b_count,
                  struct diff_options options)
{
    struct mp_error error = {.status = MP_OK};

    if (diff_build(a, a_count, b, b_count, &options, &diff, &error) != MP_OK)
        fail_msg("%s", error.text);
}

static void compare_with(const struct program *a, const struct program *b,
                         struct diff_options options)
{
    const char *before = write_trace(a);
    const char *after = write_trace(b);

    build(&before, 1, &after, 1, options);
}

static void compare(const struct program *a, const struct program *b)
{
    compare_with(a, b, (struct diff_options){.shapes = false});
}

static void done(void)
{
    diff_free(&diff);
    while (files.count)
        close(files.fds[--files.count]);
}

/* ---- What it says ---- */

static char text[4096];

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
}

/* "b slower +20, c removed -50": us an iteration, unchanged rows are left out. */
static const char *said_of(const struct diff_rows *rows)
{
    *text = '\0';
    for (size_t i = 0; i < rows->count; i++) {
        const struct diff_row *row = &rows->rows[i];

        if (row->change != DIFF_UNCHANGED)
            say("%s%s %s %+.0f", *text ? ", " : "", row->name, diff_change_name(row->change),
                row->difference / 1000);
    }
    return text;
}

/* "= 1 1 a, < 2 b, > 2 x": pairs by position, from 1. */
static const char *said_positions(void)
{
    const struct diff_positions *positions = &diff.positions;

    *text = '\0';
    for (size_t i = 0; i < positions->count; i++) {
        uint32_t a = positions->pairs[i].place[DIFF_A];
        uint32_t b = positions->pairs[i].place[DIFF_B];

        say("%s", *text ? ", " : "");
        say("%s", a == ALIGN_NONE ? "-" : diff_positions_name(positions, DIFF_A, a));
        say("/%s", b == ALIGN_NONE ? "-" : diff_positions_name(positions, DIFF_B, b));
    }
    return text;
}

static const struct diff_row *row_called(const struct diff_rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->count; i++)
        if (!strcmp(rows->rows[i].name, name))
            return &rows->rows[i];
    fail_msg("no row of %s", name);
    return NULL;
}

/* ---- One kernel ---- */

static void a_slower_kernel_makes_the_iteration_slower(void **state)
{
    struct program after = usual;

    (void)state;
    after.kernels[1].us = 220;
    compare(&usual, &after);
    assert_int_equal(diff.way, ITERATIONS_NVTX);
    assert_string_equal(diff.name, "it");
    assert_string_equal(said_of(&diff.kernels), "b slower +20");
    assert_true(row_called(&diff.kernels, "b")->shift.low == 20000);
    assert_true(diff.latency.center == 20000 && diff.latency.low == 20000);
    assert_int_equal(diff.change, DIFF_SLOWER);
    assert_int_equal(diff.sides[DIFF_A].latency.p50, 410000);
    assert_int_equal(diff.sides[DIFF_B].latency.p50, 430000);
    assert_true(diff_percent(&diff) > 4.878 && diff_percent(&diff) < 4.879); /* 20 of 410 */
    assert_true(diff_is_above(&diff, 4.8) && !diff_is_above(&diff, 4.9));
    assert_true(diff.quantities.rows[ITERATION_KERNEL].difference == 20000);
    assert_int_equal(diff.quantities.rows[ITERATION_KERNEL].change, DIFF_SLOWER);
    assert_int_equal(diff.quantities.rows[ITERATION_IDLE].change, DIFF_UNCHANGED);
    assert_string_equal(said_positions(), "a/a, b/b, c/c");
    assert_int_equal(diff.positions.change_count, 0);
    done();
}

static void a_slower_kernel_is_seen_through_noise(void **state)
{
    struct program before = usual;
    struct program after = usual;
    const struct diff_row *row;

    (void)state;
    before.noise = after.noise = 15;
    after.seed = 77;
    after.kernels[1].us = 220;
    compare(&before, &after);
    row = row_called(&diff.kernels, "b");
    assert_int_equal(row->change, DIFF_SLOWER);
    assert_true(row->shift.low < 20000 && row->shift.high > 20000);
    assert_true(row->shift.low > 10000 && row->shift.high < 30000);
    assert_int_equal(diff.kernels.changes[DIFF_SLOWER], 1);
    assert_int_equal(diff.kernels.changes[DIFF_UNCHANGED], 2);
    assert_string_equal(diff.kernels.rows[0].name, "b");
    done();
}

static void a_faster_kernel_is_no_failure(void **state)
{
    struct program after = usual;

    (void)state;
    after.kernels[0].us = 10;
    compare(&usual, &after);
    assert_string_equal(said_of(&diff.kernels), "a faster -90");
    assert_int_equal(diff.change, DIFF_FASTER);
    assert_false(diff_is_above(&diff, 0));
    done();
}

/* Of the latency one in twenty is wrong, as a 95 % interval is. */
static void noise_alone_is_no_finding(void **state)
{
    unsigned wrong = 0;

    (void)state;
    for (uint32_t seed = 2; seed < 42; seed++) {
        struct program before = usual;
        struct program after = usual;

        before.noise = after.noise = 10;
        after.seed = seed;
        compare(&before, &after);
        assert_string_equal(said_of(&diff.kernels), "");
        wrong += diff.change != DIFF_UNCHANGED;
        assert_false(diff_is_above(&diff, 3));
        done();
    }
    assert_in_range(wrong, 0, 4);
}

/* 0.5 percent of the kernel, though not noise. */
static void what_is_too_little_is_unchanged(void **state)
{
    struct program after = usual;

    (void)state;
    after.kernels[1].us = 201;
    compare(&usual, &after);
    assert_string_equal(said_of(&diff.kernels), "");
    assert_true(row_called(&diff.kernels, "b")->difference == 1000);
    assert_int_equal(diff.change, DIFF_SLOWER); /* the latency is judged by noise alone */
    done();
}

/* ---- Kernels that come and go ---- */

static void kernels_are_added_and_removed(void **state)
{
    const struct program after = {.kernels = {{"a", 100}, {"x", 70}, {"b", 200}}, .seed = 1};

    (void)state;
    compare(&usual, &after);
    assert_string_equal(said_of(&diff.kernels), "x added +70, c removed -50");
    assert_true(row_called(&diff.kernels, "c")->calls[DIFF_B] == 0);
    assert_string_equal(said_positions(), "a/a, -/x, b/b, c/-");
    assert_int_equal(diff.positions.change_count, 2);
    assert_int_equal(diff.positions.added, 1);
    assert_int_equal(diff.positions.removed, 1);
    assert_int_equal(diff.positions.equal, 2);
    assert_int_equal(diff.positions.changes[0].ns[DIFF_B], 70000);
    assert_int_equal(diff.positions.changes[0].begin[DIFF_A], 1);
    done();
}

static void a_call_more_makes_a_name_slower(void **state)
{
    const struct program after = {.kernels = {{"a", 100}, {"b", 200}, {"c", 50}, {"c", 50}},
                                  .seed = 1};

    (void)state;
    compare(&usual, &after);
    assert_string_equal(said_of(&diff.kernels), "c slower +50");
    assert_true(row_called(&diff.kernels, "c")->calls[DIFF_A] == 1);
    assert_true(row_called(&diff.kernels, "c")->calls[DIFF_B] == 2);
    done();
}

static void another_order_is_seen_by_position_alone(void **state)
{
    const struct program after = {.kernels = {{"a", 100}, {"c", 50}, {"b", 200}}, .seed = 1};

    (void)state;
    compare(&usual, &after);
    assert_string_equal(said_of(&diff.kernels), "");
    assert_int_equal(diff.change, DIFF_UNCHANGED);
    assert_int_equal(diff.positions.equal, 2);
    assert_int_equal(diff.positions.added, 1);
    assert_int_equal(diff.positions.removed, 1);
    done();
}

static void a_kernel_that_became_another_one_is_a_pair(void **state)
{
    const struct program after = {.kernels = {{"a", 100}, {"b_fast", 150}, {"c", 50}}, .seed = 1};

    (void)state;
    compare(&usual, &after);
    assert_string_equal(said_of(&diff.kernels), "b removed -200, b_fast added +150");
    assert_string_equal(said_positions(), "a/a, b/b_fast, c/c");
    assert_int_equal(diff.positions.replaced, 1);
    assert_int_equal(diff.positions.change_count, 1);
    assert_int_equal(diff.positions.changes[0].ns[DIFF_A], 200000);
    assert_int_equal(diff.positions.changes[0].ns[DIFF_B], 150000);
    done();
}

static void kernels_that_became_one_are_one_change(void **state)
{
    const struct program after = {.kernels = {{"fused", 250}, {"c", 50}}, .seed = 1};

    (void)state;
    compare(&usual, &after);
    assert_string_equal(said_positions(), "a/fused, b/-, c/c");
    assert_int_equal(diff.positions.change_count, 1);
    assert_int_equal(diff.positions.changes[0].length[DIFF_A], 2);
    assert_int_equal(diff.positions.changes[0].length[DIFF_B], 1);
    done();
}

static void shapes_tell_kernels_apart(void **state)
{
    (void)state;
    compare_with(&usual, &usual, (struct diff_options){.shapes = true});
    row_called(&diff.kernels, "b<<<(1,1,1),(0,1,1),0>>>");
    assert_int_equal(diff.kernels.count, 3);
    assert_int_equal(diff.positions.equal, 3);
    done();
}

/* Ids of graphs are others in every process. */
static void graphs_as_a_whole_are_numbered(void **state)
{
    struct program before = usual;
    struct program after = usual;

    (void)state;
    before.graphs = 7;
    after.graphs = 12;
    after.kernels[0].us = 200;
    compare(&before, &after);
    assert_string_equal(said_of(&diff.kernels), "[CUDA graph #1] slower +100");
    assert_int_equal(diff.positions.equal, 3);
    done();
}

/* ---- Layers ---- */

static void layers_are_paths_of_ranges(void **state)
{
    struct program before = usual;
    struct program after = {.kernels = {{"a", 100}, {"b", 230}, {"d", 20}}, .seed = 1};

    (void)state;
    before.layered = after.layered = true;
    compare(&before, &after);
    assert_true(diff.sides[DIFF_A].has_layers && diff.sides[DIFF_B].has_layers);
    assert_string_equal(said_of(&diff.layers),
                        "it > c removed -50, it > b slower +30, it > d added +20");
    assert_true(row_called(&diff.layers, "it")->calls[DIFF_A] == 3);
    assert_true(row_called(&diff.layers, "it")->mean[DIFF_A] == 350000);
    done();
}

/* `depth` ranges inside each other, all of one long name, in which `us` of work are launched. */
static const char *write_deep(unsigned depth, const char *name, uint32_t us)
{
    size_t file = files.count++;

    scene_begin();
    for (uint64_t i = 0; i < ITERATIONS; i++) {
        uint64_t begin = 10000 + 2000 * i;

        put_nvtx(MP_nvtx_kind_push, 1, NULL, "it", begin, 0);
        for (unsigned level = 0; level < depth; level++)
            put_nvtx(MP_nvtx_kind_push, 1, "a domain", name, begin + 1, 0);
        put_launch(1, "a", begin + 2, begin + 10, begin + 10 + us, i + 1);
        for (unsigned level = 0; level < depth; level++)
            put_nvtx(MP_nvtx_kind_pop, 1, "a domain", NULL, begin + 8, 0);
        put_nvtx(MP_nvtx_kind_pop, 1, NULL, NULL, begin + 1000, 0);
    }
    files.fds[file] = fixture_file("", 0);
    scene_write(files.fds[file]);
    snprintf(files.paths[file], sizeof files.paths[file], "%s", fixture_path(files.fds[file]));
    return files.paths[file];
}

static void long_paths_that_end_alike_are_layers_of_their_own(void **state)
{
    enum { DEPTH = 20, BYTES = 690 };
    char name[BYTES + 1];
    const char *a, *b;
    size_t cut = 0;

    (void)state;
    for (size_t i = 0; i < BYTES; i++)
        name[i] = i % 2 ? (char)0xa9 : (char)0xc3; /* in two bytes each */
    name[BYTES] = '\0';
    a = write_deep(DEPTH, name, 100);
    b = write_deep(DEPTH, name, 150);
    build(&a, 1, &b, 1, (struct diff_options){.shapes = false});
    assert_int_equal(diff.layers.count, DEPTH + 1);
    for (size_t i = 0; i < diff.layers.count; i++) {
        const char *path = diff.layers.rows[i].name;

        assert_true(diff.layers.rows[i].calls[DIFF_A] == 1);
        assert_true(diff.layers.rows[i].difference == 50000);
        if (!strncmp(path, "... #", 5)) {
            assert_true(strlen(path) > 4000 && strlen(path) < 4096);
            assert_true((path[26] & 0xff) == 0xc3 || path[26] == ':');
            cut++;
        }
    }
    assert_int_equal(cut, DEPTH - 5);
    done();
}

static void names_that_begin_alike_are_layers_of_their_own(void **state)
{
    char name[1200];
    struct program before = usual;

    (void)state;
    memset(name, 'x', sizeof name - 2);
    name[sizeof name - 2] = 'y';
    name[sizeof name - 1] = '\0';
    before.layered = true;
    before.kernels[1].name = name;
    before.kernels[2].name = name + 1;
    compare(&before, &before);
    assert_int_equal(diff.layers.count, 4);
    done();
}

static void ranges_of_iterations_alone_are_no_layers(void **state)
{
    struct program after = usual;

    (void)state;
    after.layered = true;
    compare(&usual, &after);
    assert_false(diff.sides[DIFF_A].has_layers);
    assert_true(diff.sides[DIFF_B].has_layers);
    assert_int_equal(diff.layers.count, 0);
    done();
}

/* ---- Which iterations ---- */

static void sides_fall_back_to_a_way_that_both_have(void **state)
{
    struct program unmarked = usual;

    (void)state;
    unmarked.unmarked = true;
    unmarked.kernels[1].us = 220;
    compare(&usual, &unmarked);
    assert_int_equal(diff.way, ITERATIONS_KERNELS);
    assert_non_null(strstr(diff.why, "NVTX ranges \"it\""));
    assert_string_equal(said_of(&diff.kernels), "b slower +20");
    done();
    compare(&unmarked, &usual);
    assert_int_equal(diff.way, ITERATIONS_KERNELS);
    assert_non_null(strstr(diff.why, "NVTX ranges \"it\""));
    assert_string_equal(said_of(&diff.kernels), "b faster -20");
    done();
}

static void a_way_that_is_asked_for_must_be_on_both_sides(void **state)
{
    struct program unmarked = usual;
    const struct diff_options options = {.iterations = {.way = ITERATIONS_NVTX, .name = "it"}};
    struct mp_error error;
    const char *a, *b;

    (void)state;
    unmarked.unmarked = true;
    a = write_trace(&usual);
    b = write_trace(&unmarked);
    assert_int_equal(diff_build(&a, 1, &b, 1, &options, &diff, &error), MP_ERR_ARGUMENT);
    assert_non_null(strstr(error.text, b));
    assert_non_null(strstr(error.text, "NVTX range"));
    assert_int_equal(diff.sides[DIFF_A].run_count, 0);
    done();
}

/* ---- Where they ran ---- */

static void facts_are_compared_to_their_end(void **state)
{
    enum { BYTES = 2000 };
    char header[2][BYTES + 64];
    struct program sides[2] = {usual, usual};

    (void)state;
    for (int i = 0; i < 2; i++) {
        snprintf(header[i], sizeof header[i], "argv=run %0*d --batch %d\nMINIPROF_STEP=%0*d%d\n",
                 BYTES / 2, 0, i + 1, BYTES / 4, 0, i + 1);
        sides[i].header = header[i];
    }
    compare(&sides[0], &sides[1]);
    for (int i = 0; i < 2; i++) {
        const char *command = diff_fact(&diff.sides[i], DIFF_FACT_COMMAND);

        assert_string_equal(strstr(command, " --batch"), i ? " --batch 2" : " --batch 1");
        assert_int_equal(strlen(diff_fact(&diff.sides[i], DIFF_FACT_SETTINGS)),
                         strlen("MINIPROF_STEP=") + BYTES / 4 + 1);
    }
    assert_string_not_equal(diff_fact(&diff.sides[DIFF_A], DIFF_FACT_SETTINGS),
                            diff_fact(&diff.sides[DIFF_B], DIFF_FACT_SETTINGS));
    assert_string_equal(diff_fact(&diff.sides[DIFF_A], DIFF_FACT_HOST), "");
    done();
}

/* Of several runs what each says, once. */
static void facts_of_runs_are_listed_once(void **state)
{
    struct program runs[3] = {usual, usual, usual};
    const char *paths[3];

    (void)state;
    runs[0].header = "hostname=node1\ndriver_version=12080\nargv=./a\n";
    runs[1].header = "hostname=node\ndriver_version=12080\nargv=./a 2\n";
    runs[2].header = "hostname=node1\ndriver_version=13000\nargv=./a\n";
    for (size_t i = 0; i < 3; i++)
        paths[i] = write_trace(&runs[i]);
    build(paths, 3, paths, 1, (struct diff_options){.shapes = false});
    assert_string_equal(diff_fact(&diff.sides[DIFF_A], DIFF_FACT_HOST), "node1, node");
    assert_string_equal(diff_fact(&diff.sides[DIFF_A], DIFF_FACT_DRIVER), "12.8, 13.0");
    assert_string_equal(diff_fact(&diff.sides[DIFF_A], DIFF_FACT_COMMAND), "./a; ./a 2");
    assert_string_equal(diff_fact(&diff.sides[DIFF_B], DIFF_FACT_HOST), "node1");
    done();
}

/* ---- Runs ---- */

/* Runs of which each is slower than the first by so many us, in all iterations. */
static void compare_runs(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count)
{
    const char *paths[2][MAX_RUNS];

    for (size_t i = 0; i < a_count + b_count; i++) {
        struct program program = usual;

        program.kernels[1].us += i < a_count ? a[i] : b[i - a_count];
        if (i < a_count)
            paths[0][i] = write_trace(&program);
        else
            paths[1][i - a_count] = write_trace(&program);
    }
    build(paths[0], a_count, paths[1], b_count, (struct diff_options){.shapes = false});
}

/* Within a run nothing varies, so all iterations taken together would be sure of nonsense. */
static void what_varies_from_run_to_run_is_noise(void **state)
{
    static const uint32_t a[] = {0, 8, 16, 4}, b[] = {5, 17, 1, 9};

    (void)state;
    compare_runs(a, 4, b, 4);
    assert_true(diff.by_runs);
    assert_int_equal(diff.sides[DIFF_A].iterations, 4 * ITERATIONS);
    assert_int_equal(diff.change, DIFF_UNCHANGED);
    assert_string_equal(said_of(&diff.kernels), "");
    assert_true(diff.latency.low < 0 && diff.latency.high > 0);
    done();
    compare_runs(a, 1, b, 1);
    assert_false(diff.by_runs);
    assert_int_equal(diff.change, DIFF_SLOWER);
    done();
}

static void runs_that_all_are_slower_are_a_finding(void **state)
{
    static const uint32_t a[] = {0, 8, 16, 4}, b[] = {45, 57, 41, 49};

    (void)state;
    compare_runs(a, 4, b, 4);
    assert_true(diff.by_runs);
    assert_int_equal(diff.change, DIFF_SLOWER);
    assert_true(diff.latency.low > 20000);
    assert_string_equal(said_of(&diff.kernels), "b slower +41"); /* 48 less 7 */
    done();
}

static void too_few_runs_leave_iterations(void **state)
{
    static const uint32_t a[] = {0, 8, 16}, b[] = {45, 57, 41};

    (void)state;
    compare_runs(a, 3, b, 3);
    assert_false(diff.by_runs);
    assert_int_equal(diff.change, DIFF_SLOWER);
    done();
}

/* The median iteration is that of the median run. */
static void positions_are_those_of_the_median_run(void **state)
{
    static const uint32_t a[] = {16, 0, 8}, b[] = {3};

    (void)state;
    compare_runs(a, 3, b, 1);
    assert_int_equal(diff.positions.sides[DIFF_A].run, 3);
    assert_int_equal(diff.positions.sides[DIFF_A].places[1].ns, 208000);
    done();
}

/* One that is not is enough, on either side. */
static void a_diff_is_whole_and_has_no_gap_if_all_runs_are_so(void **state)
{
    static const struct quality_gap gap = {"key", "why"};
    struct diff_run runs[DIFF_SIDES][2];
    struct diff made = {.found = false};

    (void)state;
    for (int lacks = -1; lacks < 8; lacks++) {
        for (int i = 0; i < 4; i++) {
            runs[i / 2][i % 2] =
                (struct diff_run){.whole = i != lacks, .gap = i + 4 == lacks ? &gap : NULL};
            made.sides[i / 2].runs = runs[i / 2];
            made.sides[i / 2].run_count = 2;
        }
        assert_int_equal(diff_is_whole(&made), lacks < 0 || lacks >= 4);
        assert_int_equal(!diff_gap(&made), lacks < 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slower_kernel_makes_the_iteration_slower),
        cmocka_unit_test(a_slower_kernel_is_seen_through_noise),
        cmocka_unit_test(a_faster_kernel_is_no_failure),
        cmocka_unit_test(noise_alone_is_no_finding),
        cmocka_unit_test(what_is_too_little_is_unchanged),
        cmocka_unit_test(kernels_are_added_and_removed),
        cmocka_unit_test(a_call_more_makes_a_name_slower),
        cmocka_unit_test(another_order_is_seen_by_position_alone),
        cmocka_unit_test(a_kernel_that_became_another_one_is_a_pair),
        cmocka_unit_test(kernels_that_became_one_are_one_change),
        cmocka_unit_test(shapes_tell_kernels_apart),
        cmocka_unit_test(graphs_as_a_whole_are_numbered),
        cmocka_unit_test(layers_are_paths_of_ranges),
        cmocka_unit_test(long_paths_that_end_alike_are_layers_of_their_own),
        cmocka_unit_test(names_that_begin_alike_are_layers_of_their_own),
        cmocka_unit_test(ranges_of_iterations_alone_are_no_layers),
        cmocka_unit_test(sides_fall_back_to_a_way_that_both_have),
        cmocka_unit_test(a_way_that_is_asked_for_must_be_on_both_sides),
        cmocka_unit_test(facts_are_compared_to_their_end),
        cmocka_unit_test(facts_of_runs_are_listed_once),
        cmocka_unit_test(what_varies_from_run_to_run_is_noise),
        cmocka_unit_test(runs_that_all_are_slower_are_a_finding),
        cmocka_unit_test(too_few_runs_leave_iterations),
        cmocka_unit_test(positions_are_those_of_the_median_run),
        cmocka_unit_test(a_diff_is_whole_and_has_no_gap_if_all_runs_are_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
