/* Scenes for the tests of advise: loops whose gains are known, because nothing else runs beside
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/reports/advise_fixture.h"

struct advice advice;
static struct iterations_study study;

/* ---- Running it ---- */

/* Estimates before bounds, then by gain times confidence. */
static bool stands_before(const struct advise_finding *a, const struct advise_finding *b)
{
    if (a->certainty != b->certainty)
        return a->certainty == ADVISE_ESTIMATE;
    return (double)a->gain * a->confidence >= (double)b->gain * b->confidence;
}

void advise_by(enum iterations_way way, const char *name)
{
    const struct iterations_options options = {.way = way, .name = name};
    struct mp_error error = {.text = ""};

    scene_load();
    assert_int_equal(iterations_study(&scene.deps, scene.trace, &options, &study, &error), MP_OK);
    assert_int_equal(advise_build(&(struct advise_input){&scene.deps, &study}, &advice, &error),
                     MP_OK);
    for (size_t i = 0; i < advice.count; i++) {
        assert_true(i == 0 || stands_before(&advice.findings[i - 1], &advice.findings[i]));
        assert_true(advice.findings[i].confidence > 0 && advice.findings[i].confidence <= 1);
        assert_true(advice.findings[i].percent >= 1 && *advice.findings[i].evidence);
        assert_non_null(advice.findings[i].assumes);
    }
}

void advise_loop(void)
{
    advise_by(ITERATIONS_NVTX, "it");
}

void advised(void)
{
    advise_free(&advice);
    iterations_study_free(&study);
    scene_end(UNSOUND);
}

const struct advise_finding *finding(enum advise_rule_id rule)
{
    for (size_t i = 0; i < advice.count; i++) {
        if (advice.findings[i].rule == rule)
            return &advice.findings[i];
    }
    return NULL;
}

void expect_gain(enum advise_rule_id rule, uint64_t ns)
{
    const struct advise_finding *one = finding(rule);

    assert_int_equal(advice.reasons[rule], ADVISE_TRIED);
    if (one)
        assert_int_equal(one->gain, ns);
    else
        fail_msg("no finding of %s", advise_rule_key(rule));
}

void expect_none(enum advise_rule_id rule)
{
    assert_int_equal(advice.reasons[rule], ADVISE_TRIED);
    if (finding(rule))
        fail_msg("%s: %s", advise_rule_key(rule), finding(rule)->evidence);
}

/* A number of the finding's evidence, rounded down. */
void expect_number(enum advise_rule_id rule, const char *key, uint64_t value)
{
    const struct advise_finding *one = finding(rule);

    for (size_t i = 0; one && i < one->number_count; i++) {
        if (!strcmp(one->numbers[i].key, key)) {
            assert_int_equal((uint64_t)one->numbers[i].value, value);
            return;
        }
    }
    fail_msg("%s has no number %s", advise_rule_key(rule), key);
}

/* Loops an iteration of that length; `put` gets its begin and a fresh correlation id. */
void put_loop(unsigned count, uint64_t period, uint64_t length, uint64_t more,
              void (*put)(uint64_t t, uint64_t id, uint64_t more))
{
    scene_begin();
    for (uint64_t i = 0; i < count; i++) {
        uint64_t t = BEGIN + i * (period + more);

        put_nvtx_range("it", t, t + length + more);
        put(t, 100 * (i + 1), more);
    }
}

/* Puts a loop with `more` for which the gain is a percent, and with one more us on top. */
void expect_limit(enum advise_rule_id rule, uint64_t period, uint64_t length, uint64_t more,
                  void (*put)(uint64_t t, uint64_t id, uint64_t more))
{
    put_loop(LOOPS, period, length, more, put);
    advise_loop();
    assert_non_null(finding(rule));
    advised();
    put_loop(LOOPS, period, length, more + 1, put);
    advise_loop();
    expect_none(rule);
    advised();
}
