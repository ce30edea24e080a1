/* What recording costs: finding it in a file's text, keeping it, and which one a trace has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "profile/costs.h"
#include "unit/trace_fixture.h"

static const struct costs_key key = {"NVIDIA H200", 13000, 130001};

#define KEY_TEXT "gpu=NVIDIA H200\ndriver=13000\ncupti=130001\n"

/* ---- The text ---- */

static struct costs twos(void)
{
    struct costs costs = {.stack = 0};
    double *value;

    for (size_t i = 0; costs_at(&costs, i, NULL, &value, NULL); i++)
        *value = 2;
    return costs;
}

static void costs_are_found_by_their_key(void **state)
{
    struct costs costs = twos();

    (void)state;
    assert_true(costs_find("gpu=NVIDIA A100\ndriver=13000\ncupti=130001\nlaunch_in=1\n\n"
                           "gpu=NVIDIA H200\ndriver=12090\ncupti=130001\nlaunch_in=3\n\n"
                           "gpu=NVIDIA H200\ndriver=13000\ncupti=28\nlaunch_in=4\n\n\n" KEY_TEXT
                           "launch_in=412.5\nfinish=0\n",
                           &key, &costs));
    assert_float_equal(costs.launch_in, 412.5, 0);
    assert_float_equal(costs.finish, 0, 0);
    assert_float_equal(costs.node_gap, 2, 0); /* missing: keeps its value */
}

static void the_line_of_a_trace_is_read_like_the_file(void **state)
{
    struct costs costs = twos();

    (void)state;
    assert_true(costs_find("gpu=A;driver=1;cupti=1;launch_in=9;;"
                           "gpu=NVIDIA H200;driver=13000;cupti=130001;launch_in=7;call_in=8;",
                           &key, &costs));
    assert_float_equal(costs.launch_in, 7, 0);
    assert_float_equal(costs.call_in, 8, 0);
}

static void a_text_without_a_line_break_is_read_to_its_end(void **state)
{
    struct costs costs = twos();

    (void)state;
    assert_true(costs_find(KEY_TEXT "start=10000000", &key, &costs));
    assert_float_equal(costs.start, 1e7, 0);
}

static void of_two_blocks_with_one_key_the_first_counts(void **state)
{
    struct costs costs = twos();

    (void)state;
    assert_true(costs_find(KEY_TEXT "start=5\n\n" KEY_TEXT "start=6\n", &key, &costs));
    assert_float_equal(costs.start, 5, 0);
}

static void a_cost_of_a_newer_miniprof_is_passed_over(void **state)
{
    struct costs costs = twos();

    (void)state;
    assert_true(costs_find(KEY_TEXT "teleport=5\nstart=6\n", &key, &costs));
    assert_float_equal(costs.start, 6, 0);
}

static void what_is_not_plain_numbers_changes_nothing(void **state)
{
    static const char *const texts[] = {
        "",
        "\n\n\n",
        ";",
        "=",
        "gpu=NVIDIA H200",
        "launch_in=1\n",
        "gpu=NVIDIA H200\nlaunch_in=1\n",
        "gpu=NVIDIA H200\ndriver=13000\nlaunch_in=1\n",
        "driver=13000\ncupti=130001\nlaunch_in=1\n",
        "gpu=NVIDIA H200\n\ndriver=13000\ncupti=130001\nlaunch_in=1\n",
        "gpu=NVIDIA H20\ndriver=13000\ncupti=130001\nlaunch_in=1\n",
        "gpu=NVIDIA H200 \ndriver=13000\ncupti=130001\nlaunch_in=1\n",
        "gpu=NVIDIA H200\ndriver=-13000\ncupti=130001\nlaunch_in=1\n",
        KEY_TEXT "launch_in=-1\n",
        KEY_TEXT "launch_in=+1\n",
        KEY_TEXT "launch_in=nan\n",
        KEY_TEXT "launch_in=inf\n",
        KEY_TEXT "launch_in=1e3\n",
        KEY_TEXT "launch_in=0x10\n",
        KEY_TEXT "launch_in=1,5\n",
        KEY_TEXT "launch_in=1.5.5\n",
        KEY_TEXT "launch_in=.5\n",
        KEY_TEXT "launch_in= 1\n",
        KEY_TEXT "launch_in=\n",
        KEY_TEXT "launch_in\n",
        KEY_TEXT "start=5\nlaunch_in=10000001\n",
        KEY_TEXT "start=5\nlaunch_in=99999999999999999999999\n",
        KEY_TEXT "start=5\nlaunch_in=999999999999999999999999999999999999999999\n",
    };
    struct costs expected = twos();

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct costs costs = twos();
        if (costs_find(texts[i], &key, &costs))
            fail_msg("taken: %s", texts[i]);
        assert_memory_equal(&costs, &expected, sizeof costs);
    }
}

/* ---- The file ---- */

static char folder[] = "/tmp/test_costs.XXXXXX";
static char place[128];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/test_costs.XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(place, sizeof place, "%s/miniprof/recording-costs", folder);
    return setenv("XDG_CACHE_HOME", folder, 1);
}

static int remove_folder(void **state)
{
    char path[128];

    (void)state;
    (void)(unlink(place) && rmdir(place));
    snprintf(path, sizeof path, "%s/victim", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/miniprof", folder);
    (void)(rmdir(path) && unlink(path));
    return rmdir(folder);
}

static void put_file(const char *bytes, size_t size)
{
    char parent[128];
    FILE *file;

    snprintf(parent, sizeof parent, "%s/miniprof", folder);
    mkdir(parent, 0700);
    file = fopen(place, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static unsigned count_of(const char *text, const char *part)
{
    unsigned count = 0;

    for (; (text = strstr(text, part)) != NULL; text++)
        count++;
    return count;
}

static void what_is_kept_is_found_and_replaced(void **state)
{
    const struct costs_key other = {"NVIDIA A100", 13000, 130001};
    char text[MP_COSTS_BYTES + 1];
    struct costs costs = twos();
    struct costs found = twos();
    struct stat about;

    (void)state;
    assert_false(mp_costs_read(text));
    assert_int_equal(costs_keep(&other, &costs, NULL), MP_OK);
    costs.launch_in = 412.5;
    assert_int_equal(costs_keep(&key, &costs, NULL), MP_OK);
    costs.launch_in = 99;
    assert_int_equal(costs_keep(&key, &costs, NULL), MP_OK);
    assert_true(mp_costs_read(text));
    assert_int_equal(count_of(text, "gpu="), 2);
    assert_true(costs_find(text, &key, &found));
    assert_memory_equal(&found, &costs, sizeof costs);
    assert_true(costs_find(text, &other, &found));
    assert_float_equal(found.launch_in, 2, 0);
    assert_int_equal(stat(place, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
}

static void the_oldest_gpus_are_forgotten_when_the_file_is_full(void **state)
{
    char text[MP_COSTS_BYTES + 1];
    struct costs costs = twos();
    char name[16];
    struct costs_key many = {name, 1, 1};

    (void)state;
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "GPU %d", i);
        assert_int_equal(costs_keep(&many, &costs, NULL), MP_OK);
    }
    assert_true(mp_costs_read(text));
    assert_true(costs_find(text, &many, &costs));
    snprintf(name, sizeof name, "GPU 180");
    assert_true(costs_find(text, &many, &costs));
    snprintf(name, sizeof name, "GPU 0");
    assert_false(costs_find(text, &many, &costs));
}

static void a_file_that_is_no_text_is_not_read_but_replaced(void **state)
{
    char text[MP_COSTS_BYTES + 1];
    struct costs costs = twos();
    char *huge = malloc(MP_COSTS_BYTES + 1);

    (void)state;
    memset(huge, 'x', MP_COSTS_BYTES + 1);
    put_file(huge, MP_COSTS_BYTES + 1);
    assert_false(mp_costs_read(text));
    put_file("", 0);
    assert_false(mp_costs_read(text));
    put_file("a\0b", 3);
    assert_false(mp_costs_read(text));
    put_file("gpu=\033[2J\n", 9);
    assert_false(mp_costs_read(text));
    put_file(huge, MP_COSTS_BYTES);
    assert_true(mp_costs_read(text));
    assert_int_equal(costs_keep(&key, &costs, NULL), MP_OK);
    assert_true(mp_costs_read(text));
    assert_null(strchr(text, 'x'));
    free(huge);
}

static void a_folder_or_a_fifo_in_its_place_is_not_read(void **state)
{
    char text[MP_COSTS_BYTES + 1];
    struct costs costs = twos();
    struct mp_error error;

    (void)state;
    put_file("x", 1);
    assert_int_equal(unlink(place), 0);
    assert_int_equal(mkfifo(place, 0600), 0);
    assert_false(mp_costs_read(text));
    assert_int_equal(unlink(place), 0);
    assert_int_equal(mkdir(place, 0700), 0);
    assert_false(mp_costs_read(text));
    assert_int_equal(costs_keep(&key, &costs, &error), MP_ERR_IO);
    assert_non_null(strstr(error.text, "cannot replace"));
}

static void a_link_is_replaced_not_followed(void **state)
{
    struct costs costs = twos();
    char victim[128];
    struct stat about;

    (void)state;
    put_file("x", 1);
    snprintf(victim, sizeof victim, "%s/victim", folder);
    assert_int_equal(rename(place, victim), 0);
    assert_int_equal(symlink(victim, place), 0);
    assert_int_equal(costs_keep(&key, &costs, NULL), MP_OK);
    assert_int_equal(lstat(place, &about), 0);
    assert_true(S_ISREG(about.st_mode));
    assert_int_equal(stat(victim, &about), 0);
    assert_int_equal(about.st_size, 1);
}

static void what_cannot_be_kept_says_why(void **state)
{
    const struct costs_key odd = {"a;b", 1, 1};
    const struct costs_key lines = {"a\nb", 1, 1};
    struct costs costs = twos();
    struct mp_error error;
    char file[128];

    (void)state;
    assert_int_equal(costs_keep(&odd, &costs, &error), MP_ERR_IO);
    assert_int_equal(costs_keep(&lines, &costs, &error), MP_ERR_IO);
    costs.start = -1;
    assert_int_equal(costs_keep(&key, &costs, &error), MP_ERR_IO);
    costs.start = 0. / 0.;
    assert_int_equal(costs_keep(&key, &costs, &error), MP_ERR_IO);
    costs.start = 1;
    assert_int_not_equal(access(place, F_OK), 0);
    snprintf(file, sizeof file, "%s/miniprof", folder);
    assert_int_equal(close(open(file, O_CREAT | O_WRONLY, 0600)), 0);
    assert_int_equal(costs_keep(&key, &costs, &error), MP_ERR_IO);
    assert_non_null(strstr(error.text, "cannot create the folder"));
    assert_null(strchr(error.text, '\n'));
}

static void without_a_home_there_is_no_file(void **state)
{
    char home[128];
    struct costs costs = twos();
    struct mp_error error;
    char path[256];

    (void)state;
    snprintf(home, sizeof home, "%s", getenv("HOME") ? getenv("HOME") : "/");
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/home/somebody", 1);
    assert_true(mp_costs_path(path, sizeof path));
    assert_string_equal(path, "/home/somebody/.cache/miniprof/recording-costs");
    assert_false(mp_costs_path(path, 20));
    unsetenv("HOME");
    assert_false(mp_costs_path(path, sizeof path));
    assert_int_equal(costs_keep(&key, &costs, &error), MP_ERR_IO);
    assert_non_null(strstr(error.text, "HOME"));
    setenv("HOME", home, 1);
}

/* ---- A trace ---- */

#define VERSIONS "cupti_version=130001\ndriver_version=13000\n"

static enum costs_source source_of(const char *header, const char *gpu, struct costs *costs)
{
    int fd = fixture_file("", 0);
    struct mp_writer *writer = fixture_writer(fd, header, 0);
    enum costs_source source;
    struct mp_trace *trace;

    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    source = costs_of_trace(trace, gpu, costs);
    mp_trace_close(trace);
    close(fd);
    return source;
}

static void a_trace_prefers_its_own_costs_then_the_users(void **state)
{
    static const char own[] =
        VERSIONS "recording_costs=gpu=NVIDIA H200;driver=13000;cupti=130001;launch_in=41;\n";
    struct costs builtin;
    struct costs costs = twos();

    (void)state;
    costs_built_in(&builtin);
    assert_int_equal(source_of(own, "NVIDIA H200", &costs), COSTS_CALIBRATED_THERE);
    assert_float_equal(costs.launch_in, 41, 0);
    assert_float_equal(costs.start, builtin.start, 0);
    assert_int_equal(source_of(VERSIONS, "NVIDIA H200", &costs), COSTS_BUILT_IN);
    assert_memory_equal(&costs, &builtin, sizeof costs);
    costs = twos();
    assert_int_equal(costs_keep(&key, &costs, NULL), MP_OK);
    assert_int_equal(source_of(VERSIONS, "NVIDIA H200", &costs), COSTS_CALIBRATED_HERE);
    assert_float_equal(costs.launch_in, 2, 0);
    assert_int_equal(source_of(own, "NVIDIA H200", &costs), COSTS_CALIBRATED_THERE);
    assert_int_equal(source_of(own, "NVIDIA A100", &costs), COSTS_BUILT_IN);
    assert_int_equal(source_of(own, NULL, &costs), COSTS_BUILT_IN);
    assert_int_equal(source_of("driver_version=13000\n", "NVIDIA H200", &costs), COSTS_BUILT_IN);
    assert_int_equal(source_of("cupti_version=130001\ndriver_version=-1\n", "NVIDIA H200", &costs),
                     COSTS_BUILT_IN);
    assert_memory_equal(&costs, &builtin, sizeof costs);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_found_by_their_key),
        cmocka_unit_test(the_line_of_a_trace_is_read_like_the_file),
        cmocka_unit_test(a_text_without_a_line_break_is_read_to_its_end),
        cmocka_unit_test(of_two_blocks_with_one_key_the_first_counts),
        cmocka_unit_test(a_cost_of_a_newer_miniprof_is_passed_over),
        cmocka_unit_test(what_is_not_plain_numbers_changes_nothing),
        WITH_FOLDER(what_is_kept_is_found_and_replaced),
        WITH_FOLDER(the_oldest_gpus_are_forgotten_when_the_file_is_full),
        WITH_FOLDER(a_file_that_is_no_text_is_not_read_but_replaced),
        WITH_FOLDER(a_folder_or_a_fifo_in_its_place_is_not_read),
        WITH_FOLDER(a_link_is_replaced_not_followed),
        WITH_FOLDER(what_cannot_be_kept_says_why),
        WITH_FOLDER(without_a_home_there_is_no_file),
        WITH_FOLDER(a_trace_prefers_its_own_costs_then_the_users),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
