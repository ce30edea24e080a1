/* The option mechanism of the command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cli/command.h"
#include "cli/options.h"

struct values {
    bool flag;
    bool on;
    int format;
    uint64_t number;
    const char *text;
    struct option_texts texts;
};

#define FIELD(name) offsetof(struct values, name)
static const struct option_spec specs[] = {
    {.name = "flag", .letter = 'f', .kind = OPTION_FLAG, .offset = FIELD(flag), .help = "a flag"},
    {.name = "csv", .kind = OPTION_VALUE, .value = 7, .offset = FIELD(format), .help = "a value"},
    {.name = "number",
     .letter = 'n',
     .argument = "N",
     .kind = OPTION_NUMBER,
     .offset = FIELD(number),
     .help = "a number"},
    {.name = "switch",
     .argument = "on|off",
     .kind = OPTION_SWITCH,
     .offset = FIELD(on),
     .help = "a switch"},
    {.name = "text", .argument = "T", .kind = OPTION_TEXT, .offset = FIELD(text), .help = "a text"},
    {.name = "texts",
     .argument = "T",
     .kind = OPTION_TEXTS,
     .offset = FIELD(texts),
     .help = "any number of texts"},
};
#undef FIELD

static const struct option_set set = {.command = "test",
                                      .synopsis = "[options]",
                                      .purpose = "Tests.",
                                      .specs = specs,
                                      .count = sizeof specs / sizeof *specs};

static const struct option_set program_set = {.command = "test",
                                              .specs = specs,
                                              .count = sizeof specs / sizeof *specs,
                                              .program_follows = true};

#define PARSE_AS(set, values, first, ...)                                                          \
    parse(set, (const char *const[]){"test", __VA_ARGS__, NULL}, values, first)
#define PARSE(values, first, ...) PARSE_AS(&set, values, first, __VA_ARGS__)

/* getopt_long moves arguments around, so they are copied. */
static enum options_result parse(const struct option_set *table, const char *const *words,
                                 struct values *values, int *first)
{
    char *argv[OPTION_TEXTS_MAX + 8];
    int argc = 0;

    for (; words[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc];
    argv[argc] = NULL;
    *values = (struct values){.number = 42};
    return options_parse(table, argc, argv, values, first);
}

static void every_kind_reaches_its_field(void **state)
{
    struct values values;
    int first;

    (void)state;
    assert_int_equal(PARSE(&values, &first, "--flag", "--csv", "--number=18446744073709551615",
                           "--switch", "on", "--text", "x", "rest"),
                     OPTIONS_OK);
    assert_true(values.flag && values.on);
    assert_int_equal(values.format, 7);
    assert_int_equal(values.number, UINT64_MAX);
    assert_string_equal(values.text, "x");
    assert_int_equal(first, 8);
}

static void an_option_can_be_given_several_times(void **state)
{
    struct values values;
    int first;

    (void)state;
    assert_int_equal(PARSE(&values, &first, "--texts=a", "--flag", "--texts", "b=c", "rest"),
                     OPTIONS_OK);
    assert_int_equal(values.texts.count, 2);
    assert_string_equal(values.texts.items[0], "a");
    assert_string_equal(values.texts.items[1], "b=c");
    assert_int_equal(PARSE(&values, &first, "rest"), OPTIONS_OK);
    assert_int_equal(values.texts.count, 0);
}

static void there_is_a_limit_to_that(void **state)
{
    const char *words[OPTION_TEXTS_MAX + 3] = {"test"};
    struct values values;
    int first;

    (void)state;
    for (size_t i = 1; i <= OPTION_TEXTS_MAX; i++)
        words[i] = "--texts=x";
    assert_int_equal(parse(&set, words, &values, &first), OPTIONS_OK);
    assert_int_equal(values.texts.count, OPTION_TEXTS_MAX);
    words[OPTION_TEXTS_MAX + 1] = "--texts=x";
    assert_int_equal(parse(&set, words, &values, &first), OPTIONS_WRONG);
}

static void letters_and_arguments_mix(void **state)
{
    struct values values;
    int first;

    (void)state;
    assert_int_equal(PARSE(&values, &first, "rest", "-fn3"), OPTIONS_OK);
    assert_true(values.flag);
    assert_int_equal(values.number, 3);
    assert_int_equal(first, 2); /* "rest" is moved behind the options */
}

static void defaults_stay(void **state)
{
    struct values values;
    int first;

    (void)state;
    assert_int_equal(PARSE(&values, &first, "rest"), OPTIONS_OK);
    assert_int_equal(values.number, 42);
    assert_false(values.flag || values.on || values.text);
    assert_int_equal(first, 1);
}

static void options_of_a_program_are_its_own(void **state)
{
    struct values values;
    int first;

    (void)state;
    assert_int_equal(PARSE_AS(&program_set, &values, &first, "-f", "program", "--csv", "--unknown"),
                     OPTIONS_OK);
    assert_int_equal(first, 2);
    assert_int_equal(values.format, 0);
    assert_int_equal(PARSE_AS(&program_set, &values, &first, "--", "--csv"), OPTIONS_OK);
    assert_int_equal(first, 2);
}

static void wrong_options_are_refused(void **state)
{
    struct values values;
    int first;

    (void)state;
    assert_int_equal(PARSE(&values, &first, "--unknown"), OPTIONS_WRONG);
    assert_int_equal(PARSE(&values, &first, "-x"), OPTIONS_WRONG);
    assert_int_equal(PARSE(&values, &first, "--number"), OPTIONS_WRONG);
    assert_int_equal(PARSE(&values, &first, "-n"), OPTIONS_WRONG);
    assert_int_equal(PARSE(&values, &first, "--number=0"), OPTIONS_WRONG);
    assert_int_equal(PARSE(&values, &first, "--number=-1"), OPTIONS_WRONG);
    assert_int_equal(PARSE(&values, &first, "--number=3x"), OPTIONS_WRONG);
    assert_int_equal(PARSE(&values, &first, "--number=18446744073709551616"), OPTIONS_WRONG);
    assert_int_equal(PARSE(&values, &first, "--switch=maybe"), OPTIONS_WRONG);
    assert_int_equal(PARSE(&values, &first, "--flag=1"), OPTIONS_WRONG);
}

static void help_ends_it(void **state)
{
    struct values values;
    int first;

    (void)state;
    assert_int_equal(PARSE(&values, &first, "--help", "--unknown"), OPTIONS_DONE);
    assert_int_equal(PARSE(&values, &first, "-h"), OPTIONS_DONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_reaches_its_field),
        cmocka_unit_test(an_option_can_be_given_several_times),
        cmocka_unit_test(there_is_a_limit_to_that),
        cmocka_unit_test(letters_and_arguments_mix),
        cmocka_unit_test(defaults_stay),
        cmocka_unit_test(options_of_a_program_are_its_own),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(help_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
