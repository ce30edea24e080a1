/* nvprof's command line: parsing, names with placeholders, and what becomes of the environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings/config.h"
#include "nvprof/nvprof.h"

#include "nvprof/options.c" /* NOLINT(bugprone-suspicious-include) */

#define MAX_WORDS 16

static struct nvprof_values values;
static struct mp_error error;
static int first;

/* Parses words up to a NULL, behind a program's name. */
static enum mp_status parse(const char *word, ...)
{
    static char program[] = "nvprof";
    char *argv[MAX_WORDS] = {program};
    int argc = 1;
    va_list words;

    va_start(words, word);
    for (; word && argc < MAX_WORDS - 1; word = va_arg(words, const char *))
        argv[argc++] = (char *)(uintptr_t)word;
    va_end(words);
    argv[argc] = NULL;
    nvprof_values_init(&values);
    memset(&error, 0, sizeof error);
    return nvprof_parse(argc, argv, &values, &first, &error);
}

static void refused(const char *text)
{
    assert_int_equal(error.status, MP_ERR_ARGUMENT);
    assert_string_equal(error.text, text);
}

static void unknown_word(const char *word)
{
    assert_int_equal(error.status, MP_ERR_UNSUPPORTED);
    assert_string_equal(error.text, word);
}

/* ---- Words ---- */

static void options_end_at_the_first_word_that_is_none(void **state)
{
    (void)state;
    assert_int_equal(parse("--csv", "app", "--quiet", NULL), MP_OK);
    assert_int_equal(first, 2);
    assert_true(values.csv);
    assert_false(values.quiet);
    assert_int_equal(parse("-s", "--", "--app", NULL), MP_OK);
    assert_int_equal(first, 3);
    assert_int_equal(parse("-", NULL), MP_OK);
    assert_int_equal(first, 1);
    assert_int_equal(parse(NULL), MP_OK);
    assert_int_equal(first, 1);
}

static void values_stand_behind_a_space_or_an_equals_sign(void **state)
{
    (void)state;
    assert_int_equal(parse("--timeout", "5", "--log-file=a=b", "-oc", "-u", "ms", "app", NULL),
                     MP_OK);
    assert_int_equal(values.timeout, 5);
    assert_string_equal(values.log_file, "a=b");
    assert_string_equal(values.export_file, "c");
    assert_int_equal(values.units, 4);
    assert_int_equal(first, 7);
    assert_int_equal(parse("-sfo", "file", NULL), MP_OK);
    assert_true(values.summary && values.force);
    assert_string_equal(values.export_file, "file");
    assert_int_equal(parse("-o", "-f", NULL), MP_OK);
    assert_string_equal(values.export_file, "-f");
    assert_false(values.force);
}

static void names_are_exact(void **state)
{
    (void)state;
    parse("--print-gpu", NULL);
    unknown_word("--print-gpu");
    parse("--print-gpu-trac=1", NULL);
    unknown_word("--print-gpu-trac=1");
    parse("-sz", "app", NULL);
    unknown_word("-sz");
    parse("--=1", NULL);
    unknown_word("--=1");
    parse("--timeout", NULL);
    refused("--timeout needs a value: S");
    parse("-o", NULL);
    refused("--export-profile needs a value: FILE");
    parse("--csv=on", NULL);
    refused("--csv takes no value");
}

/* ---- Values ---- */

static void wrong_values_say_what_is_taken(void **state)
{
    (void)state;
    parse("-u", "min", NULL);
    refused("--normalized-time-unit takes auto|col|ns|us|ms|s, not 'min'");
    parse("-u", "m", NULL);
    refused("--normalized-time-unit takes auto|col|ns|us|ms|s, not 'm'");
    parse("--demangling", "", NULL);
    refused("--demangling takes on|off, not ''");
    parse("--timeout", "0", NULL);
    refused("--timeout takes a number from 1 to 4000000, not '0'");
    parse("--trace", "gpu,", NULL);
    refused("--trace takes some of gpu,api, not 'gpu,'");
    parse("-o", "", NULL);
    refused("--export-profile takes FILE");
    parse("-o", "%i", NULL);
    assert_int_equal(error.status, MP_ERR_ARGUMENT);
    parse("--log-file", "%1x", NULL);
    assert_int_equal(error.status, MP_ERR_ARGUMENT);
    assert_int_equal(parse("--log-file", "%1", "--stream-name", "s%i", NULL), MP_OK);
}

static void lists_are_sets_of_their_words(void **state)
{
    (void)state;
    assert_int_equal(parse("--trace", "api", NULL), MP_OK);
    assert_int_equal(values.trace, NVPROF_TRACE_API);
    assert_int_equal(parse("--trace", "api,gpu", NULL), MP_OK);
    assert_int_equal(values.trace, NVPROF_TRACE_API | NVPROF_TRACE_GPU);
}

static void what_is_not_done_here_names_who_does_it(void **state)
{
    (void)state;
    parse("--pc-sampling-period", "4", NULL);
    refused("--pc-sampling-period takes a number from 5 to 31, not '4'");
    parse("--pc-sampling-period", "5", NULL);
    assert_int_equal(error.status, MP_ERR_ARGUMENT);
    assert_non_null(strstr(error.text, "'ncu "));
    parse("--cpu-profiling", "on", NULL);
    assert_non_null(strstr(error.text, "'perf record'"));
    assert_int_equal(parse("--cpu-profiling", "off", NULL), MP_OK);
}

static void notes_are_for_values_that_differ(void **state)
{
    const struct nvprof_option *replay = find_name("replay-mode", strlen("replay-mode"));
    const struct nvprof_option *csv = find_name("csv", strlen("csv"));

    (void)state;
    assert_null(nvprof_note(replay, "kernel"));
    assert_null(nvprof_note(replay, "disabled"));
    assert_non_null(nvprof_note(replay, "application"));
    assert_null(nvprof_note(csv, ""));
}

/* ---- Metrics ---- */

static void names_of_metrics_add_up(void **state)
{
    (void)state;
    assert_int_equal(
        parse("-m", "ipc", "--kernels", "add", "--devices", "0", "-e", "all", "-m", "ipc", NULL),
        MP_OK);
    assert_string_equal(values.metrics.names, "ipc,events,ipc");
    assert_string_equal(values.metrics.kernels, "add");
    assert_string_equal(values.metrics.devices, "0");
    assert_true(values.metrics.several_scopes);
    assert_int_equal(parse("--kernels", "add", "-m", "ipc", "-m", "all", NULL), MP_OK);
    assert_false(values.metrics.several_scopes);
    /* A scope behind the last metrics is nobody's. */
    assert_int_equal(parse("-m", "ipc", "--kernels", "add", NULL), MP_OK);
    assert_null(values.metrics.kernels);
    assert_false(values.metrics.several_scopes);
}

static void metrics_that_nobody_knows_are_refused(void **state)
{
    (void)state;
    assert_int_equal(parse("-m", "ipc,no_such_metric_at_all", NULL), MP_ERR_ARGUMENT);
    assert_non_null(strstr(error.text, "'no_such_metric_at_all'"));
    assert_int_equal(parse("--kernels", "(", NULL), MP_ERR_ARGUMENT);
    assert_int_equal(parse("--devices", "one", NULL), MP_ERR_ARGUMENT);
}

static void too_many_names_are_refused(void **state)
{
    static char name[NVPROF_METRICS_MAX + 1];

    (void)state;
    memset(name, ',', sizeof name - 1);
    assert_int_equal(parse("-m", name, NULL), MP_ERR_ARGUMENT);
    assert_non_null(strstr(error.text, "4096 bytes"));
}

/* ---- Names with placeholders ---- */

static const char *expanded(const char *pattern, bool naming)
{
    static char text[64];

    memset(&error, 0, sizeof error);
    if (nvprof_pattern_expand(pattern, "42", naming, text, sizeof text, &error) != MP_OK)
        return NULL;
    return text;
}

static void placeholders_speak_of_the_other_process(void **state)
{
    char host[64];

    (void)state;
    gethostname(host, sizeof host);
    setenv("NVPROF_TEST", "50%i", 1);
    assert_string_equal(expanded("a.%p.b", false), "a.42.b");
    assert_string_equal(expanded("%%p%p", false), "%p42");
    assert_string_equal(expanded("%q{NVPROF_TEST}", false), "50%i");
    assert_string_equal(expanded("%h", false), host);
    /* A pattern again: %i and %% stay, and what came in cannot be taken for them. */
    assert_string_equal(expanded("s%i of %p, %%, %q{NVPROF_TEST}", true), "s%i of 42, %%, 50%%i");
    unsetenv("NVPROF_TEST");
}

static void expansions_that_do_not_fit_are_errors(void **state)
{
    char small[4];

    (void)state;
    assert_int_equal(nvprof_pattern_expand("ab%p", "42", false, small, sizeof small, &error),
                     MP_ERR_LIMIT);
}

static void patterns_are_checked_without_the_environment(void **state)
{
    char name[64];

    (void)state;
    unsetenv("NVPROF_TEST");
    assert_int_equal(nvprof_pattern_check("%p%h%%%q{NVPROF_TEST}", false, &error), MP_OK);
    assert_int_equal(nvprof_pattern_check("%i", true, &error), MP_OK);
    assert_int_equal(nvprof_pattern_check("%i", false, &error), MP_ERR_ARGUMENT);
    assert_int_equal(nvprof_pattern_check("%z", true, &error), MP_ERR_ARGUMENT);
    assert_int_equal(nvprof_pattern_check("a%", true, &error), MP_ERR_ARGUMENT);
    assert_int_equal(nvprof_pattern_check("%q{A", true, &error), MP_ERR_ARGUMENT);
    assert_int_equal(nvprof_pattern_check("", true, &error), MP_ERR_ARGUMENT);
    assert_true(nvprof_pattern_missing("%p.%q{NVPROF_TEST}", name, sizeof name));
    assert_string_equal(name, "NVPROF_TEST");
    assert_false(nvprof_pattern_missing("%%q{NVPROF_TEST}", name, sizeof name));
    assert_true(nvprof_pattern_has_pid("%%%p"));
    assert_false(nvprof_pattern_has_pid("%%p"));
}

/* ---- The recorder's settings ---- */

static const char *setting(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "unset";
}

static void forget_settings(void)
{
    for (size_t i = 0; i < mp_setting_count; i++)
        unsetenv(mp_settings[i].name);
}

static void options_become_settings(void **state)
{
    (void)state;
    forget_settings();
    assert_int_equal(parse("--profile-from-start", "off", "--profile-api-trace", "driver",
                           "--unified-memory-profiling", "off", "--timeout", "7", "--replay-mode",
                           "application", "--profile-child-processes", "-m", "ipc", NULL),
                     MP_OK);
    assert_true(nvprof_set_environment(&values, "/tmp/x/%p.mpt"));
    assert_string_equal(setting("MINIPROF_OUTPUT"), "/tmp/x/%p.mpt");
    assert_string_equal(setting("MINIPROF_CAPTURE"), "range");
    assert_string_equal(setting("MINIPROF_API"), "driver");
    assert_string_equal(setting("MINIPROF_UNIFIED_MEMORY"), "off");
    assert_string_equal(setting("MINIPROF_TIMEOUT"), "7");
    assert_string_equal(setting("MINIPROF_REPLAY"), "kernel");
    assert_string_equal(setting("MINIPROF_CHILDREN"), "on");
    assert_string_equal(setting("MINIPROF_METRICS"), "ipc");
    assert_string_equal(setting("MINIPROF_LOG"), "quiet");
    assert_string_equal(setting("MINIPROF_ARGV"), "on");
}

static void nvprofs_defaults_give_way_to_the_environment(void **state)
{
    (void)state;
    forget_settings();
    setenv("MINIPROF_CAPTURE", "auto", 1);
    assert_int_equal(parse("app", NULL), MP_OK);
    assert_true(nvprof_set_environment(&values, "x"));
    assert_string_equal(setting("MINIPROF_CAPTURE"), "auto");
    assert_string_equal(setting("MINIPROF_CHILDREN"), "off");
    assert_string_equal(setting("MINIPROF_UNIFIED_MEMORY"), "on");
    assert_string_equal(setting("MINIPROF_MEMORY"), "off");
    assert_string_equal(setting("MINIPROF_API"), "unset");
    assert_string_equal(setting("MINIPROF_TIMEOUT"), "unset");
    assert_string_equal(setting("MINIPROF_METRICS"), "unset");
    assert_int_equal(parse("--profile-from-start", "on", "--quiet", NULL), MP_OK);
    assert_true(nvprof_set_environment(&values, "x"));
    assert_string_equal(setting("MINIPROF_CAPTURE"), "pause");
    assert_string_equal(setting("MINIPROF_LOG"), "none");
}

static void a_restricted_trace_leaves_out_the_other_side(void **state)
{
    (void)state;
    forget_settings();
    assert_int_equal(parse("--profile-api-trace", "all", "--trace", "gpu", NULL), MP_OK);
    assert_true(nvprof_set_environment(&values, "x"));
    assert_string_equal(setting("MINIPROF_API"), "none");
    assert_string_equal(setting("MINIPROF_GPU"), "unset");
    assert_int_equal(parse("--profile-api-trace", "all", "--trace", "api", NULL), MP_OK);
    assert_true(nvprof_set_environment(&values, "x"));
    assert_string_equal(setting("MINIPROF_API"), "all");
    assert_string_equal(setting("MINIPROF_GPU"), "off");
}

/* The recorder must know every setting, and every word that an option's value turns into. */
static void every_choice_is_a_value_of_its_setting(void **state)
{
    static struct mp_config config;

    (void)state;
    mp_config_init(&config);
    for (size_t i = 0; i < nvprof_option_count; i++) {
        const struct nvprof_option *option = &nvprof_options[i];
        const char *cursor = option->settings ? option->settings : option->takes;
        const struct mp_setting *target;
        char name[64];
        char word[64];
        const char *at;
        size_t bytes;

        if (!option->setting || option->kind != NVPROF_CHOICE)
            continue;
        snprintf(name, sizeof name, "MINIPROF_%s", option->setting);
        target = mp_setting_by_name(name);
        assert_non_null(target);
        while (nvprof_next_word(&cursor, &at, &bytes)) {
            snprintf(word, sizeof word, "%.*s", (int)bytes, at);
            assert_int_equal(mp_config_set(&config, target, word, NULL), MP_OK);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_end_at_the_first_word_that_is_none),
        cmocka_unit_test(values_stand_behind_a_space_or_an_equals_sign),
        cmocka_unit_test(names_are_exact),
        cmocka_unit_test(wrong_values_say_what_is_taken),
        cmocka_unit_test(lists_are_sets_of_their_words),
        cmocka_unit_test(what_is_not_done_here_names_who_does_it),
        cmocka_unit_test(notes_are_for_values_that_differ),
        cmocka_unit_test(names_of_metrics_add_up),
        cmocka_unit_test(metrics_that_nobody_knows_are_refused),
        cmocka_unit_test(too_many_names_are_refused),
        cmocka_unit_test(placeholders_speak_of_the_other_process),
        cmocka_unit_test(expansions_that_do_not_fit_are_errors),
        cmocka_unit_test(patterns_are_checked_without_the_environment),
        cmocka_unit_test(options_become_settings),
        cmocka_unit_test(nvprofs_defaults_give_way_to_the_environment),
        cmocka_unit_test(a_restricted_trace_leaves_out_the_other_side),
        cmocka_unit_test(every_choice_is_a_value_of_its_setting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
