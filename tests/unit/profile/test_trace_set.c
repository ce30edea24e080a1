/* Sets of traces: who is in them and in what order, how their clocks are aligned, and sums over
 * them against a naive addition of random rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/set.h"
#include "reports/summary/merge.h"
#include "tools/known_trace.h"
#include "unit/trace_fixture.h"

#define BASE 1700000000000000000u

static char folder[64];
static char paths[64][96];
static size_t path_count;

static int begin(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/test_trace_set.XXXXXX");
    path_count = 0;
    return mkdtemp(folder) ? 0 : 1;
}

static int end(void **state)
{
    (void)state;
    for (size_t i = 0; i < path_count; i++)
        unlink(paths[i]);
    return rmdir(folder);
}

static const char *new_path(const char *name)
{
    char *path = paths[path_count++];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

struct who {
    const char *name, *host;
    unsigned rank, pid;
    uint64_t clock, realtime; /* 0: not in the header */
    const char *clock_name;
};

static const char *write_known(const struct who *who)
{
    char header[512];
    char clocks[128] = "";
    const char *path = new_path(who->name);

    if (who->realtime)
        snprintf(clocks, sizeof clocks, "start_clock_ns=%llu\nstart_realtime_ns=%llu\n",
                 (unsigned long long)who->clock, (unsigned long long)who->realtime);
    snprintf(header, sizeof header, "pid=%u\nppid=1\nhostname=%s\nrank=%u\nclock=%s\n%s", who->pid,
             who->host, who->rank, who->clock_name ? who->clock_name : "monotonic", clocks);
    assert_true(known_write(path, &(struct known_options){.header = header}));
    return path;
}

static void open_set(struct trace_set *set, const char *const *names, size_t count)
{
    assert_int_equal(trace_set_open(names, count, set, NULL), MP_OK);
}

static void open_folder(struct trace_set *set)
{
    const char *name = folder;

    open_set(set, &name, 1);
}

static void a_folder_is_sorted_by_rank_host_and_pid(void **state)
{
    static const struct who all[] = {
        {"a.mpt", "beta", 2, 10, 0, 0, NULL},  {"b.mpt", "beta", 0, 9, 0, 0, NULL},
        {"c.mpt", "alpha", 2, 30, 0, 0, NULL}, {"d.mpt", "alpha", 2, 4, 0, 0, NULL},
        {"e.mpt", "alpha", 10, 1, 0, 0, NULL},
    };
    static const unsigned pids[] = {9, 4, 30, 10, 1};
    struct trace_set set;

    (void)state;
    for (size_t i = 0; i < 5; i++)
        write_known(&all[i]);
    open_folder(&set);
    assert_int_equal(set.count, 5);
    assert_int_equal(set.problem_count, 0);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(set.processes[i].pid, pids[i]);
    assert_string_equal(set.processes[1].label, "pid 4"); /* rank 2 is there three times */
    trace_set_free(&set);
}

static void labels_are_the_shortest_that_differ(void **state)
{
    static const struct who all[] = {
        {"a.mpt", "alpha", 0, 7, 0, 0, NULL}, {"b.mpt", "alpha", 1, 7, 0, 0, NULL},
        {"c.mpt", "beta", 1, 7, 0, 0, NULL},  {"d.mpt", "alpha", 0, 8, 0, 0, NULL},
        {"e.mpt", "alpha", 0, 7, 1, 1, NULL}, /* a later one */
    };
    const char *names[5];
    struct trace_set set;

    (void)state;
    for (size_t i = 0; i < 5; i++)
        names[i] = write_known(&all[i]);
    open_set(&set, (const char *[]){names[0], names[1]}, 2);
    assert_string_equal(set.processes[1].label, "rank 1");
    trace_set_free(&set);
    open_set(&set, (const char *[]){names[0], names[3]}, 2);
    assert_string_equal(set.processes[1].label, "pid 8");
    trace_set_free(&set);
    open_set(&set, (const char *[]){names[1], names[2]}, 2);
    assert_string_equal(set.processes[1].label, "beta:7");
    trace_set_free(&set);
    open_set(&set, (const char *[]){names[0], names[4]}, 2);
    assert_string_equal(set.processes[1].label, "#2");
    trace_set_free(&set);
    open_set(&set, names, 1);
    assert_string_equal(set.processes[0].label, "pid 7");
    trace_set_free(&set);
}

static void one_boot_of_a_host_has_one_clock(void **state)
{
    static const struct who all[] = {
        {"a.mpt", "alpha", 0, 1, 5000, BASE + 5000, NULL},
        {"b.mpt", "alpha", 1, 2, 9000, BASE + 9000 + 777, NULL},         /* slewed since */
        {"c.mpt", "alpha", 2, 3, 5000, BASE + 5000 + 3000000000u, NULL}, /* another boot */
        {"d.mpt", "beta", 3, 4, 5000, BASE + 5000, NULL},
        {"e.mpt", "alpha", 4, 5, 5000, BASE + 5000, "simgpu"},
        {"f.mpt", "alpha", 5, 6, 9000, BASE + 9000 - 888, NULL},
    };
    static const uint64_t offsets[] = {BASE, BASE, BASE + 3000000000u, BASE, BASE, BASE};
    static const size_t clocks[] = {0, 0, 1, 2, 3, 0};
    static const bool shared[] = {true, true, false, false, false, true};
    struct trace_set set;

    (void)state;
    for (size_t i = 0; i < 6; i++)
        write_known(&all[i]);
    open_folder(&set);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(set.processes[i].offset, offsets[i]);
        assert_int_equal(set.processes[i].clock_number, clocks[i]);
        assert_int_equal(set.processes[i].alignment,
                         shared[i] ? TRACE_ALIGNED_CLOCK : TRACE_ALIGNED_REALTIME);
    }
    assert_int_equal(set.clock_count, 4);
    assert_int_equal(set.spread, 888);
    /* known_trace.h: the first call begins at 1001000, the graph ends at 3450000. */
    assert_int_equal(set.first_time, BASE + 1001000);
    assert_int_equal(set.processes[2].first_time, 1001000);
    assert_int_equal(set.processes[2].last_time, 3450000);
    trace_set_free(&set);
}

static void without_clock_keys_a_trace_begins_with_the_first(void **state)
{
    static const struct who all[] = {
        {"a.mpt", "alpha", 0, 1, 0, 0, NULL},
        {"b.mpt", "alpha", 1, 2, 9000, BASE, NULL},
        {"c.mpt", "alpha", 2, 3, 9000, BASE + 50, NULL},
    };
    char text[TRACE_SET_CLOCKS_BYTES];
    struct trace_set set;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        write_known(&all[i]);
    open_folder(&set);
    assert_int_equal(set.unaligned, 1);
    assert_int_equal(set.first_time, BASE - 9000 + 1001000);
    assert_int_equal(set.processes[0].alignment, TRACE_ALIGNED_NOT);
    assert_int_equal(set.processes[0].first_time + set.processes[0].offset, set.first_time);
    assert_non_null(strstr(trace_set_describe_clocks(&set, text, sizeof text), "1 trace does not"));
    trace_set_free(&set);
    open_set(&set, (const char *[]){paths[1], paths[2]}, 2);
    assert_string_equal(trace_set_describe_clocks(&set, text, sizeof text),
                        "all times are of one clock");
    trace_set_free(&set);
}

static void devices_are_known_by_their_uuid(void **state)
{
    const char *path = new_path("a.mpt");
    FILE *file = fopen(path, "w+");
    struct mp_writer *writer = fixture_writer(fileno(file), "pid=3\n", 0);
    struct trace_set set;

    (void)state;
    mp_append_string(writer, &(struct mp_row_string){.id = 1, .text = {"GPU one", 7}});
    mp_append_string(writer, &(struct mp_row_string){.id = 2, .text = {"GPU two", 7}});
    mp_append_device(writer, &(struct mp_row_device){.id = 1, .name = 2, .uuid_low = 5});
    mp_append_device(writer, &(struct mp_row_device){.id = 0, .name = 2, .uuid_high = 7});
    mp_append_device(writer, &(struct mp_row_device){.id = 0, .name = 1, .uuid_high = 9});
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    fclose(file);
    open_folder(&set);
    assert_int_equal(set.count, 1);
    assert_int_equal(set.processes[0].device_count, 2);
    assert_string_equal(set.processes[0].devices[0].name, "GPU one");
    assert_int_equal(set.processes[0].devices[0].uuid_high, 9);
    assert_string_equal(set.processes[0].devices[1].name, "GPU two");
    assert_int_equal(set.processes[0].devices[1].uuid_low, 5);
    assert_int_equal(set.processes[0].records, 0);
    assert_int_equal(set.processes[0].rank, TRACE_SET_UNKNOWN);
    trace_set_free(&set);
}

static void what_cannot_be_read_is_listed(void **state)
{
    static const struct who good = {"good.mpt", "alpha", 0, 1, 0, 0, NULL};
    const char *path = write_known(&good);
    const char *junk = new_path("junk.mpt");
    const char *pipe_path = new_path("pipe.mpt");
    FILE *file = fopen(junk, "w");
    struct trace_set set;

    (void)state;
    fputs("something that is no trace, and longer than a header", file);
    fclose(file);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    open_set(&set, (const char *[]){folder, path, "/nonexistent.mpt"}, 3);
    assert_int_equal(set.count, 1);
    assert_int_equal(set.problem_count, 4);
    assert_non_null(strstr(set.problems[0].text, "junk.mpt' is not a miniprof trace"));
    assert_false(set.problems[0].named);
    assert_non_null(strstr(set.problems[1].text, "not a regular file"));
    assert_true(set.problems[2].repeated);
    assert_true(set.problems[3].named);
    trace_set_free(&set);
}

/* ---- Sums ---- */

#define NAMES     7
#define PROCESSES 5

struct sums {
    uint64_t calls, total, min, max;
};

/* Kernels of random names and durations; process p numbers the names in an order of its own. */
static const char *write_random(unsigned process, uint64_t *seed, struct sums sums[NAMES])
{
    char text[32];
    struct mp_writer *writer;
    const char *path;
    FILE *file;

    snprintf(text, sizeof text, "r%u.mpt", process);
    path = new_path(text);
    file = fopen(path, "w+");
    snprintf(text, sizeof text, "pid=%u\n", 100 + process);
    writer = fixture_writer(fileno(file), text, 512);
    for (unsigned i = 0; i < NAMES; i++) {
        unsigned name = (i + process) % NAMES;
        snprintf(text, sizeof text, "kernel_%u", name);
        mp_append_string(writer, &(struct mp_row_string){.id = i + 1, .text = {text, 8}});
        mp_append_shape(writer, &(struct mp_row_shape){.id = i + 1, .kernel = i + 1});
    }
    for (unsigned i = 0; i < 3000; i++) {
        unsigned shape = (unsigned)(fixture_random(seed) % (NAMES - process % 3)) + 1;
        uint64_t duration = fixture_random(seed) % 1000000;
        struct sums *sum = &sums[(shape - 1 + process) % NAMES];

        mp_append_kernel(writer,
                         &(struct mp_row_kernel){
                             .stream = 1, .shape = shape, .start = 1000 + i, .duration = duration});
        sum->min = !sum->calls || duration < sum->min ? duration : sum->min;
        sum->max = duration > sum->max ? duration : sum->max;
        sum->total += duration;
        sum->calls++;
    }
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    fclose(file);
    return path;
}

static void add_trace(struct summary_merge *merge, const char *path, uint32_t process)
{
    const struct summary_options options = {.style = NAMES_MANGLED};
    struct mp_trace *trace;
    struct summary summary;

    assert_int_equal(mp_trace_open(path, &trace, NULL), MP_OK);
    assert_int_equal(summary_build(trace, &options, &summary, NULL), MP_OK);
    assert_int_equal(summary_merge_add(merge, &summary, process), MP_OK);
    summary_free(&summary);
    mp_trace_close(trace);
}

static void check_row(const struct merged_group *group, const struct summary_row *row,
                      struct sums sums[PROCESSES][NAMES])
{
    unsigned name = (unsigned)(row->name[7] - '0');
    struct sums all = {.min = UINT64_MAX};
    size_t count;
    const struct summary_part *parts = summary_merge_parts(group, row, &count);
    size_t at = 0;

    for (unsigned i = 0; i < PROCESSES; i++) {
        const struct sums *one = &sums[i][name];
        if (!one->calls)
            continue;
        assert_int_equal(parts[at].process, i);
        assert_int_equal(parts[at].calls, one->calls);
        assert_int_equal(parts[at++].total, one->total);
        all.calls += one->calls;
        all.total += one->total;
        all.min = one->min < all.min ? one->min : all.min;
        all.max = one->max > all.max ? one->max : all.max;
    }
    assert_int_equal(at, count);
    assert_int_equal(row->tally.calls, all.calls);
    assert_int_equal(row->tally.total, all.total);
    assert_int_equal(row->tally.min, all.min);
    assert_int_equal(row->tally.max, all.max);
}

static void merged_sums_are_those_of_all_rows(void **state)
{
    struct sums sums[PROCESSES][NAMES];
    struct summary_merge merge;
    uint64_t seed = 5;

    (void)state;
    memset(sums, 0, sizeof sums);
    summary_merge_init(&merge, true);
    for (unsigned i = 0; i < PROCESSES; i++)
        add_trace(&merge, write_random(i, &seed, sums[i]), i);
    assert_int_equal(summary_merge_finish(&merge), MP_OK);
    const struct merged_group *group = &merge.groups[SUMMARY_GPU];
    assert_int_equal(group->all.row_count, NAMES);
    assert_int_equal(merge.groups[SUMMARY_API].all.row_count, 0);
    for (size_t i = 0; i < NAMES; i++) {
        check_row(group, &group->all.rows[i], sums);
        assert_true(!i || group->all.rows[i - 1].tally.total >= group->all.rows[i].tally.total);
    }
    summary_merge_free(&merge);
}

static void the_outlier_is_farthest_from_the_mean(void **state)
{
    static const struct {
        uint64_t totals[4]; /* 0: the process lacks the name */
        uint32_t process;
        double percent;
    } cases[] = {
        {{10, 10, 10, 30}, 3, 100},
        {{30, 30, 30, 10}, 3, -60},
        {{20, 10, 20, 10}, 0, 100.0 / 3}, /* all as far: the slowest, the first */
        {{10, 20, 10, 20}, 1, 100.0 / 3},
        {{8, 8, 8, 0}, 3, -100},
        {{7, 7, 7, 7}, UINT32_MAX, 0},
        {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX - 1}, 3, 0},
    };
    static const bool is_read[] = {true, false, true, true, true};
    static const uint32_t numbers[] = {0, 2, 3, 4}; /* of the four that were read */
    const struct summary_merge merge = {.processes = 4};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct summary_part parts[4];
        struct summary_outlier outlier;
        size_t count = 0;

        for (unsigned k = 0; k < 4; k++) {
            if (cases[i].totals[k])
                parts[count++] = (struct summary_part){1, numbers[k], 1, cases[i].totals[k]};
        }
        outlier = summary_merge_outlier(&merge, parts, count, is_read);
        if (cases[i].process == UINT32_MAX) {
            assert_int_equal(outlier.process, UINT32_MAX);
            continue;
        }
        assert_int_equal(outlier.process, numbers[cases[i].process]);
        assert_true(outlier.percent - cases[i].percent < 1e-6 &&
                    cases[i].percent - outlier.percent < 1e-6);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_folder_is_sorted_by_rank_host_and_pid),
        TEST(labels_are_the_shortest_that_differ),
        TEST(one_boot_of_a_host_has_one_clock),
        TEST(without_clock_keys_a_trace_begins_with_the_first),
        TEST(devices_are_known_by_their_uuid),
        TEST(what_cannot_be_read_is_listed),
        TEST(merged_sums_are_those_of_all_rows),
        TEST(the_outlier_is_farthest_from_the_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
