/* Text printed into memory, also when memory is out: malloc and its kin are wrapped
 * (tests/tests.mk).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "unit/failing_malloc.h"

#define LINES 2000

static void what_is_printed_is_there(void **state)
{
    char *text;
    size_t bytes;
    FILE *out = memory_file_open(&text, &bytes);

    (void)state;
    fputs("first ", out);
    assert_int_equal(ftell(out), 6);
    fputs("second", out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "first second");
    assert_int_equal(bytes, 12);
    free(text);
}

static void nothing_is_an_empty_text(void **state)
{
    char *text;
    size_t bytes;

    (void)state;
    assert_int_equal(fclose(memory_file_open(&text, &bytes)), 0);
    assert_string_equal(text, "");
    assert_int_equal(bytes, 0);
    free(text);
}

static void rewind_begins_anew(void **state)
{
    char *text;
    size_t bytes;
    FILE *out = memory_file_open(&text, &bytes);

    (void)state;
    fputs("a long one", out);
    rewind(out);
    fputs("short", out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "short");
    free(text);
}

/* All lines, or an error; with the unlocked functions too, as JSON is printed. */
static void no_line_is_lost_without_an_error(void **state)
{
    bool failed = true;

    (void)state;
    for (unsigned failing = 1; failed; failing++) {
        char *text = NULL;
        size_t bytes = 0;
        bool good;
        FILE *out;

        countdown = failing;
        out = memory_file_open(&text, &bytes);
        for (int i = 0; out && i < LINES; i++)
            fwrite_unlocked("0123456789\n", 1, 11, out);
        good = out && fclose(out) == 0;
        failed = countdown == 0;
        countdown = 0;
        assert_int_equal(good, text != NULL);
        assert_int_equal(good, !failed);
        assert_int_equal(bytes, good ? LINES * 11 : 0);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_printed_is_there),
        cmocka_unit_test(nothing_is_an_empty_text),
        cmocka_unit_test(rewind_begins_anew),
        cmocka_unit_test(no_line_is_lost_without_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
