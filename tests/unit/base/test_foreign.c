/* foreign.h: which characters act, and what people, CSV and JSON get in their place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/status.h"
#include "base/text/foreign.h"
#include "base/text/json.h"
#include "unit/failing_malloc.h"

enum writer { PEOPLE, CSV, JSON };

static char *written;

/* Belongs to this function until its next call. */
static const char *put(enum writer writer, const char *text, size_t bytes)
{
    size_t size;
    FILE *out;
    struct json_writer json;

    free(written);
    out = open_memstream(&written, &size);
    if (writer == PEOPLE) {
        foreign_put(out, text, bytes);
    } else if (writer == CSV) {
        foreign_put_csv(out, text, bytes);
    } else {
        json_begin(&json, out, 0);
        json_bytes(&json, text, bytes);
    }
    fclose(out);
    return written;
}

static const char *people(const char *text)
{
    return put(PEOPLE, text, strlen(text));
}

static const char *csv(const char *text)
{
    return put(CSV, text, strlen(text));
}

/* ---- What acts ---- */

/* Of each kind the first and the last one, and what stands beside them. */
static void controls_directions_and_what_has_no_form_act(void **state)
{
    static const uint32_t acting[] = {0x00,   0x07,    0x09,    0x0a,    0x0d,    0x1b,   0x1f,
                                      0x7f,   0x80,    0x9b,    0x9f,    0x00ad,  0x061c, 0x200b,
                                      0x200d, 0x200e,  0x200f,  0x2028,  0x2029,  0x202a, 0x202e,
                                      0x2060, 0x2064,  0x2066,  0x2069,  0x206f,  0xfeff, 0xfff9,
                                      0xfffb, 0x1d173, 0xe0001, 0xe0041, 0xe007f, 0xe01ef};
    static const uint32_t harmless[] = {' ',    '~',    0xa0,   0xac,   0xae,   0xe9,    0x0301,
                                        0x05d0, 0x0627, 0x200a, 0x2010, 0x2027, 0x202f,  0x205f,
                                        0x2070, 0x4e2d, 0xfe0f, 0xfffc, 0xfffd, 0x1f600, 0x10ffff};

    (void)state;
    for (size_t i = 0; i < sizeof acting / sizeof *acting; i++)
        assert_true(foreign_acts(acting[i]));
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        assert_false(foreign_acts(harmless[i]));
}

/* ---- For people ---- */

static const struct {
    const char *text, *shown;
} texts[] = {
    {"", ""},
    {"void gemm<float>(int)", "void gemm<float>(int)"},
    {"na\xc3\xafve \xe4\xb8\xad", "na\xc3\xafve \xe4\xb8\xad"},
    {"\033[2J\a", "?[2J?"},
    {"a\nb\tc\rd\177", "a?b?c?d?"},
    {"\xc2\x9b"
     "2J",
     "?2J"}, /* CSI of one character */
    {"ker\xe2\x80\xaelenrek", "ker?lenrek"},
    {"\xe2\x81\xa6x\xe2\x81\xa9", "?x?"},
    {"\xd8\x9cx\xe2\x80\x8by\xe2\x80\xa8z", "?x?y?z"},
    {"a\xf3\xa0\x81\x81"
     "b",
     "a?b"}, /* a tag */
    {"\xff\xc3", "??"},
    {"cut \xe2\x80", "cut ??"},
};

static void people_get_a_question_mark_for_each(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char copy[64];
        size_t bytes = strlen(texts[i].text);

        assert_string_equal(people(texts[i].text), texts[i].shown);
        memcpy(copy, texts[i].text, bytes);
        bytes = foreign_hide(copy, bytes);
        assert_int_equal(bytes, strlen(texts[i].shown));
        assert_memory_equal(copy, texts[i].shown, bytes);
        assert_int_equal(foreign_is_harmless(texts[i].text),
                         !strcmp(texts[i].text, texts[i].shown));
    }
    assert_string_equal(put(PEOPLE, "a\0b", 3), "a?b");
}

/* ---- CSV ---- */

static void a_cell_is_no_formula(void **state)
{
    (void)state;
    assert_string_equal(csv("=1+1"), "\"'=1+1\"");
    assert_string_equal(csv("+1"), "\"'+1\"");
    assert_string_equal(csv("-1"), "\"'-1\"");
    assert_string_equal(csv("@SUM(1)"), "\"'@SUM(1)\"");
    assert_string_equal(csv("\t=1"), "\"?=1\"");
    assert_string_equal(csv("\r=1"), "\"?=1\"");
}

/* The first character alone counts. */
static void other_cells_stay(void **state)
{
    (void)state;
    assert_string_equal(csv(""), "\"\"");
    assert_string_equal(csv("operator+"), "\"operator+\"");
    assert_string_equal(csv("a=b"), "\"a=b\"");
    assert_string_equal(csv("'quoted'"), "\"'quoted'\"");
    assert_string_equal(csv("\"q\", \"r\""), "\"\"\"q\"\", \"\"r\"\"\"");
    assert_string_equal(csv("a\033b\"\xe2\x80\xae"), "\"a?b\"\"?\"");
    assert_string_equal(put(CSV, "\0=", 2), "\"?=\"");
}

/* So that who takes one away before such a character has the text again. */
static void an_apostrophe_before_a_formula_becomes_two(void **state)
{
    (void)state;
    assert_string_equal(csv("'=1"), "\"''=1\"");
    assert_string_equal(csv("''@"), "\"'''@\"");
}

static void no_text_is_an_empty_cell(void **state)
{
    size_t size;
    FILE *out;

    (void)state;
    free(written);
    out = open_memstream(&written, &size);
    foreign_put_csv_text(out, NULL);
    fclose(out);
    assert_string_equal(written, "\"\"");
}

/* ---- JSON ---- */

static void json_is_exact_and_harmless(void **state)
{
    static const char text[] = "=a\033\177\xc2\x9b\xe2\x80\xae\xe2\x80\xa8\xf3\xa0\x81\x81\xc3\xa9";
    char read[64];
    struct json_reader reader;
    const char *json;

    (void)state;
    json = put(JSON, text, sizeof text - 1);
    assert_string_equal(json, "\"=a\\u001b\\u007f\\u009b\\u202e\\u2028\\udb40\\udc41\xc3\xa9\"");
    json_read_begin(&reader, json, strlen(json));
    assert_true(json_read_text(&reader, read, sizeof read));
    assert_string_equal(read, text);
}

/* ---- Messages ---- */

static void errors_quote_names_that_cannot_act(void **state)
{
    struct mp_error error;

    (void)state;
    mp_error_set(&error, MP_ERR_IO, "cannot open '%s'", "\033]0;x\a\xe2\x80\xae.mpt");
    assert_string_equal(error.text, "cannot open '?]0;x??.mpt'");
}

static void keep_line(void *context, const char *line, size_t bytes)
{
    snprintf(context, 64, "%.*s", (int)bytes, line);
}

static void log_lines_quote_names_that_cannot_act(void **state)
{
    char line[64];
    const struct mp_log_ops ops = {.write = keep_line, .context = line};

    (void)state;
    mp_log_set_ops(&ops);
    mp_log(MP_LOG_ERROR, "no '%s'", "\xc2\x9b\xe2\x80\xaex\n");
    mp_log_set_ops(NULL);
    assert_string_equal(line, "miniprof: no '??x?'\n");
}

__attribute__((format(printf, 2, 3))) static void print_line(FILE *out, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    foreign_print(out, format, arguments);
    va_end(arguments);
}

static void print_without_memory(int bytes)
{
    char room[256];
    FILE *out = fmemopen(room, sizeof room, "w");

    assert_true((size_t)bytes < sizeof room);
    countdown = 1;
    print_line(out, "%*d", bytes, 7);
    countdown = 0;
    fclose(out);
    assert_int_equal(strlen(room), bytes);
    assert_string_equal(room + bytes - 2, " 7");
}

static void a_line_needs_no_memory(void **state)
{
    (void)state;
    print_without_memory(60);
    print_without_memory(200);
}

static int forget(void **state)
{
    (void)state;
    free(written);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(controls_directions_and_what_has_no_form_act),
        cmocka_unit_test(people_get_a_question_mark_for_each),
        cmocka_unit_test(a_cell_is_no_formula),
        cmocka_unit_test(other_cells_stay),
        cmocka_unit_test(an_apostrophe_before_a_formula_becomes_two),
        cmocka_unit_test(no_text_is_an_empty_cell),
        cmocka_unit_test(json_is_exact_and_harmless),
        cmocka_unit_test(a_line_needs_no_memory),
        cmocka_unit_test(errors_quote_names_that_cannot_act),
        cmocka_unit_test(log_lines_quote_names_that_cannot_act),
    };

    return cmocka_run_group_tests(tests, NULL, forget);
}
