/* metrics/metrics.h: values worked out by hand, and texts that are no expressions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/metrics/metrics.h"

/* Inputs in the order of their first appearance: the first is 1000, the others 100, 10, 7. */
static const double inputs[METRIC_MAX_INPUTS] = {1000, 100, 10, 7};

static double value_of(const char *text)
{
    struct metric_expression expression;
    struct mp_error error = {.text = ""};

    if (metric_expression_parse(text, &expression, &error) != MP_OK)
        fail_msg("'%s': %s", text, error.text);
    return metric_expression_value(&expression, inputs);
}

static void assert_value(const char *text, double expected)
{
    double value = value_of(text);

    if (fabs(value - expected) > 1e-9 * fabs(expected))
        fail_msg("'%s' is %.17g instead of %.17g", text, value, expected);
}

static void sums_products_and_quotients_have_their_values(void **state)
{
    (void)state;
    assert_value("a.sum", 1000);
    assert_value("  a.sum\t", 1000);
    assert_value("a.sum + b.sum", 1100);
    assert_value("a.sum - b.sum - c.sum", 890);
    assert_value("a.sum - (b.sum - c.sum)", 910);
    assert_value("2 * a.sum", 2000);
    assert_value("a.sum * 2", 2000);
    assert_value("a.sum + b.sum * 2", 1200);
    assert_value("2 * (a.sum + b.sum)", 2200);
    assert_value("0.01 * a.sum", 10);
    assert_value("a.sum / 4", 250);
    assert_value("2 * 3 / 4 * a.sum", 1500);
    assert_value("a.sum / b.sum", 10);
    assert_value("(a.sum + b.sum) / (c.sum + d.sum)", 1100.0 / 17);
    assert_value("(a.sum / b.sum) * 100", 1000);
    assert_value("100 * a.sum / b.sum", 1000);
    assert_value("100*(a.sum+b.sum)/(c.sum+d.sum)", 110000.0 / 17);
    assert_value("a.sum + a.sum + b.sum - a.sum", 1100);
    assert_value("a.sum / a.sum", 1);
    assert_value("TPC.TriageCompute.sm__x.avg.pct_of_peak_sustained_elapsed", 1000);
}

static void a_name_is_asked_for_once(void **state)
{
    struct metric_expression expression;
    const char *names[METRIC_MAX_INPUTS];

    (void)state;
    assert_int_equal(
        metric_expression_parse("(x.sum + y.sum) / (x.sum + xy.sum)", &expression, NULL), MP_OK);
    assert_int_equal(metric_expression_inputs(&expression, NULL), 3);
    assert_int_equal(metric_expression_inputs(&expression, names), 3);
    assert_string_equal(names[0], "x.sum");
    assert_string_equal(names[1], "y.sum");
    assert_string_equal(names[2], "xy.sum");
}

static void what_has_no_value_is_not_a_number(void **state)
{
    struct metric_expression expression;
    const double zero[METRIC_MAX_INPUTS] = {5, 0};
    const double lost[METRIC_MAX_INPUTS] = {(double)NAN, 1};
    const double endless[METRIC_MAX_INPUTS] = {(double)INFINITY, 1};

    (void)state;
    assert_int_equal(metric_expression_parse("a / b", &expression, NULL), MP_OK);
    assert_true(isnan(metric_expression_value(&expression, zero)));
    assert_true(isnan(metric_expression_value(&expression, lost)));
    assert_true(isnan(metric_expression_value(&expression, endless)));
    assert_true(metric_expression_value(&expression, inputs) > 9.9);
}

static void assert_refused(const char *text, const char *line)
{
    struct metric_expression expression;
    struct mp_error error = {.text = ""};

    if (metric_expression_parse(text, &expression, &error) == MP_OK)
        fail_msg("'%s' was taken", text);
    assert_null(strchr(error.text, '\n'));
    if (line)
        assert_string_equal(error.text, line);
}

static void what_is_no_expression_is_refused_with_one_line(void **state)
{
    static const char *const wrong[] = {
        "",
        "  ",
        "+",
        "a +",
        "a b",
        "(a",
        "a)",
        "a * b",
        "a / b / c",
        "a/b + c",
        "c + a/b",
        "1",
        "2 + a",
        "a + 2",
        "a / 0",
        "1..2 * a",
        "1.2.3 * a",
        "1e5 * a",
        "12ab",
        "a ** b",
        "-a",
        "a,b",
        "2 / a",
        "a; b",
        "_a",
        "999999999999999999 * a",
        "((((((((((a))))))))))",
        "\xff\xfe",
        "a / (b / c)",
        "1 / 0 * a",
        "a $",
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(wrong[i], NULL);
    assert_refused("a.sum +", "a metric's name or a number is missing at character 8 of the "
                              "expression 'a.sum +'");
    assert_refused("a.sum b.sum",
                   "an operator is missing at character 7 of the expression 'a.sum b.sum'");
}

static void limits_hold(void **state)
{
    char text[4096];
    size_t used = 0;
    struct metric_expression expression;
    struct mp_error error;

    (void)state;
    for (int i = 0; i < METRIC_MAX_INPUTS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%sname%d", i ? " + " : "", i);
    assert_int_equal(metric_expression_parse(text, &expression, &error), MP_OK);
    assert_int_equal(metric_expression_inputs(&expression, NULL), METRIC_MAX_INPUTS);
    snprintf(text + used, sizeof text - used, " + another");
    assert_int_equal(metric_expression_parse(text, &expression, &error), MP_ERR_LIMIT);

    memset(text, 'a', METRIC_NAME_BYTES);
    text[METRIC_NAME_BYTES - 1] = '\0';
    assert_int_equal(metric_expression_parse(text, &expression, &error), MP_OK);
    assert_string_equal(expression.names[0], text);
    text[METRIC_NAME_BYTES - 1] = 'a';
    text[METRIC_NAME_BYTES] = '\0';
    assert_int_equal(metric_expression_parse(text, &expression, &error), MP_ERR_LIMIT);
}

/* Anything may stand in a trace or the environment; what is refused has a reason, and what is
 * taken has a value. */
static void random_texts_do_no_harm(void **state)
{
    static const char letters[] = "ab._0129 ()*/+-,";
    uint64_t seed = 1;

    (void)state;
    for (int round = 0; round < 200000; round++) {
        struct metric_expression expression;
        struct mp_error error = {.text = ""};
        char text[24];
        size_t length;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        length = (seed >> 33) % sizeof text;
        for (size_t i = 0; i < length; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            text[i] = letters[(seed >> 33) % (sizeof letters - 1)];
        }
        text[length] = '\0';
        if (metric_expression_parse(text, &expression, &error) == MP_OK)
            metric_expression_value(&expression, inputs);
        else
            assert_true(error.text[0] && !strchr(error.text, '\n'));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_products_and_quotients_have_their_values),
        cmocka_unit_test(a_name_is_asked_for_once),
        cmocka_unit_test(what_has_no_value_is_not_a_number),
        cmocka_unit_test(what_is_no_expression_is_refused_with_one_line),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(random_texts_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
