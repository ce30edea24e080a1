/* What holds for every trace: random runs of a simulated GPU, whose times are sound, and rows with
 * random contents, whose times are not. scene_end says what is checked: sums, replay, slack.
 * The short part has the first seeds of each kind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/deps/deps.h"
#include "reports/replay/replay.h"
#include "unit/sweep.h"

static uint64_t seed;

static uint64_t any(uint64_t below)
{
    return fixture_random(&seed) % below;
}

/* ---- A simulated GPU: streams in order, events, a default stream ---- */

#define STREAMS 4 /* 0: the default stream; 3: non-blocking */
#define EVENTS  3
#define THREADS 2

static const uint64_t stream_ids[STREAMS] = {7, 13, 14, 15};

static struct {
    uint64_t now[THREADS];
    uint64_t free_at[STREAMS]; /* when what was launched there has ended */
    uint64_t held_to[STREAMS]; /* and what it waits for besides */
    uint64_t event_at[EVENTS];
    uint64_t correlation;
    unsigned kernels;
} gpu;

static uint64_t latest(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t blocking_end(void)
{
    return latest(latest(gpu.free_at[1], gpu.held_to[1]), latest(gpu.free_at[2], gpu.held_to[2]));
}

/* When all that a stream's next work must wait for has ended. */
static uint64_t ready(uint64_t stream)
{
    uint64_t own = latest(gpu.free_at[stream], gpu.held_to[stream]);

    if (stream == 0)
        return latest(own, blocking_end());
    return stream == 3 ? own : latest(own, latest(gpu.free_at[0], gpu.held_to[0]));
}

static void simulate_launch(unsigned thread, uint64_t stream)
{
    uint64_t call = gpu.now[thread];
    uint64_t begin = latest(call + 4 + any(6), ready(stream) + 1 + any(4));
    uint64_t end = begin + any(60);
    uint64_t correlation = ++gpu.correlation;
    char name[16];

    snprintf(name, sizeof name, "k%u", gpu.kernels++);
    put_call(thread + 1, "cudaLaunchKernel", call, call + 3, correlation);
    if (any(4))
        put_kernel(stream_ids[stream], name, begin, end, correlation);
    else
        put_copy(stream_ids[stream], MP_copy_kind_HtoD, ASYNCHRONOUS, begin, end, correlation);
    gpu.free_at[stream] = end;
    gpu.now[thread] = call + 3 + any(10);
}

static void simulate_wait(unsigned thread, unsigned kind, uint64_t stream, uint64_t event,
                          uint64_t awaited)
{
    uint64_t begin = gpu.now[thread];
    uint64_t end = latest(begin, awaited) + 2 + any(3);

    put_call(thread + 1, "cudaAnySynchronize", begin, end, ++gpu.correlation);
    put_sync(kind, thread + 1, stream, event, begin, end, gpu.correlation);
    gpu.now[thread] = end + any(20);
}

static void simulate_event(unsigned thread, uint64_t stream, uint64_t event)
{
    uint64_t at = gpu.now[thread];
    unsigned kind = any(2) ? MP_sync_kind_event_record : MP_sync_kind_stream_wait_event;

    put_sync(kind, thread + 1, stream_ids[stream], event + 1, at, at + 1, ++gpu.correlation);
    if (kind == MP_sync_kind_event_record) {
        gpu.event_at[event] = ready(stream);
        if (stream == 0) /* it has gathered the blocking streams */
            gpu.held_to[0] = latest(gpu.held_to[0], blocking_end());
    } else {
        gpu.held_to[stream] = latest(gpu.held_to[stream], gpu.event_at[event]);
    }
    gpu.now[thread] = at + 1 + any(5);
}

static void simulate_step(void)
{
    unsigned thread = gpu.now[1] < gpu.now[0] ? 1 : 0;
    uint64_t stream = any(STREAMS);
    uint64_t event = any(EVENTS);
    uint64_t all = 0;

    for (uint64_t i = 0; i < STREAMS; i++)
        all = latest(all, latest(gpu.free_at[i], gpu.held_to[i]));
    switch (any(10)) {
    case 0:
        simulate_wait(thread, MP_sync_kind_stream_synchronize, stream_ids[stream], 0,
                      ready(stream));
        break;
    case 1:
        simulate_wait(thread, MP_sync_kind_event_synchronize, NO_STREAM, event + 1,
                      gpu.event_at[event]);
        break;
    case 2:
        simulate_wait(thread, MP_sync_kind_context_synchronize, NO_STREAM, 0, all);
        break;
    case 3:
    case 4:
    case 5:
        simulate_event(thread, stream, event);
        break;
    default:
        simulate_launch(thread, stream);
    }
}

static void simulate(uint64_t from, unsigned steps)
{
    seed = from;
    memset(&gpu, 0, sizeof gpu);
    gpu.now[0] = 10;
    gpu.now[1] = from % 2 ? 15 : UINT64_MAX; /* one thread, or two */
    scene_begin();
    put_stream_flag(7, MP_stream_flag_null);
    put_stream_flag(13, MP_stream_flag_default);
    put_stream_flag(15, MP_stream_flag_non_blocking);
    for (unsigned i = 0; i < steps; i++)
        simulate_step();
}

static void random_runs_obey_the_equations(void **state)
{
    (void)state;
    for (uint64_t from = 1; from <= sweep(300, 75); from++) {
        simulate(from, 10 + (unsigned)from % 50);
        scene_load();
        assert_int_equal(scene.deps.counts.contradicted, 0);
        assert_int_equal(scene.deps.counts.overlapping, 0);
        assert_int_equal(scene.deps.counts.clamped, 0);
        scene_end(SOUND);
    }
}

/* Capture ranges and iterations that cut the run anywhere. */
static void random_windows_obey_the_equations(void **state)
{
    (void)state;
    for (uint64_t from = 1; from <= sweep(200, 40); from++) {
        struct deps_windows windows;
        uint64_t at = 5;

        simulate(from, 60);
        for (int i = 0; i < 4; i++) {
            uint64_t begin = at + any(60);

            at = begin + 1 + any(100);
            put_nvtx_range("it", begin, at);
            put_range((uint64_t)i + 1, begin, at, 0, 0);
        }
        scene_load();
        assert_int_equal(scene.windows.count, 4);
        assert_int_equal(scene_iterations("it", 0, &windows, NULL), MP_OK);
        assert_int_equal(windows.count, 4);
        scene_check(&windows, SOUND);
        deps_windows_free(&windows);
        scene_end(SOUND);
    }
}

/* ---- Top gains against halving every name, one after the other ---- */

static uint64_t gain_of(uint32_t name)
{
    struct deps_change half = {.kind = DEPS_SCALE, .factor = 0.5};
    struct deps_changes changes = {.items = &half, .count = 1};
    uint64_t before;
    uint64_t after;

    half.pattern = strdup(mp_intern_get(&scene.deps.names, name, NULL));
    assert_int_equal(deps_replay(&scene.deps, NULL, &scene.windows, &before), MP_OK);
    assert_int_equal(deps_replay(&scene.deps, &changes, &scene.windows, &after), MP_OK);
    free(half.pattern);
    return after < before ? before - after : 0;
}

/* The greatest gain among names that are not in `gains` yet. */
static uint64_t greatest_of_the_others(const struct deps_gain *gains, size_t count)
{
    uint64_t max = 0;

    for (uint32_t name = 1; name <= scene.deps.names.count; name++) {
        bool listed = false;

        for (size_t i = 0; i < count; i++)
            listed |= gains[i].name == name;
        if (!listed)
            max = latest(max, gain_of(name));
    }
    return max;
}

/* Also what a name has on the walk through the solved run: its row of the path, and of a wait some
 * of the returns. */
static void top_gains_are_those_of_trying_every_name(void **state)
{
    (void)state;
    for (uint64_t from = 1; from <= sweep(60, 15); from++) {
        struct deps_gains gains;
        struct deps_result result;

        simulate(from, 40);
        scene_load();
        assert_int_equal(deps_result_init(&scene.deps, &result), MP_OK);
        deps_path(&scene.deps, scene.windows.items, &result, NULL);
        assert_int_equal(deps_top_gains(&scene.deps, &scene.windows, &gains, 5), MP_OK);
        assert_true(gains.count <= 5);
        for (size_t i = 0; i < gains.count; i++) {
            const struct deps_gain *gain = &gains.items[i];
            const struct deps_row *row = &result.rows[gain->name];

            assert_in_range(gain->critical, row->critical,
                            row->critical + (row->waiting ? result.parts[DEPS_RETURN] : 0));
            assert_int_equal(gain->gain, gain_of(gain->name));
            assert_true(gain->gain >= greatest_of_the_others(gains.items, i));
        }
        free(gains.items);
        deps_result_free(&result);
        scene_end(SOUND);
    }
}

/* ---- Rows with any contents ---- */

static uint64_t any_time(void)
{
    switch (any(12)) {
    case 0:
        return any(2) ? 0 : UINT64_MAX - any(3);
    case 1:
        return fixture_random(&seed) >> any(64);
    case 2:
        return (uint64_t)INT64_MAX - any(3);
    default:
        return 1 + any(30) * 700;
    }
}

static uint64_t any_duration(void)
{
    switch (any(12)) {
    case 0:
        return 0 - any(5000);
    case 1:
        return fixture_random(&seed) >> any(64);
    default:
        return any(8) * 900;
    }
}

static uint64_t any_id(void)
{
    static const uint64_t odd[] = {0, UINT32_MAX, UINT64_MAX, 1000};

    return any(12) ? 1 + any(4) : odd[any(4)];
}

static uint64_t any_correlation(void)
{
    return any(20) ? any(24) : fixture_random(&seed);
}

static void append_work(struct mp_writer *writer)
{
    struct mp_row_kernel kernel = {any_id(),   any_id(),       any(3) ? 0 : any_id(),
                                   any_time(), any_duration(), any_correlation()};
    struct mp_row_copy copy = {.stream = any_id(),
                               .kind = any(12),
                               .source = any(4),
                               .target = any(4),
                               .flags = any(2),
                               .node = any(4) ? 0 : any_id(),
                               .start = any_time(),
                               .duration = any_duration(),
                               .correlation = any_correlation()};
    struct mp_row_set set = {.stream = any_id(),
                             .node = any(4) ? 0 : any_id(),
                             .start = any_time(),
                             .duration = any_duration(),
                             .correlation = any_correlation()};
    struct mp_row_graph graph = {any_id(), any_id(), any_time(), any_duration(), any_correlation()};

    mp_append_kernel(writer, &kernel);
    if (any(2))
        mp_append_copy(writer, &copy);
    if (any(2))
        mp_append_set(writer, &set);
    if (any(3) == 0)
        mp_append_graph(writer, &graph);
}

static void append_calls(struct mp_writer *writer)
{
    struct mp_row_call call = {.thread = any_id(),
                               .function = any_id(),
                               .start = any_time(),
                               .duration = any_duration(),
                               .correlation = any_correlation()};
    struct mp_row_sync sync = {.thread = any_id(),
                               .kind = any(14),
                               .context = any(3),
                               .stream = any(5) ? 7 + any(4) : UINT32_MAX,
                               .event = any(3),
                               .start = any_time(),
                               .duration = any_duration(),
                               .correlation = any_correlation(),
                               .result = any(8) == 0};
    struct mp_row_nvtx nvtx = {
        .thread = any_id(), .kind = any(6), .name = any_id(), .time = any_time(), .range = any(4)};
    struct mp_row_edge edge = {.graph = any_id(), .from = any(6), .to = any(6)};

    mp_append_call(writer, &call);
    mp_append_sync(writer, &sync);
    if (any(2))
        mp_append_nvtx(writer, &nvtx);
    if (any(2))
        mp_append_edge(writer, &edge);
}

static void append_definitions(struct mp_writer *writer)
{
    static const char *const names[] = {"cudaFree", "cudaMemcpy", "cudaDeviceSynchronize", "k"};

    for (uint64_t i = 1; i <= 3; i++) {
        put_string(names[i - 1]);
        mp_append_stream(writer,
                         &(struct mp_row_stream){.id = i, .stream = 6 + i, .context = any(3)});
        mp_append_function(writer, &(struct mp_row_function){.id = i, .cbid = i, .name = i});
        mp_append_shape(writer, &(struct mp_row_shape){.id = i, .kernel = any_id()});
        mp_append_node(writer, &(struct mp_row_node){i, any_id(), any(6)});
        mp_append_stream_info(writer, &(struct mp_row_stream_info){
                                          .stream = 6 + i, .context = any(3), .flag = any(5)});
    }
    for (uint64_t i = 0; i < 3; i++)
        mp_append_context_info(writer, &(struct mp_row_context_info){.context = i,
                                                                     .null_stream = any_id() + 6,
                                                                     .parent = any(4)});
    if (any(3) == 0)
        mp_append_capture(writer, &(struct mp_row_capture){.range = 1 + any(3),
                                                           .kind = 1 + any(2),
                                                           .time = any_time(),
                                                           .correlation = any_correlation()});
}

/* Iterations, and all their statistics, add up too. */
static void check_iterations(const char *name)
{
    struct deps_windows windows;
    struct deps_iterations iterations;
    uint64_t sum = 0;

    if (scene_iterations(name, 0, &windows, NULL) != MP_OK)
        return;
    scene_check(&windows, UNSOUND);
    assert_int_equal(deps_iterations_build(&scene.deps, &windows, &iterations), MP_OK);
    for (uint32_t i = 1; i < iterations.total.row_count; i++)
        sum += iterations.total.rows[i].critical;
    for (int i = 0; i < DEPS_PARTS; i++)
        sum += iterations.total.parts[i];
    assert_int_equal(sum, iterations.total.window);
    deps_iterations_free(&iterations);
    deps_windows_free(&windows);
}

static void rows_with_any_contents_add_up(void **state)
{
    (void)state;
    for (uint64_t from = 1; from <= sweep(1500, 300); from++) {
        unsigned rows = 1 + (unsigned)from % 40;

        seed = from;
        scene_begin();
        append_definitions(scene.writer);
        for (unsigned i = 0; i < rows; i++) {
            append_work(scene.writer);
            append_calls(scene.writer);
        }
        scene_load();
        check_iterations("cudaFree");
        check_iterations("k");
        scene_end(UNSOUND);
    }
}

/* All tables with numbers of every kind. */
static void rows_of_all_tables_add_up(void **state)
{
    (void)state;
    for (uint64_t from = 0; from < sweep(60, 15); from++) {
        size_t count;
        const struct mp_table_info *tables = mp_tables(&count);

        scene_begin();
        for (size_t i = 0; i < count; i++) {
            struct fixture_rows rows;

            fixture_rows_make(&rows, &tables[i], 200, from % FIXTURE_SHAPES, from * count + i);
            for (uint32_t row = 0; row < rows.rows; row++)
                fixture_append(scene.writer, &rows, row);
            fixture_rows_free(&rows);
        }
        scene_load();
        scene_end(UNSOUND);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_runs_obey_the_equations),
        cmocka_unit_test(random_windows_obey_the_equations),
        cmocka_unit_test(top_gains_are_those_of_trying_every_name),
        cmocka_unit_test(rows_with_any_contents_add_up),
        cmocka_unit_test(rows_of_all_tables_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
