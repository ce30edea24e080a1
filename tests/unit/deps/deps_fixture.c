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

#include "reports/replay/replay.h"
#include "unit/deps/deps_fixture.h"

#include "reports/iterations/iterations.h"

#define US 1000u

struct scene scene;

/* ---- The scene ---- */

void scene_begin_with(const char *header)
{
    memset(&scene, 0, sizeof scene);
    rows_begin();
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
        assert_int_equal(plain.activities[i].other_lane, scene.deps.activities[i].other_lane);
        assert_int_equal(plain.activities[i].own_lane, scene.deps.activities[i].own_lane);
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
    rows_end();
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

/* Whether the path may leave an activity before its end, where it wakes another thread. */
static bool wakes_inside(uint32_t index)
{
    for (size_t i = 0; i < scene.deps.wait_count; i++) {
        const struct deps_wait *wait = &scene.deps.waits[i];

        if ((wait->piece == index || wait->host_function == index) &&
            wait->woken < scene.deps.activities[index].end)
            return true;
    }
    return false;
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
        assert_false(critical[i] && slack[i] != UINT64_MAX && slack[i] && !wakes_inside(i));
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

static void add(char *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));
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
        "unknown",         "program order", "launch",    "stream order", "event", "default stream",
        "synchronisation", "graph edge",    "in effect", "woken",        "peer",  "by time",
    };
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

#define MAX_NAMES 128

static uint32_t names_in_order(uint32_t *names)
{
    uint32_t count = scene.deps.names.count;

    assert_true(count < MAX_NAMES);
    for (uint32_t i = 0; i < count; i++)
        names[i] = i + 1;
    if (count)
        qsort(names, count, sizeof *names, compare_names);
    return count;
}

const char *path(const struct deps_window *window)
{
    static const char *const parts[DEPS_PARTS] = {"host",       "computing", "ready",
                                                  "blocked",    "launch",    "gap",
                                                  "dependency", "return",    "unknown"};
    uint32_t names[MAX_NAMES];
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
    uint32_t names[MAX_NAMES];
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

enum mp_status scene_iterations(const char *name, uint64_t range, struct deps_windows *windows,
                                struct mp_error *error)
{
    const struct iterations_options options = {
        .way = ITERATIONS_NVTX, .name = name, .range = range};
    struct iterations found;
    enum mp_status status;

    *windows = (struct deps_windows){.items = NULL};
    MP_TRY(iterations_find(&scene.deps, scene.trace, &options, &found, error));
    status = iterations_windows(&scene.deps, &found, windows);
    iterations_free(&found);
    return status ? mp_error_set(error, status, "no memory") : MP_OK;
}
