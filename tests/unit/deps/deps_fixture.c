/* Builds scenes of calls, kernels and waits for the tests of the event graph, and says in one word
 * what bound each activity.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/replay/replay.h"
#include "unit/deps/deps_fixture.h"

#define US 1000u

struct scene scene;

/* Ids that the trace has given out. */
static struct {
    struct mp_intern strings, functions, shapes, streams, nodes;
    uint64_t threads; /* bits */
} known;

/* ---- Definitions ---- */

uint64_t put_string(const char *text)
{
    uint32_t before = known.strings.count;
    uint32_t length = (uint32_t)strlen(text);
    uint32_t id = mp_intern_add(&known.strings, text, length);

    if (id > before)
        mp_append_string(scene.writer, &(struct mp_row_string){id, {text, length}});
    return id;
}

static uint64_t reach_thread(uint64_t thread)
{
    uint64_t bit = UINT64_C(1) << thread % 64;

    if (!(known.threads & bit))
        mp_append_thread(scene.writer, &(struct mp_row_thread){.id = thread, .tid = 4000 + thread});
    known.threads |= bit;
    return thread;
}

static uint64_t reach_function(const char *name)
{
    uint32_t before = known.functions.count;
    uint32_t id = mp_intern_add(&known.functions, name, strlen(name));

    if (id > before)
        mp_append_function(scene.writer, &(struct mp_row_function){.id = id,
                                                                   .api = MP_api_runtime,
                                                                   .cbid = id,
                                                                   .name = put_string(name)});
    return id;
}

static uint64_t reach_shape(const char *name)
{
    uint32_t before = known.shapes.count;
    uint32_t id = mp_intern_add(&known.shapes, name, strlen(name));

    if (id > before)
        mp_append_shape(scene.writer,
                        &(struct mp_row_shape){.id = id, .kernel = put_string(name), .grid_x = 1});
    return id;
}

static uint64_t context_of(uint64_t stream)
{
    return stream == NO_STREAM || stream < 1000 ? DEFAULT_CONTEXT : stream / 1000;
}

static uint64_t number_of(uint64_t stream)
{
    return stream == NO_STREAM ? NO_STREAM : stream % 1000;
}

static uint64_t reach_stream(uint64_t stream)
{
    uint32_t before = known.streams.count;
    uint64_t context = context_of(stream);
    uint64_t key[2] = {context, number_of(stream)};
    uint32_t id = mp_intern_add(&known.streams, key, sizeof key);

    if (id > before)
        mp_append_stream(scene.writer, &(struct mp_row_stream){.id = id,
                                                               .stream = key[1],
                                                               .context = context,
                                                               .device = context - 1});
    return id;
}

static uint64_t reach_node(uint64_t graph, uint64_t node)
{
    uint32_t before = known.nodes.count;
    uint64_t key[2] = {graph, node};
    uint32_t id = mp_intern_add(&known.nodes, key, sizeof key);

    if (id > before)
        mp_append_node(scene.writer,
                       &(struct mp_row_node){.id = id, .graph = graph, .graph_node = node});
    return id;
}

/* ---- Rows ---- */

void put_call(uint64_t thread, const char *name, uint64_t begin, uint64_t end, uint64_t correlation)
{
    mp_append_call(scene.writer, &(struct mp_row_call){.thread = reach_thread(thread),
                                                       .function = reach_function(name),
                                                       .start = begin * US,
                                                       .duration = (end - begin) * US,
                                                       .correlation = correlation});
}

static void put_kernel_row(uint64_t stream, const char *name, uint64_t node, uint64_t begin,
                           uint64_t end, uint64_t correlation)
{
    mp_append_kernel(scene.writer, &(struct mp_row_kernel){.stream = reach_stream(stream),
                                                           .shape = reach_shape(name),
                                                           .node = node,
                                                           .start = begin * US,
                                                           .duration = (end - begin) * US,
                                                           .correlation = correlation});
}

void put_kernel(uint64_t stream, const char *name, uint64_t begin, uint64_t end,
                uint64_t correlation)
{
    put_kernel_row(stream, name, 0, begin, end, correlation);
}

void put_node(uint64_t stream, const char *name, uint64_t graph, uint64_t node, uint64_t begin,
              uint64_t end, uint64_t correlation)
{
    put_kernel_row(stream, name, reach_node(graph, node), begin, end, correlation);
}

void put_launch(uint64_t stream, const char *name, uint64_t call, uint64_t begin, uint64_t end,
                uint64_t correlation)
{
    put_call(1, "cudaLaunchKernel", call, call + 5, correlation);
    put_kernel(stream, name, begin, end, correlation);
}

void put_copy_of(uint64_t stream, enum mp_copy_kind kind, enum copy_manner manner, uint64_t bytes,
                 uint64_t begin, uint64_t end, uint64_t correlation)
{
    bool from_host = kind == MP_copy_kind_HtoD;
    uint64_t host = manner == PAGEABLE ? MP_memory_kind_pageable : MP_memory_kind_pinned;
    uint64_t target = kind == MP_copy_kind_DtoH ? host : MP_memory_kind_device;

    mp_append_copy(scene.writer,
                   &(struct mp_row_copy){.stream = reach_stream(stream),
                                         .kind = kind,
                                         .source = from_host ? host : MP_memory_kind_device,
                                         .target = target,
                                         .flags = manner != BLOCKING_COPY,
                                         .bytes = bytes,
                                         .start = begin * US,
                                         .duration = (end - begin) * US,
                                         .correlation = correlation,
                                         .count = 1});
}

void put_copy(uint64_t stream, enum mp_copy_kind kind, enum copy_manner manner, uint64_t begin,
              uint64_t end, uint64_t correlation)
{
    put_copy_of(stream, kind, manner, 4096, begin, end, correlation);
}

void put_set(uint64_t stream, uint64_t begin, uint64_t end, uint64_t correlation)
{
    mp_append_set(scene.writer, &(struct mp_row_set){.stream = reach_stream(stream),
                                                     .memory = MP_memory_kind_device,
                                                     .flags = 1,
                                                     .start = begin * US,
                                                     .duration = (end - begin) * US,
                                                     .correlation = correlation});
}

void put_graph(uint64_t stream, uint64_t graph, uint64_t begin, uint64_t end, uint64_t correlation)
{
    mp_append_graph(scene.writer, &(struct mp_row_graph){.stream = reach_stream(stream),
                                                         .graph = graph,
                                                         .start = begin * US,
                                                         .duration = (end - begin) * US,
                                                         .correlation = correlation});
}

void put_edge(uint64_t graph, uint64_t from, uint64_t to)
{
    mp_append_edge(scene.writer, &(struct mp_row_edge){.graph = graph, .from = from, .to = to});
}

static void put_sync_row(struct mp_row_sync row)
{
    row.duration = (row.duration - row.start) * US; /* its end until here */
    row.start *= US;
    mp_append_sync(scene.writer, &row);
}

void put_sync(unsigned kind, uint64_t thread, uint64_t stream, uint64_t event, uint64_t begin,
              uint64_t end, uint64_t correlation)
{
    put_sync_row((struct mp_row_sync){reach_thread(thread), kind, context_of(stream),
                                      number_of(stream), event, begin, end, correlation, 0});
}

void put_sync_in_context(unsigned kind, uint64_t context, uint64_t begin, uint64_t end,
                         uint64_t correlation)
{
    put_sync_row((struct mp_row_sync){reach_thread(1), kind, context, NO_STREAM, 0, begin, end,
                                      correlation, 0});
}

void put_failed_sync(unsigned kind, uint64_t stream, uint64_t event, uint64_t begin, uint64_t end,
                     uint64_t correlation)
{
    static const uint64_t not_ready = 600;

    put_sync_row((struct mp_row_sync){reach_thread(1), kind, context_of(stream), number_of(stream),
                                      event, begin, end, correlation, not_ready});
}

void put_record(uint64_t stream, uint64_t event, uint64_t at, uint64_t correlation)
{
    put_sync(MP_sync_kind_event_record, 1, stream, event, at, at + 1, correlation);
}

void put_wait(uint64_t stream, uint64_t event, uint64_t at, uint64_t correlation)
{
    put_sync(MP_sync_kind_stream_wait_event, 1, stream, event, at, at + 1, correlation);
}

void put_stream_sync(uint64_t stream, uint64_t begin, uint64_t end, uint64_t correlation)
{
    put_call(1, "cudaStreamSynchronize", begin, end, correlation);
    put_sync(MP_sync_kind_stream_synchronize, 1, stream, 0, begin, end, correlation);
}

void put_event_sync(uint64_t event, uint64_t begin, uint64_t end, uint64_t correlation)
{
    put_call(1, "cudaEventSynchronize", begin, end, correlation);
    put_sync(MP_sync_kind_event_synchronize, 1, NO_STREAM, event, begin, end, correlation);
}

void put_context_sync(uint64_t begin, uint64_t end, uint64_t correlation)
{
    put_call(1, "cudaDeviceSynchronize", begin, end, correlation);
    put_sync(MP_sync_kind_context_synchronize, 1, NO_STREAM, 0, begin, end, correlation);
}

void put_stream_flag(uint64_t stream, unsigned flag)
{
    mp_append_stream_info(scene.writer, &(struct mp_row_stream_info){.stream = number_of(stream),
                                                                     .context = context_of(stream),
                                                                     .flag = flag});
}

void put_null_stream(uint64_t context, uint64_t stream)
{
    mp_append_context_info(scene.writer, &(struct mp_row_context_info){.context = context,
                                                                       .device = context - 1,
                                                                       .null_stream = stream});
}

void put_range(uint64_t range, uint64_t begin, uint64_t end, uint64_t first, uint64_t behind)
{
    mp_append_capture(scene.writer, &(struct mp_row_capture){.range = range,
                                                             .kind = MP_capture_kind_begin,
                                                             .time = begin * US,
                                                             .correlation = first});
    if (end)
        mp_append_capture(scene.writer, &(struct mp_row_capture){.range = range,
                                                                 .kind = MP_capture_kind_end,
                                                                 .time = end * US,
                                                                 .correlation = behind});
}

void put_nvtx(unsigned kind, uint64_t thread, const char *domain, const char *name, uint64_t at,
              uint64_t range)
{
    mp_append_nvtx(scene.writer, &(struct mp_row_nvtx){.thread = reach_thread(thread),
                                                       .kind = kind,
                                                       .domain = domain ? put_string(domain) : 0,
                                                       .name = name ? put_string(name) : 0,
                                                       .time = at * US,
                                                       .range = range});
}

void put_nvtx_range(const char *name, uint64_t begin, uint64_t end)
{
    put_nvtx(MP_nvtx_kind_push, 1, NULL, name, begin, 0);
    put_nvtx(MP_nvtx_kind_pop, 1, NULL, NULL, end, 0);
}

/* ---- The scene ---- */

void scene_begin_with(const char *header)
{
    memset(&scene, 0, sizeof scene);
    memset(&known, 0, sizeof known);
    scene.fd = fixture_file(NULL, 0);
    scene.writer = fixture_writer(scene.fd, header, 0);
}

void scene_begin(void)
{
    scene_begin_with(FIXTURE_HEADER);
}

/* The graph is the same with and without fronts, but for the fronts. */
static void expect_same_without_fronts(void)
{
    struct deps_options options = {.fronts = false};
    struct deps plain;

    assert_int_equal(deps_load(scene.trace, &options, &plain, NULL), MP_OK);
    assert_int_equal(plain.count, scene.deps.count);
    for (uint32_t i = 0; i < plain.count; i++) {
        assert_int_equal(plain.activities[i].bound, scene.deps.activities[i].bound);
        assert_int_equal(deps_bound_to(&plain, i), deps_bound_to(&scene.deps, i));
        assert_int_equal(plain.activities[i].cross, scene.deps.activities[i].cross);
        assert_int_equal(plain.activities[i].stream_pred, scene.deps.activities[i].stream_pred);
    }
    assert_memory_equal(&plain.counts, &scene.deps.counts, sizeof plain.counts);
    deps_free(&plain);
}

void scene_load(void)
{
    struct deps_options options = {.fronts = true};
    struct mp_error error = {.text = ""};

    assert_int_equal(mp_writer_close(scene.writer, NULL), MP_OK);
    assert_int_equal(mp_trace_open(fixture_path(scene.fd), &scene.trace, &error), MP_OK);
    assert_int_equal(deps_load(scene.trace, &options, &scene.deps, &error), MP_OK);
    assert_int_equal(deps_windows_ranges(&scene.deps, 0, &scene.windows, &error), MP_OK);
    expect_same_without_fronts();
}

static void close_file(void)
{
    close(scene.fd);
    mp_intern_free(&known.strings);
    mp_intern_free(&known.functions);
    mp_intern_free(&known.shapes);
    mp_intern_free(&known.streams);
    mp_intern_free(&known.nodes);
}

void scene_write(int fd)
{
    size_t size;
    uint8_t *bytes;

    assert_int_equal(mp_writer_close(scene.writer, NULL), MP_OK);
    bytes = fixture_file_bytes(scene.fd, &size);
    fixture_file_set(fd, bytes, size);
    free(bytes);
    close_file();
}

void scene_end(enum scene_soundness soundness)
{
    scene_check(&scene.windows, soundness);
    deps_windows_free(&scene.windows);
    deps_free(&scene.deps);
    mp_trace_close(scene.trace);
    close_file();
}

/* ---- What always holds ---- */

static uint64_t sum_of(const struct deps_result *result)
{
    uint64_t sum = 0;

    for (uint32_t i = 1; i < result->row_count; i++)
        sum += result->rows[i].critical;
    for (int i = 0; i < DEPS_PARTS; i++)
        sum += result->parts[i];
    return sum;
}

static void expect_sums(const struct deps_windows *windows, uint64_t *critical)
{
    struct deps_result result;

    assert_int_equal(deps_result_init(&scene.deps, &result), MP_OK);
    for (size_t i = 0; i < windows->count; i++) {
        const struct deps_window *window = &windows->items[i];

        deps_result_clear(&result);
        deps_path(&scene.deps, window, &result, critical);
        assert_true(window->end >= window->begin);
        assert_int_equal(result.window, window->end - window->begin);
        assert_int_equal(sum_of(&result), result.window);
    }
    deps_result_free(&result);
}

/* Length of a window when the kernel with this name takes `more` ns longer. */
static uint64_t length_if_longer(const struct deps_windows *windows, const char *name,
                                 uint64_t more, uint64_t *lengths)
{
    struct deps_changes changes = {.items = NULL};
    char text[128];

    snprintf(text, sizeof text, "%s=+%lluns", name, (unsigned long long)more);
    assert_int_equal(deps_changes_add(&changes, text, NULL), MP_OK);
    assert_int_equal(deps_replay(&scene.deps, &changes, windows, lengths), MP_OK);
    deps_changes_free(&changes);
    return lengths[0];
}

static bool is_only_one_of_its_name(uint32_t index)
{
    uint32_t same = 0;

    for (uint32_t i = 0; i < scene.deps.count; i++)
        same += scene.deps.activities[i].name == scene.deps.activities[index].name;
    return same == 1;
}

/* Slack against the replay, which solves the same equations the other way: delayed by its slack an
 * activity leaves the window as it is, and by 1 ns more it does not. One window only. */
static void expect_slack_as_replayed(const struct deps_windows *windows, const uint64_t *slack,
                                     uint64_t *lengths)
{
    uint64_t window = windows->items[0].end - windows->items[0].begin;

    for (uint32_t i = 0; i < scene.deps.count && windows->count == 1; i++) {
        const char *name = deps_name(&scene.deps, &scene.deps.activities[i]);

        if (slack[i] == UINT64_MAX || !is_only_one_of_its_name(i))
            continue;
        assert_int_equal(length_if_longer(windows, name, slack[i], lengths), window);
        /* The ends of other threads, and of work behind an NVTX range, lengthen no window. */
        if (i >= scene.deps.host_count && scene.deps.thread_count == 1 &&
            windows->items[0].thread == DEPS_NONE)
            assert_int_equal(length_if_longer(windows, name, slack[i] + 1, lengths), window + 1);
    }
}

void scene_check(const struct deps_windows *windows, enum scene_soundness soundness)
{
    uint64_t *slack = calloc(scene.deps.count + 1, sizeof *slack);
    uint64_t *critical = calloc(scene.deps.count + 1, sizeof *critical);
    uint64_t *lengths = calloc(windows->count + 1, sizeof *lengths);

    for (uint32_t i = 0; i < scene.deps.count; i++)
        slack[i] = UINT64_MAX;
    expect_sums(windows, critical);
    assert_int_equal(deps_slack(&scene.deps, windows, slack), MP_OK);
    assert_int_equal(deps_replay(&scene.deps, NULL, windows, lengths), MP_OK);
    for (size_t i = 0; i < windows->count && soundness == SOUND; i++)
        assert_int_equal(lengths[i], windows->items[i].end - windows->items[i].begin);
    for (uint32_t i = 0; i < scene.deps.count && soundness == SOUND && !windows->items[0].id; i++)
        assert_false(critical[i] && slack[i] != UINT64_MAX && slack[i]);
    if (soundness == SOUND)
        expect_slack_as_replayed(windows, slack, lengths);
    free(lengths);
    free(critical);
    free(slack);
}

/* ---- Answers ---- */

#define ANSWER_BYTES 512

static char *new_answer(void)
{
    static char answers[8][ANSWER_BYTES];
    static unsigned next;
    char *answer = answers[next++ % 8];

    *answer = '\0';
    return answer;
}

static void add(char *answer, const char *format, ...)
{
    size_t used = strlen(answer);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(answer + used, ANSWER_BYTES - used, format, arguments);
    va_end(arguments);
}

static void add_time(char *answer, const char *name, uint64_t ns)
{
    bool first = !*answer || answer[strlen(answer) - 1] == ' ';

    if (ns)
        add(answer, "%s%s %g", first ? "" : ", ", name, (double)ns / US);
}

uint32_t find(const char *name)
{
    for (uint32_t i = 0; i < scene.deps.count; i++) {
        if (!strcmp(deps_name(&scene.deps, &scene.deps.activities[i]), name))
            return i;
    }
    fail_msg("no activity is called %s", name);
    return DEPS_NONE;
}

uint32_t find_call(uint64_t correlation)
{
    for (uint32_t i = 0; i < scene.deps.host_count; i++) {
        const struct deps_activity *call = &scene.deps.activities[i];

        if (call->correlation == correlation && !(call->flags & DEPS_CONTINUES))
            return i;
    }
    fail_msg("no call has the correlation id %d", (int)correlation);
    return DEPS_NONE;
}

static const char *bound_of(uint32_t index)
{
    static const char *const reasons[DEPS_REASONS] = {
        "unknown",        "program order",   "launch",     "stream order", "event",
        "default stream", "synchronisation", "graph edge", "in effect"};
    uint32_t to = deps_bound_to(&scene.deps, index);
    const struct deps_activity *on = &scene.deps.activities[to];
    char *answer = new_answer();

    add(answer, "%s", reasons[scene.deps.activities[index].bound]);
    if (to != DEPS_NONE)
        add(answer, " %s", deps_name(&scene.deps, on));
    if (to < scene.deps.host_count)
        add(answer, "#%d", (int)on->correlation);
    return answer;
}

const char *bound(const char *name)
{
    return bound_of(find(name));
}

const char *bound_call(uint64_t correlation)
{
    return bound_of(find_call(correlation));
}

static void result_of(const struct deps_window *window, struct deps_result *result)
{
    assert_int_equal(deps_result_init(&scene.deps, result), MP_OK);
    deps_path(&scene.deps, window, result, NULL);
    assert_int_equal(sum_of(result), window->end - window->begin);
}

static const char *row_name(uint32_t name)
{
    return mp_intern_get(&scene.deps.names, name, NULL);
}

/* Rows in order of their names, which does not depend on the order of the file. */
static int compare_names(const void *left, const void *right)
{
    return strcmp(row_name(*(const uint32_t *)left), row_name(*(const uint32_t *)right));
}

#define MOST_NAMES 128

static uint32_t names_in_order(uint32_t *names)
{
    uint32_t count = scene.deps.names.count;

    assert_true(count < MOST_NAMES);
    for (uint32_t i = 0; i < count; i++)
        names[i] = i + 1;
    if (count)
        qsort(names, count, sizeof *names, compare_names);
    return count;
}

const char *path(const struct deps_window *window)
{
    static const char *const parts[DEPS_PARTS] = {"host",       "launch", "gap",
                                                  "dependency", "return", "unknown"};
    uint32_t names[MOST_NAMES];
    uint32_t count = names_in_order(names);
    char *answer = new_answer();
    struct deps_result result;

    result_of(window, &result);
    for (uint32_t i = 0; i < count; i++)
        add_time(answer, row_name(names[i]), result.rows[names[i]].critical);
    add(answer, *answer ? " | " : "| ");
    for (int i = 0; i < DEPS_PARTS; i++)
        add_time(answer, parts[i], result.parts[i]);
    deps_result_free(&result);
    return answer;
}

const char *waiting(const struct deps_window *window)
{
    uint32_t names[MOST_NAMES];
    uint32_t count = names_in_order(names);
    char *answer = new_answer();
    struct deps_result result;

    result_of(window, &result);
    for (uint32_t i = 0; i < count; i++)
        add_time(answer, row_name(names[i]), result.rows[names[i]].waiting);
    add(answer, *answer ? " | " : "| ");
    for (uint32_t i = 0; i < count; i++)
        add_time(answer, row_name(names[i]), result.rows[names[i]].device_waiting);
    deps_result_free(&result);
    return answer;
}

uint64_t slack_of(const struct deps_windows *windows, uint32_t activity)
{
    uint64_t *slack = calloc(scene.deps.count + 1, sizeof *slack);
    uint64_t answer;

    assert_int_equal(deps_slack(&scene.deps, windows, slack), MP_OK);
    answer = slack[activity];
    free(slack);
    assert_int_equal(answer % US, 0);
    return answer / US;
}

uint64_t length_with(const char *changes)
{
    struct deps_changes list = {.items = NULL};
    uint64_t *lengths = calloc(scene.windows.count + 1, sizeof *lengths);
    char *copy = strdup(changes);
    char *rest = copy;
    uint64_t length;

    for (char *word; (word = strsep(&rest, ";"));) {
        if (*word)
            assert_int_equal(deps_changes_add(&list, word, NULL), MP_OK);
    }
    assert_null(deps_changes_unmatched(&list, &scene.deps));
    assert_int_equal(deps_replay(&scene.deps, &list, &scene.windows, lengths), MP_OK);
    length = lengths[0];
    deps_changes_free(&list);
    free(lengths);
    free(copy);
    assert_int_equal(length % US, 0);
    return length / US;
}
