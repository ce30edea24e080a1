/* status.h, strings.h, log.h and io.h: what each promises about bounded text. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "base/log.h"
#include "base/status.h"
#include "base/text/strings.h"

static void an_error_carries_status_text_and_reason(void **state)
{
    struct mp_error error;

    (void)state;
    errno = ENOENT;
    assert_int_equal(mp_error_set(&error, MP_ERR_IO, "cannot open '%s': %m", "x"), MP_ERR_IO);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(error.status, MP_ERR_IO);
    assert_string_equal(error.text, "cannot open 'x': No such file or directory");
    assert_int_equal(mp_error_set(NULL, MP_ERR_LIMIT, "nobody asks"), MP_ERR_LIMIT);
}

static void a_long_error_is_cut_visibly(void **state)
{
    struct mp_error error;

    (void)state;
    mp_error_set(&error, MP_ERR_IO, "%0*d", 1000, 0);
    assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
    assert_string_equal(error.text + sizeof(error.text) - 5, "0...");
}

static void every_status_has_a_name(void **state)
{
    int status;

    (void)state;
    for (status = MP_OK; status <= MP_ERR_UNSUPPORTED; status++)
        assert_string_not_equal(mp_status_name((enum mp_status)status), "unknown");
}

static void a_copy_is_cut_and_terminated(void **state)
{
    char text[4];

    (void)state;
    assert_true(mp_text_copy(text, sizeof(text), "abc"));
    assert_string_equal(text, "abc");
    assert_false(mp_text_copy(text, sizeof(text), "abcd"));
    assert_string_equal(text, "abc");
    assert_false(mp_text_copy(text, 1, "abcd"));
    assert_string_equal(text, "");
}

static void only_whole_numbers_in_range_are_numbers(void **state)
{
    static const char *const wrong[] = {
        "", "-1", "+1", " 1", "1 ", "1x", "0x10", "18446744073709551616", "99999999999999999999"};
    uint64_t value = 5;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_false(mp_text_to_u64(wrong[i], 0, UINT64_MAX, &value));
    assert_true(value == 5);
    assert_true(mp_text_to_u64("18446744073709551615", 0, UINT64_MAX, &value));
    assert_true(value == UINT64_MAX);
    assert_true(mp_text_to_u64("008", 8, 4096, &value));
    assert_true(value == 8);
    assert_false(mp_text_to_u64("7", 8, 4096, &value));
    assert_false(mp_text_to_u64("4097", 8, 4096, &value));
}

static void a_list_hands_out_every_item(void **state)
{
    static const char *const wanted[] = {"a", "", "bc d", "e"};
    const char *cursor = "a,, bc d ,e";
    const char *item;
    size_t bytes, i = 0;

    (void)state;
    while (mp_text_next_item(&cursor, &item, &bytes)) {
        assert_true(i < 4);
        assert_int_equal(bytes, strlen(wanted[i]));
        assert_memory_equal(item, wanted[i], bytes);
        i++;
    }
    assert_int_equal(i, 4);
}

static void prefixes_are_told_from_other_beginnings(void **state)
{
    (void)state;
    assert_true(mp_text_starts_with("cudaMalloc", "cuda"));
    assert_false(mp_text_starts_with("cud", "cuda"));
    assert_true(mp_text_equal("a", "a"));
    assert_false(mp_text_equal("a", "ab"));
}

struct capture {
    char text[4096];
    size_t bytes;
    unsigned lines;
};

static void keep_line(void *context, const char *line, size_t bytes)
{
    struct capture *capture = context;

    assert_true(bytes < sizeof(capture->text));
    memcpy(capture->text, line, bytes);
    capture->text[bytes] = '\0';
    capture->bytes = bytes;
    capture->lines++;
}

static void a_log_line_has_prefix_and_newline_and_obeys_the_level(void **state)
{
    struct capture capture = {.lines = 0};
    struct mp_log_ops ops = {.write = keep_line, .context = &capture};

    (void)state;
    mp_log_set_ops(&ops);
    mp_log_set_level(MP_LOG_WARN);
    mp_log_info("not said");
    assert_int_equal(capture.lines, 0);
    mp_log_warn("dropped %d records", 3);
    assert_string_equal(capture.text, "miniprof: dropped 3 records\n");
    mp_log_set_level(MP_LOG_ERROR);
    mp_log_closing("a.mpt");
    assert_string_equal(capture.text, "miniprof: a.mpt\n");
    mp_log_set_level(MP_LOG_NONE);
    mp_log_closing("not said");
    mp_log_error("not said");
    assert_int_equal(capture.lines, 2);
    mp_log_set_level(MP_LOG_WARN);
    mp_log_set_ops(NULL);
}

static void a_log_line_stays_one_line_of_bounded_length(void **state)
{
    struct capture capture = {.lines = 0};
    struct mp_log_ops ops = {.write = keep_line, .context = &capture};

    (void)state;
    mp_log_set_ops(&ops);
    mp_log_error("name '%s'", "a\nb\033[2J\x7f");
    assert_string_equal(capture.text, "miniprof: name 'a?b?[2J?'\n");
    mp_log_error("%0*d", 3000, 0);
    assert_true(capture.bytes <= MP_LOG_LINE_BYTES);
    assert_string_equal(capture.text + capture.bytes - 5, "0...\n");
    mp_log_set_ops(NULL);
}

static void arguments_of_unsaid_lines_are_not_evaluated(void **state)
{
    int evaluated = 0;

    (void)state;
    mp_log_set_level(MP_LOG_WARN);
    mp_log_debug("%d", ++evaluated);
    assert_int_equal(evaluated, 0);
}

static void without_ops_a_line_is_one_write_to_stderr_and_errno_stays(void **state)
{
    char text[256];
    int ends[2];
    int saved = dup(STDERR_FILENO);
    ssize_t got;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    errno = EEXIST;
    mp_log_error("%s", "once");
    assert_int_equal(errno, EEXIST);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    got = read(ends[0], text, sizeof(text));
    assert_int_equal(got, 15);
    assert_memory_equal(text, "miniprof: once\n", 15);
    close(saved);
    close(ends[0]);
    close(ends[1]);
}

static const char *expand(const char *pattern)
{
    static char text[512];
    struct mp_error error;

    if (mp_pattern_expand(pattern, text, sizeof(text), &error) != MP_OK)
        snprintf(text, sizeof(text), "error: %s", error.text);
    return text;
}

static void placeholders_are_filled_in(void **state)
{
    char wanted[512], host[256] = "";

    (void)state;
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    assert_int_equal(setenv("MP_TEST", "v/1", 1), 0);
    snprintf(wanted, sizeof(wanted), "a.%ld.%s.v/1.100%%.mpt", (long)getpid(), host);
    assert_string_equal(expand("a.%p.%h.%q{MP_TEST}.100%%.mpt"), wanted);
    assert_string_equal(expand("plain"), "plain");
}

static void the_rank_comes_from_the_most_specific_launcher(void **state)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                            "MV2_COMM_WORLD_RANK",  "PMIX_RANK",
                                            "SLURM_PROCID",         "RANK"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(variables) / sizeof(*variables); i++)
        unsetenv(variables[i]);
    assert_string_equal(expand("%r"), "0");
    setenv("RANK", "5", 1);
    assert_string_equal(expand("%r"), "5");
    setenv("SLURM_PROCID", "6", 1);
    assert_string_equal(expand("%r"), "6");
    setenv("OMPI_COMM_WORLD_RANK", "7", 1);
    assert_string_equal(expand("r%r.mpt"), "r7.mpt");
    setenv("OMPI_COMM_WORLD_RANK", "../x", 1);
    assert_string_equal(expand("%r"), "6");
}

static void malformed_patterns_say_what_is_wrong(void **state)
{
    (void)state;
    unsetenv("MP_UNSET");
    assert_string_equal(expand("a%z"),
                        "error: %z is not known; there are %p %h %r %q{NAME} and %%");
    assert_string_equal(expand("a%"), "error: a single % at the end; write %%");
    assert_string_equal(expand("%q"),
                        "error: %q needs the name of an environment variable: %q{NAME}");
    assert_string_equal(expand("%q{A"),
                        "error: %q needs the name of an environment variable: %q{NAME}");
    assert_string_equal(expand("%q{A B}"), "error: %q{A B} does not name an environment variable");
    assert_string_equal(expand("%q{MP_UNSET}"),
                        "error: cannot find environment variable \"MP_UNSET\" of %q{MP_UNSET}");
    assert_string_equal(expand(""), "error: the file name is empty");
    assert_int_equal(mp_pattern_check("%q{MP_UNSET}", NULL), MP_OK);
    assert_int_equal(mp_pattern_check("%x", NULL), MP_ERR_ARGUMENT);
    assert_true(mp_pattern_has_pid("a.%p.mpt") && mp_pattern_has_pid("%q{A}%%%p"));
    assert_false(mp_pattern_has_pid("") || mp_pattern_has_pid("%%p") ||
                 mp_pattern_has_pid("%q{p}.%h.%r"));
}

static void an_expansion_that_does_not_fit_leaves_nothing(void **state)
{
    struct mp_error error;
    char text[4] = "zzz";

    (void)state;
    assert_int_equal(mp_pattern_expand("abc", text, sizeof(text), &error), MP_OK);
    assert_int_equal(mp_pattern_expand("abcd", text, sizeof(text), &error), MP_ERR_LIMIT);
    assert_string_equal(text, "");
}

/* ---- io.h: numbers ---- */

static void a_number_stands_before_the_suffix(void **state)
{
    char path[16];

    (void)state;
    assert_true(mp_pattern_number("a.mpt", 2, path, sizeof(path)));
    assert_string_equal(path, "a.2.mpt");
    assert_true(mp_pattern_number("x/.mpt/a", 99, path, sizeof(path)));
    assert_string_equal(path, "x/.mpt/a.99");
    assert_true(mp_pattern_number(".mpt", 2, path, sizeof(path))); /* a name, not a suffix */
    assert_string_equal(path, ".mpt.2");
    assert_true(mp_pattern_number("123456789.mpt", 2, path, sizeof(path)));
    assert_string_equal(path, "123456789.2.mpt");
    assert_false(mp_pattern_number("1234567890.mpt", 2, path, sizeof(path)));
    assert_false(mp_pattern_number("12345678901234567890", 2, path, sizeof(path)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_carries_status_text_and_reason),
        cmocka_unit_test(a_long_error_is_cut_visibly),
        cmocka_unit_test(every_status_has_a_name),
        cmocka_unit_test(a_copy_is_cut_and_terminated),
        cmocka_unit_test(only_whole_numbers_in_range_are_numbers),
        cmocka_unit_test(a_list_hands_out_every_item),
        cmocka_unit_test(prefixes_are_told_from_other_beginnings),
        cmocka_unit_test(a_log_line_has_prefix_and_newline_and_obeys_the_level),
        cmocka_unit_test(a_log_line_stays_one_line_of_bounded_length),
        cmocka_unit_test(arguments_of_unsaid_lines_are_not_evaluated),
        cmocka_unit_test(without_ops_a_line_is_one_write_to_stderr_and_errno_stays),
        cmocka_unit_test(placeholders_are_filled_in),
        cmocka_unit_test(the_rank_comes_from_the_most_specific_launcher),
        cmocka_unit_test(malformed_patterns_say_what_is_wrong),
        cmocka_unit_test(an_expansion_that_does_not_fit_leaves_nothing),
        cmocka_unit_test(a_number_stands_before_the_suffix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
