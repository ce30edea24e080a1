/* Sampled counters: the table, the stored form of values, and the text of MINIPROF_SAMPLE. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/metrics/sampled.h"
#include "base/settings/forms.h"

static void stored_values_are_off_by_little(void **state)
{
    double value = 0.01;

    (void)state;
    for (unsigned i = 0; i < 2800; i++) {
        double back = sampled_unpack(sampled_pack(value, 0.1), 0.1);

        assert_true(fabs(back - value) <= fmax(0.0501, value * 0.00196));
        value *= 1.0137;
    }
}

static void stored_values_grow_with_values(void **state)
{
    (void)state;
    for (unsigned packed = 1; packed < 512 + 40 * 256; packed++) {
        double value = sampled_unpack(packed, 1);

        assert_true(value > sampled_unpack(packed - 1, 1));
        assert_int_equal(sampled_pack(value, 1), packed);
    }
}

static void odd_values_are_stored_too(void **state)
{
    (void)state;
    assert_int_equal(sampled_pack(-3, 1), 0);
    assert_int_equal(sampled_pack(0, 1), 0);
    assert_int_equal(sampled_pack((double)NAN, 1), SAMPLED_UNKNOWN);
    assert_true(isnan(sampled_unpack(SAMPLED_UNKNOWN, 1)));
    assert_true(sampled_pack((double)INFINITY, 1) < SAMPLED_UNKNOWN);
    assert_true(isfinite(sampled_unpack(sampled_pack((double)INFINITY, 1), 1)));
    assert_true(isfinite(sampled_unpack(UINT64_MAX, 1)));
}

static void every_counter_has_a_source(void **state)
{
    size_t count;
    const struct sampled_entry *entries = sampled_entries(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        const char *name = entries[i].name;

        assert_true(sampled_source(name, SAMPLED_BY_CUPTI, 0) ||
                    sampled_source(name, SAMPLED_BY_GPM, 0) ||
                    sampled_source(name, SAMPLED_BY_NVML, 0));
        assert_ptr_equal(sampled_find(name), &entries[i]);
        assert_true(entries[i].step > 0);
    }
    assert_null(sampled_find("sm"));
    assert_string_equal(sampled_suggest("sm_actve"), "sm_active");
    assert_null(sampled_suggest("entirely different"));
}

static void other_tools_names_and_words_are_suggested_too(void **state)
{
    static const char *const cases[][2] = {
        {"defualt", "default"},
        {"DEFAULT", "default"},
        {"al l", "all"},
        {"gr_engine_active", "gr_active"},
        {"pcie_rx_bytes", "pcie_rx"},
        {"DCGM_FI_PROF_SM_ACTIVE", "sm_active"},
        {"dcgm_fi_dev_fb_used", "memory_used"},
        {"DCGM_FI_PROF_PIPE_TENSOR_ACTVE", "tensor_active"},
        {"SMs Active", "sm_active"},
        {"Compute Warps In Flight", "sm_occupancy"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(sampled_suggest(cases[i][0]), cases[i][1]);
    assert_null(sampled_suggest("DCGM_FI_PROF_ENTIRELY_DIFFERENT"));
    assert_null(sampled_suggest(""));
}

static void the_setting_is_a_list_and_a_rate(void **state)
{
    static const struct {
        const char *text, *names;
        uint32_t hertz; /* 0: not taken */
    } cases[] = {
        {"default", "default", 10000},
        {"default@10kHz", "default", 10000},
        {"default@0.5kHz", "default", 500},
        {"a,b@10Hz", "a,b", 10},
        {"a@200kHz", "a", 200000},
        {"a@12.25kHz", "a", 12250},
        {"sm__inst_executed.avg.per_second@1kHz", "sm__inst_executed.avg.per_second", 1000},
        {"a@1MHz", "", 0},
        {"a@201kHz", "", 0},
        {"a@9Hz", "", 0},
        {"a@", "", 0},
        {"a@kHz", "", 0},
        {"a@10", "", 0},
        {"a@-1kHz", "", 0},
        {"a@1.kHz", "", 0},
        {"@10kHz", "", 0},
        {" , @10kHz", "", 0},
    };
    struct mp_sample sample;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool taken = mp_sample_parse(cases[i].text, &sample);

        assert_int_equal(taken, cases[i].hertz != 0);
        if (!taken)
            continue;
        assert_string_equal(sample.names, cases[i].names);
        assert_int_equal(sample.hertz, cases[i].hertz);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_values_are_off_by_little),
        cmocka_unit_test(stored_values_grow_with_values),
        cmocka_unit_test(odd_values_are_stored_too),
        cmocka_unit_test(every_counter_has_a_source),
        cmocka_unit_test(other_tools_names_and_words_are_suggested_too),
        cmocka_unit_test(the_setting_is_a_list_and_a_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
