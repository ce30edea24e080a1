/* config.h: what users may write, and what they are told when it is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings/config.h"
#include "base/settings/forms.h"

static struct mp_config config;

static enum mp_status set(const char *name, const char *text, struct mp_error *error)
{
    const struct mp_setting *setting = mp_setting_by_name(name);

    assert_non_null(setting);
    return mp_config_set(&config, setting, text, error);
}

static int start(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < mp_setting_count; i++)
        unsetenv(mp_settings[i].name);
    mp_config_init(&config);
    return 0;
}

static void the_defaults_are_the_documented_ones(void **state)
{
    (void)state;
    assert_string_equal(config.output, "miniprof.%p.mpt");
    assert_int_equal(config.capture.choice, MP_CAPTURE_AUTO);
    assert_int_equal(config.api.choice, MP_API_LEAN);
    assert_int_equal(config.cuda_graph, MP_CUDA_GRAPH_NODE);
    assert_int_equal(config.buffer_mb, 64);
    assert_int_equal(config.level, 1);
    assert_int_equal(config.log, MP_CONFIG_LOG_WARN);
    assert_string_equal(config.cupti, "");
    assert_int_equal(config.nvtx, MP_SWITCH_ON);
    assert_int_equal(config.memory, MP_SWITCH_ON);
    assert_int_equal(config.argv, MP_SWITCH_OFF);
}

/* A default that its own setting refuses would silently be zero. */
static void every_default_is_valid_and_prints_as_written(void **state)
{
    char text[MP_CONFIG_TEXT_BYTES];
    size_t i;

    (void)state;
    for (i = 0; i < mp_setting_count; i++) {
        assert_int_equal(mp_config_set(&config, &mp_settings[i], mp_settings[i].preset, NULL),
                         MP_OK);
        assert_string_equal(mp_config_value(&config, &mp_settings[i], text, sizeof(text)),
                            mp_settings[i].preset);
    }
}

static void names_and_flags_find_their_setting(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < mp_setting_count; i++) {
        assert_ptr_equal(mp_setting_by_name(mp_settings[i].name), &mp_settings[i]);
        assert_ptr_equal(mp_setting_by_flag(mp_settings[i].flag), &mp_settings[i]);
        assert_memory_equal(mp_settings[i].name, "MINIPROF_", 9);
    }
    assert_string_equal(mp_setting_by_flag("buffer-mb")->name, "MINIPROF_BUFFER_MB");
    assert_null(mp_setting_by_name("MINIPROF_NOTHING"));
    assert_null(mp_setting_by_flag("nothing"));
}

static void choices_numbers_and_texts_take_their_values(void **state)
{
    (void)state;
    assert_int_equal(set("MINIPROF_CAPTURE", "range", NULL), MP_OK);
    assert_int_equal(config.capture.choice, MP_CAPTURE_RANGE);
    assert_int_equal(set("MINIPROF_BUFFER_MB", "8", NULL), MP_OK);
    assert_int_equal(set("MINIPROF_BUFFER_MB", "4096", NULL), MP_OK);
    assert_int_equal(config.buffer_mb, 4096);
    assert_int_equal(set("MINIPROF_OUTPUT", "a b.%q{HOME}.mpt", NULL), MP_OK);
    assert_string_equal(config.output, "a b.%q{HOME}.mpt");
    assert_int_equal(set("MINIPROF_NVTX", "off", NULL), MP_OK);
    assert_int_equal(config.nvtx, MP_SWITCH_OFF);
}

static void a_wrong_value_names_the_variable_and_what_it_takes(void **state)
{
    static const char *const cases[][3] = {
        {"MINIPROF_CAPTURE", "some",
         "MINIPROF_CAPTURE='some' is not valid: takes auto, range, all, pause, off or "
         "nvtx:NAME[@DOMAIN]"},
        {"MINIPROF_CAPTURE", "nvtx:",
         "MINIPROF_CAPTURE='nvtx:' is not valid: takes auto, range, all, pause, off or "
         "nvtx:NAME[@DOMAIN]"},
        {"MINIPROF_CAPTURE", "nvtx:@layers",
         "MINIPROF_CAPTURE='nvtx:@layers' is not valid: takes auto, range, all, pause, off or "
         "nvtx:NAME[@DOMAIN]"},
        {"MINIPROF_CAPTURE", "nvtx",
         "MINIPROF_CAPTURE='nvtx' is not valid: takes auto, range, all, pause, off or "
         "nvtx:NAME[@DOMAIN]"},
        {"MINIPROF_CAPTURE_END", "repeat:0",
         "MINIPROF_CAPTURE_END='repeat:0' is not valid: takes repeat, repeat:N or stop"},
        {"MINIPROF_CAPTURE_END", "stop:1",
         "MINIPROF_CAPTURE_END='stop:1' is not valid: takes repeat, repeat:N or stop"},
        {"MINIPROF_SCHEDULE", "skip=1",
         "MINIPROF_SCHEDULE='skip=1' is not valid: takes skip=N, wait=N, warmup=N, active=N and "
         "repeat=N in a list, active from 1"},
        {"MINIPROF_STEP", "@layers",
         "MINIPROF_STEP='@layers' is not valid: takes the name of an NVTX range, or NAME@DOMAIN"},
        {"MINIPROF_FLIGHT", "1m",
         "MINIPROF_FLIGHT='1m' is not valid: takes a time from 1s to 1h, such as 30s or 5min"},
        {"MINIPROF_BASELINE", "76%",
         "MINIPROF_BASELINE='76%' is not valid: takes a share of the steps from 1% to 75%, such as "
         "25%"},
        {"MINIPROF_SLOW_STEP", "p99x",
         "MINIPROF_SLOW_STEP='p99x' is not valid: takes a time such as 50ms, or a percentile from "
         "p01 to p99 and a factor, such as p99x2"},
        {"MINIPROF_DELAY", "0.5",
         "MINIPROF_DELAY='0.5' is not valid: takes a number from 0 to 4000000 (s)"},
        {"MINIPROF_API", "x",
         "MINIPROF_API='x' is not valid: takes lean, all, none, runtime, driver or a "
         "comma-separated list of "
         "function names"},
        {"MINIPROF_API", "cudaMalloc,,cuInit",
         "MINIPROF_API='cudaMalloc,,cuInit' is not valid: takes lean, all, none, runtime, driver "
         "or a "
         "comma-separated list of function names"},
        {"MINIPROF_BUFFER_MB", "7",
         "MINIPROF_BUFFER_MB='7' is not valid: takes a number from 8 to 4096 (MB)"},
        {"MINIPROF_BUFFER_MB", "64MB",
         "MINIPROF_BUFFER_MB='64MB' is not valid: takes a number from 8 to 4096 (MB)"},
        {"MINIPROF_LEVEL", "20", "MINIPROF_LEVEL='20' is not valid: takes a number from 1 to 19"},
        {"MINIPROF_NVTX", "1", "MINIPROF_NVTX='1' is not valid: takes off or on"},
        {"MINIPROF_LOG", "loud",
         "MINIPROF_LOG='loud' is not valid: takes debug, info, warn, error, none or quiet"},
    };
    struct mp_error error;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(set(cases[i][0], cases[i][1], &error), MP_ERR_ARGUMENT);
        assert_string_equal(error.text, cases[i][2]);
    }
    the_defaults_are_the_documented_ones(state);
}

static void words_with_a_colon_carry_a_text(void **state)
{
    static const struct {
        const char *name, *text;
        uint32_t choice;
        const char *carried;
    } cases[] = {
        {"MINIPROF_CAPTURE", "nvtx:step 1", MP_CAPTURE_NVTX, "step 1"},
        {"MINIPROF_CAPTURE", "nvtx:a:b@c", MP_CAPTURE_NVTX, "a:b@c"},
        {"MINIPROF_CAPTURE", "nvtx:a@", MP_CAPTURE_NVTX, "a@"},
        {"MINIPROF_CAPTURE", "off", MP_CAPTURE_OFF, ""},
        {"MINIPROF_CAPTURE_END", "repeat:7", MP_CAPTURE_END_REPEAT_N, "7"},
        {"MINIPROF_CAPTURE_END", "repeat", MP_CAPTURE_END_REPEAT, ""},
        {"MINIPROF_CAPTURE_END", "stop", MP_CAPTURE_END_STOP, ""},
    };
    char text[MP_CONFIG_TEXT_BYTES];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct mp_setting *setting = mp_setting_by_name(cases[i].name);
        const struct mp_config_choice *field =
            (const void *)((const char *)&config + setting->offset);

        assert_int_equal(set(cases[i].name, cases[i].text, NULL), MP_OK);
        assert_int_equal(field->choice, cases[i].choice);
        assert_string_equal(field->text, cases[i].carried);
        assert_string_equal(mp_config_value(&config, setting, text, sizeof(text)), cases[i].text);
    }
}

static void range_names_are_split_at_the_last_at(void **state)
{
    const char *domain;

    (void)state;
    assert_int_equal(mp_range_name_split("step", &domain), 4);
    assert_string_equal(domain, "");
    assert_int_equal(mp_range_name_split("a@b@c", &domain), 3);
    assert_string_equal(domain, "c");
    assert_int_equal(mp_range_name_split("a@b@", &domain), 3);
    assert_string_equal(domain, "");
}

static void a_wrong_pattern_lists_the_placeholders(void **state)
{
    struct mp_error error;

    (void)state;
    assert_int_equal(set("MINIPROF_OUTPUT", "a.%x", &error), MP_ERR_ARGUMENT);
    assert_string_equal(error.text,
                        "MINIPROF_OUTPUT='a.%x' is not valid: takes a file name, in which %p is "
                        "the process id, %h the host, %r the rank, %q{NAME} an environment "
                        "variable and %% a percent sign");
    assert_string_equal(config.output, "miniprof.%p.mpt");
}

static void texts_over_the_limit_are_refused(void **state)
{
    char text[MP_CONFIG_TEXT_BYTES + 1];
    struct mp_error error;

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(set("MINIPROF_CUPTI", text, &error), MP_ERR_ARGUMENT);
    assert_non_null(strstr(error.text, "aaa...' is not valid: takes a text of less than 4096"));
    text[sizeof(text) - 2] = '\0';
    assert_int_equal(set("MINIPROF_CUPTI", text, NULL), MP_OK);
    assert_int_equal(strlen(config.cupti), MP_CONFIG_TEXT_BYTES - 1);
}

static void a_list_of_functions_matches_their_versions(void **state)
{
    char text[MP_CONFIG_TEXT_BYTES];
    const struct mp_setting *api = mp_setting_by_name("MINIPROF_API");

    (void)state;
    assert_false(mp_config_api_lists(&config, "cuMemAlloc"));
    assert_int_equal(set("MINIPROF_API", "cuMemAlloc, cudaLaunchKernel,cuMemFree_v2", NULL), MP_OK);
    assert_int_equal(config.api.choice, MP_API_LIST);
    assert_string_equal(mp_config_value(&config, api, text, sizeof(text)),
                        "cuMemAlloc,cudaLaunchKernel,cuMemFree_v2");
    assert_true(mp_config_api_lists(&config, "cuMemAlloc"));
    assert_true(mp_config_api_lists(&config, "cuMemAlloc_v2"));
    assert_true(mp_config_api_lists(&config, "cudaLaunchKernel_v7000"));
    assert_true(mp_config_api_lists(&config, "cudaLaunchKernel_ptsz_v7000"));
    assert_true(mp_config_api_lists(&config, "cuMemFree_v2"));
    assert_false(mp_config_api_lists(&config, "cuMemFree"));
    assert_false(mp_config_api_lists(&config, "cuMemAllocAsync"));
    assert_false(mp_config_api_lists(&config, "cudaLaunch"));
    assert_int_equal(set("MINIPROF_API", "all", NULL), MP_OK);
    assert_string_equal(config.api.list, "");
}

static void count_report(void *context, const struct mp_error *error)
{
    unsigned *count = context;

    assert_int_equal(error->status, MP_ERR_ARGUMENT);
    ++*count;
}

static void the_environment_is_applied_and_wrong_values_keep_the_default(void **state)
{
    unsigned reported = 0;

    (void)state;
    setenv("MINIPROF_CAPTURE", "all", 1);
    setenv("MINIPROF_API", "x", 1);
    setenv("MINIPROF_LEVEL", "", 1);
    setenv("MINIPROF_BUFFER_MB", "lots", 1);
    setenv("MINIPROF_LOG", "none", 1);
    assert_int_equal(mp_config_from_environment(&config, count_report, &reported), 2);
    assert_int_equal(reported, 2);
    assert_int_equal(config.capture.choice, MP_CAPTURE_ALL);
    assert_int_equal(config.api.choice, MP_API_LEAN);
    assert_int_equal(config.level, 1);
    assert_int_equal(config.buffer_mb, 64);
    assert_int_equal(mp_config_log_level(&config), MP_LOG_NONE);
    assert_int_equal(mp_config_from_environment(&config, NULL, NULL), 2);
}

static void note_text(void *context, const struct mp_error *error)
{
    char *texts = context;
    size_t used = strlen(texts);

    snprintf(texts + used, 1000 - used, "%s|", error->text);
}

static void unknown_variables_are_reported_once_each(void **state)
{
    char texts[1024] = "";

    (void)state;
    setenv("MINIPROF_LEVEL", "3", 1);
    setenv(MP_CONFIG_PARENT, "1", 1);
    setenv(MP_TIME_DIVISOR, "1", 1);
    setenv("MINIPROFILE", "1", 1);
    assert_int_equal(mp_config_report_unknown(note_text, texts), 0);
    setenv("MINIPROF_LEVLE", "", 1);
    assert_int_equal(mp_config_report_unknown(note_text, texts), 1);
    assert_string_equal(texts, "MINIPROF_LEVLE is no setting; `miniprof run --help` lists them|");
    unsetenv("MINIPROF_LEVLE");
    unsetenv(MP_CONFIG_PARENT);
    unsetenv(MP_TIME_DIVISOR);
    unsetenv("MINIPROFILE");
}

static void every_log_word_has_its_level(void **state)
{
    (void)state;
    assert_int_equal(mp_config_log_level(&config), MP_LOG_WARN);
    assert_int_equal(set("MINIPROF_LOG", "debug", NULL), MP_OK);
    assert_int_equal(mp_config_log_level(&config), MP_LOG_DEBUG);
    assert_int_equal(set("MINIPROF_LOG", "info", NULL), MP_OK);
    assert_int_equal(mp_config_log_level(&config), MP_LOG_INFO);
    assert_int_equal(set("MINIPROF_LOG", "error", NULL), MP_OK);
    assert_int_equal(mp_config_log_level(&config), MP_LOG_ERROR);
    assert_int_equal(set("MINIPROF_LOG", "quiet", NULL), MP_OK);
    assert_int_equal(mp_config_log_level(&config), MP_LOG_WARN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_defaults_are_the_documented_ones, start),
        cmocka_unit_test_setup(every_default_is_valid_and_prints_as_written, start),
        cmocka_unit_test_setup(names_and_flags_find_their_setting, start),
        cmocka_unit_test_setup(choices_numbers_and_texts_take_their_values, start),
        cmocka_unit_test_setup(a_wrong_value_names_the_variable_and_what_it_takes, start),
        cmocka_unit_test_setup(words_with_a_colon_carry_a_text, start),
        cmocka_unit_test_setup(range_names_are_split_at_the_last_at, start),
        cmocka_unit_test_setup(a_wrong_pattern_lists_the_placeholders, start),
        cmocka_unit_test_setup(texts_over_the_limit_are_refused, start),
        cmocka_unit_test_setup(a_list_of_functions_matches_their_versions, start),
        cmocka_unit_test_setup(the_environment_is_applied_and_wrong_values_keep_the_default, start),
        cmocka_unit_test_setup(unknown_variables_are_reported_once_each, start),
        cmocka_unit_test_setup(every_log_word_has_its_level, start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
