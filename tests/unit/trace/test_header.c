/* Opening: the header's text, what is no trace, and the words for damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fuzz/seal.h"
#include "unit/trace_fixture.h"

static struct mp_trace *open_with_text(const char *text, size_t bytes)
{
    uint8_t file[256];
    struct mp_trace *trace = NULL;
    size_t size = seal_file_header(file, text, bytes, MP_FORMAT_VERSION, 0);
    int fd = fixture_file(file, size);
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_trace_bytes(trace), size);
    close(fd);
    return trace;
}

static void expect_properties(const char *text, size_t bytes, unsigned count,
                              const char *const expected[])
{
    const char *key;
    const char *value;
    struct mp_trace *trace = open_with_text(text, bytes);
    for (size_t i = 0; i < count; i++) {
        assert_true(mp_trace_property_at(trace, i, &key, &value));
        assert_string_equal(key, expected[2 * i]);
        assert_string_equal(value, expected[2 * i + 1]);
    }
    assert_false(mp_trace_property_at(trace, count, &key, &value));
    assert_null(mp_trace_property(trace, "no such key"));
    mp_trace_close(trace);
}

static void the_header_s_lines_are_keys_and_values(void **state)
{
    (void)state;
    static const char usual[] = "pid=12\ncommand=a=b c\nhost=\n";
    static const char odd[] = "\nno equals sign\n=value without key\nlast=without newline";
    const char *const of_usual[] = {"pid", "12", "command", "a=b c", "host", ""};
    const char *const of_odd[] = {"", "value without key", "last", "without newline"};
    const char *const of_cut[] = {"a", "1"};
    expect_properties(usual, strlen(usual), 3, of_usual);
    expect_properties(odd, strlen(odd), 2, of_odd);
    expect_properties("", 0, 0, NULL);
    expect_properties("a=1\n\0b=2\n", 9, 1, of_cut);
}

static void the_first_of_equal_keys_counts(void **state)
{
    (void)state;
    struct mp_trace *trace = open_with_text("a=1\na=2\nb=3\n", 12);
    assert_string_equal(mp_trace_property(trace, "a"), "1");
    assert_string_equal(mp_trace_property(trace, "b"), "3");
    mp_trace_close(trace);
}

static void what_the_writer_is_told_is_what_the_reader_says(void **state)
{
    (void)state;
    struct mp_trace *trace;
    int fd = fixture_file(NULL, 0);
    assert_int_equal(mp_writer_close(fixture_writer(fd, FIXTURE_HEADER, 0), NULL), MP_OK);
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_string_equal(mp_trace_property(trace, "writer"), "fixture 1");
    assert_string_equal(mp_trace_property(trace, "pid"), "4711");
    assert_string_equal(mp_trace_property(trace, "clock"), "simgpu");
    mp_trace_close(trace);
    close(fd);
}

static void expect_failure(const char *path, enum mp_status status, const char *words)
{
    struct mp_error error;
    struct mp_trace *trace;
    assert_int_equal(mp_trace_open(path, &trace, &error), status);
    assert_null(trace);
    assert_int_equal(error.status, status);
    if (!strstr(error.text, words))
        fail_msg("'%s' does not say '%s'", error.text, words);
    assert_null(strchr(error.text, '\n'));
    assert_int_equal(mp_trace_open(path, &trace, NULL), status);
}

static void what_is_no_trace_is_named(void **state)
{
    (void)state;
    char fifo[] = "/tmp/miniprof-fifo-XXXXXX";
    int fd = fixture_file(NULL, 0);
    expect_failure(fixture_path(fd), MP_ERR_FORMAT, "empty");
    fixture_file_set(fd, "#!/bin/sh\n", 10);
    expect_failure(fixture_path(fd), MP_ERR_FORMAT, "not a miniprof trace");
    char text[4096];
    memset(text, '\n', sizeof text);
    fixture_file_set(fd, text, sizeof text);
    expect_failure(fixture_path(fd), MP_ERR_FORMAT, "not a miniprof trace");
    close(fd);
    expect_failure("/tmp", MP_ERR_IO, "is a directory");
    expect_failure("/no/such/file", MP_ERR_IO, "No such file or directory");
    expect_failure("/dev/null", MP_ERR_IO, "not a regular file");
    assert_non_null(mkdtemp(fifo));
    assert_int_equal(rmdir(fifo), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    expect_failure(fifo, MP_ERR_IO, "not a regular file"); /* and it does not wait for a writer */
    unlink(fifo);
}

static void damage_is_told_in_one_line(void **state)
{
    (void)state;
    char text[512] = "x";
    struct mp_damage damage = {0};
    assert_false(mp_damage_describe(&damage, text, sizeof text));
    assert_string_equal(text, "");
    damage.chunks_unknown = 3; /* of a newer writer: no damage */
    assert_false(mp_damage_describe(&damage, text, sizeof text));
    damage = (struct mp_damage){.no_index = true};
    assert_true(mp_damage_describe(&damage, text, sizeof text));
    assert_non_null(strstr(text, "no index"));
    damage = (struct mp_damage){.chunks_damaged = 2,
                                .rows_damaged = 3456,
                                .chunks_missing = 78,
                                .bytes_skipped = 91011,
                                .first_offset = 121314};
    assert_true(mp_damage_describe(&damage, text, sizeof text));
    assert_non_null(strstr(text, "3,456"));
    assert_non_null(strstr(text, "78"));
    assert_non_null(strstr(text, "91,011"));
    assert_non_null(strstr(text, "121314"));
    char small[16];
    assert_true(mp_damage_describe(&damage, small, sizeof small));
    assert_int_equal(strlen(small), sizeof small - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_s_lines_are_keys_and_values),
        cmocka_unit_test(the_first_of_equal_keys_counts),
        cmocka_unit_test(what_the_writer_is_told_is_what_the_reader_says),
        cmocka_unit_test(what_is_no_trace_is_named),
        cmocka_unit_test(damage_is_told_in_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
