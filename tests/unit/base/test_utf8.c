/* strings.h: what is a character, and what comes in the place of bytes that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/strings.h"

static void utf8_characters_are_told_from_bytes(void **state)
{
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {
        {"a", 1},
        {"\xc3\xa9", 2},
        {"\xe2\x82\xac", 3},
        {"\xf0\x9f\x98\x80", 4},
        {"\xc0\xaf", 0},         /* overlong */
        {"\xe0\x80\xaf", 0},     /* overlong */
        {"\xed\xa0\x80", 0},     /* surrogate */
        {"\xf4\x90\x80\x80", 0}, /* over U+10FFFF */
        {"\xf8\x88\x80\x80", 0},
        {"\x80", 0},
        {"\xe2\x82", 0}, /* cut */
        {"\xff", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(utf8_length(cases[i].text, strlen(cases[i].text)), cases[i].length);
    assert_int_equal(utf8_count("na\xc3\xafve\xff", 7), 6);
    assert_int_equal(utf8_bytes("na\xc3\xafve\xff", 7, 2), 2);
    assert_int_equal(utf8_bytes("na\xc3\xafve\xff", 7, 3), 4);
    assert_int_equal(utf8_bytes("na\xc3\xafve\xff", 7, 6), 7);
    assert_int_equal(utf8_bytes("na\xc3\xafve\xff", 7, 60), 7);
    assert_int_equal(utf8_bytes("", 0, 1), 0);
}

#define BAD "\xef\xbf\xbd"

static void each_byte_of_no_character_is_replaced(void **state)
{
    static const struct {
        const char *text, *valid;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"more than eight bytes", "more than eight bytes"},
        {"na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80",
         "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xff", BAD},
        {"\xff\xff", BAD BAD},
        {"eightyes\xffrest of it", "eightyes" BAD "rest of it"},
        {"seven b\xff", "seven b" BAD},
        {"half \xed\xa0\x80", "half " BAD BAD BAD},
        {"cut \xe2\x82", "cut " BAD BAD},
        {"cut \xe2\x82!", "cut " BAD BAD "!"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mp_buffer valid = {.data = NULL};
        size_t bytes = strlen(cases[i].text);

        assert_int_equal(utf8_is_valid(cases[i].text, bytes),
                         strcmp(cases[i].text, cases[i].valid) == 0);
        assert_int_equal(utf8_append_valid(&valid, cases[i].text, bytes), MP_OK);
        assert_int_equal(valid.size, strlen(cases[i].valid));
        if (valid.size)
            assert_memory_equal(valid.data, cases[i].valid, valid.size);
        mp_buffer_free(&valid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_characters_are_told_from_bytes),
        cmocka_unit_test(each_byte_of_no_character_is_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
