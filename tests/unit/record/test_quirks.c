/* record/quirks: the table of CUPTI's faults, and which version has which. */
#include "record/cupti/cupti_api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void spans_include_the_first_and_exclude_the_fixed_version(void **state)
{
    (void)state;
    assert_true(quirk_is_in(QUIRK_no_null_buffer, 18));
    assert_true(quirk_is_in(QUIRK_no_null_buffer, 26));
    assert_false(quirk_is_in(QUIRK_no_null_buffer, 27));
    assert_false(quirk_is_in(QUIRK_no_null_buffer, 130000));
    assert_true(quirk_is_in(QUIRK_disable_deadlock, 28));
    assert_true(quirk_is_in(QUIRK_disable_deadlock, 130000));
    assert_false(quirk_is_in(QUIRK_disable_deadlock, 130001));
    assert_false(quirk_is_in(QUIRK_late_graph_trace, 28));
    assert_true(quirk_is_in(QUIRK_late_graph_trace, 130000));
    assert_true(quirk_is_in(QUIRK_late_graph_trace, 140000));
    assert_true(quirk_is_in(QUIRK_clock_again, 18));
    assert_true(quirk_is_in(QUIRK_clock_again, 140000));
}

/* Each row is one of a table in a document, whose columns end with a bar. */
static void rows_are_whole(void **state)
{
    static const struct {
        uint32_t first;
        uint32_t fixed;
        const char *texts[3];
    } rows[] = {
#define QUIRK(name, first, fixed, answer, what, done, source) {first, fixed, {what, done, source}},
#include "record/cupti/quirks.def"
#undef QUIRK
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(!rows[i].fixed || rows[i].first < rows[i].fixed);
        for (size_t t = 0; t < 3; t++) {
            assert_int_not_equal(strlen(rows[i].texts[t]), 0);
            assert_null(strpbrk(rows[i].texts[t], "|\n"));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_include_the_first_and_exclude_the_fixed_version),
        cmocka_unit_test(rows_are_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
