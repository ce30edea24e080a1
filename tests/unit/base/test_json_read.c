/* The JSON reader: what is JSON and what is not, and the texts in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/text/json.h"
#include "unit/trace_fixture.h"

/* Skips it as a whole. The text is copied without its NUL, so that a sanitizer sees what reads
 * behind it. */
static bool is_json_of(const char *text, size_t bytes)
{
    char *copy = malloc(bytes + !bytes);
    struct json_reader reader;
    bool fine;

    assert_non_null(copy);
    memcpy(copy, text, bytes);
    json_read_begin(&reader, copy, bytes);
    json_read_skip(&reader);
    fine = json_read_end(&reader);
    free(copy);
    return fine;
}

static bool is_json(const char *text)
{
    return is_json_of(text, strlen(text));
}

static void json_is_told_from_what_is_none(void **state)
{
    static const char *const good[] = {
        "{}",
        "[]",
        " [ ] ",
        "1",
        "-0",
        "0.5",
        "1e9",
        "-12.5E-3",
        "true",
        "false",
        "null",
        "\"\"",
        "\"a\\u00e9\\n\"",
        "{\"a\":1}",
        "{ \"a\" : [ 1 , {\"b\":null} ] , \"c\" : \"\" }",
        "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]",
        "\"\\ud83d\\ude00\"",
        "\"\xff\"",
    };
    static const char *const bad[] = {
        "",          " ",           "{",
        "}",         "[",           "]",
        "[1",        "[1,",         "[1,]",
        "[,1]",      "{\"a\"}",     "{\"a\":}",
        "{a:1}",     "{\"a\":1,}",  "{\"a\":1 \"b\":2}",
        "[1 2]",     "01",          "+1",
        "1.",        ".5",          "1e",
        "-",         "tru",         "nul",
        "True",      "\"",          "\"\\x\"",
        "\"\\u12\"", "\"\\u12g4\"", "\"\n\"",
        "\"a",       "1 2",         "{}{}",
        "[}",        "{]",          "[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]",
        "'a'",       "NaN",         "[1]x",
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (!is_json(good[i]))
            print_message("refused: %s\n", good[i]);
        assert_true(is_json(good[i]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (is_json(bad[i]))
            print_message("taken: %s\n", bad[i]);
        assert_false(is_json(bad[i]));
    }
    assert_false(is_json_of("[1\0]", 4));
}

static const char *text_of(const char *json, size_t size)
{
    static char text[64];
    struct json_reader reader;

    memset(text, '#', sizeof text);
    json_read_begin(&reader, json, strlen(json));
    assert_true(json_read_text(&reader, text, size));
    assert_true(json_read_end(&reader));
    return text;
}

static void texts_have_no_quotes_and_escapes(void **state)
{
    (void)state;
    assert_string_equal(text_of("\"a\\\"\\\\\\/\\b\\f\\n\\r\\tb\"", 64), "a\"\\/\b\f\n\r\tb");
    assert_string_equal(text_of("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"", 64),
                        "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_string_equal(text_of("\"\\u0000|\\ud83d|\\ude00|\\ud83d\\u0041\"", 64),
                        "\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd"
                        "A");
    assert_string_equal(text_of(" -1.5e3 ", 64), "-1.5e3");
    assert_string_equal(text_of("true", 64), "true");
}

static void texts_are_cut_between_characters(void **state)
{
    (void)state;
    assert_string_equal(text_of("\"abcdef\"", 4), "abc");
    assert_string_equal(text_of("\"ab\xc3\xa9zz\"", 4), "ab");
    assert_string_equal(text_of("\"ab\xc3\xa9zz\"", 5), "ab\xc3\xa9");
    assert_string_equal(text_of("\"ab\xe2\x82\xac\"", 5), "ab");
    assert_string_equal(text_of("\"a\\u20acb\"", 3), "a");
    assert_string_equal(text_of("123456", 4), "");
    assert_string_equal(text_of("\"abc\"", 1), "");
}

static void members_and_elements_come_in_order(void **state)
{
    static const char json[] = "{\"a\": [1, [2, 3], {\"x\": 4}], \"b\": {\"c\": \"d\"}, \"e\": 5}";
    struct json_reader reader;
    char key[8], text[8];

    (void)state;
    json_read_begin(&reader, json, sizeof json - 1);
    assert_int_equal(json_read_next(&reader), JSON_READ_OBJECT);
    assert_true(json_read_open(&reader));
    assert_true(json_read_member(&reader, key, sizeof key));
    assert_string_equal(key, "a");
    assert_true(json_read_open(&reader));
    assert_true(json_read_element(&reader));
    assert_int_equal(json_read_next(&reader), JSON_READ_NUMBER);
    assert_true(json_read_text(&reader, text, sizeof text));
    assert_string_equal(text, "1");
    assert_true(json_read_element(&reader));
    json_read_skip(&reader);
    assert_true(json_read_element(&reader));
    json_read_skip(&reader);
    assert_false(json_read_element(&reader));
    assert_true(json_read_member(&reader, key, sizeof key));
    assert_string_equal(key, "b");
    json_read_skip(&reader);
    assert_true(json_read_member(&reader, key, sizeof key));
    assert_true(json_read_text(&reader, text, sizeof text));
    assert_string_equal(text, "5");
    assert_false(json_read_member(&reader, key, sizeof key));
    assert_true(json_read_end(&reader));
}

static void after_a_mistake_nothing_comes(void **state)
{
    struct json_reader reader;
    char text[8];

    (void)state;
    json_read_begin(&reader, "[1, x]", 6);
    assert_false(json_read_member(&reader, text, sizeof text)); /* of no object */
    assert_int_equal(json_read_next(&reader), JSON_READ_NOTHING);
    assert_false(json_read_open(&reader));
    assert_false(json_read_element(&reader));
    assert_false(json_read_text(&reader, text, sizeof text));
    json_read_skip(&reader);
    assert_false(json_read_end(&reader));
}

/* Cut and changed everywhere, it ends, and reads nothing beyond (SAN=address). */
static void any_bytes_are_survived(void **state)
{
    static const char json[] =
        "{\"Name\":\"a\\u00e9\\ud83d\\ude00\",\"N\":[{\"D\":[1,-2.5e3]},null]}";
    uint64_t random = 7;
    char bytes[sizeof json];

    (void)state;
    assert_true(is_json(json));
    for (size_t cut = 0; cut + 1 < sizeof json; cut++)
        assert_false(is_json_of(json, cut));
    for (int i = 0; i < 100000; i++) {
        memcpy(bytes, json, sizeof json);
        for (int j = 0; j < 3; j++)
            bytes[fixture_random(&random) % (sizeof json - 1)] =
                "{}[]\",:\\u0d8 1.eE-+tn\0\xff"[fixture_random(&random) % 24];
        (void)is_json_of(bytes, sizeof json - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_told_from_what_is_none),
        cmocka_unit_test(texts_have_no_quotes_and_escapes),
        cmocka_unit_test(texts_are_cut_between_characters),
        cmocka_unit_test(members_and_elements_come_in_order),
        cmocka_unit_test(after_a_mistake_nothing_comes),
        cmocka_unit_test(any_bytes_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
