/* What NVML says becomes samples in the units of the counters, with functions of our own where
 * NVML's stand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/counters/nvml.h"

#include "base/poison.h"

static unsigned long long reasons; /* of low clocks, as NVML says now */

static int find(const char *bus_id, nvml_device *device)
{
    *device = &reasons;
    return strcmp(bus_id, "0000:01:00.0");
}

static int power(nvml_device device, unsigned *milliwatts)
{
    assert_ptr_equal(device, &reasons);
    *milliwatts = 250500;
    return NVML_SUCCESS;
}

static int get_clock(nvml_device device, int which, unsigned *megahertz)
{
    (void)device;
    *megahertz = which == NVML_CLOCK_SM ? 1755 : 2619;
    return NVML_SUCCESS;
}

static int temperature(nvml_device device, int sensor, unsigned *degrees)
{
    (void)device;
    assert_int_equal(sensor, NVML_TEMPERATURE_GPU);
    *degrees = 61;
    return NVML_SUCCESS;
}

static int memory(nvml_device device, struct nvml_memory *of)
{
    (void)device;
    *of = (struct nvml_memory){.total = 80, .free = 50, .used = UINT64_C(30) << 30};
    return NVML_SUCCESS;
}

static int get_reasons(nvml_device device, unsigned long long *now)
{
    (void)device;
    *now = reasons;
    return NVML_SUCCESS;
}

static const struct {
    const char *name;
    double value;
} truths[] = {{"sm_clock", 1755e6},
              {"power", 250.5},
              {"memory_clock", 2619e6},
              {"temperature", 61},
              {"memory_used", 30.0 * (1 << 30)},
              {"power_capped", 0},
              {"too_hot", 100}};

enum { TRUTHS = sizeof truths / sizeof *truths };

static struct nvml_api api;
static struct requested_counters requested;
static struct sample_plan plan;
static struct nvml_sampler *sampler;

static int request_all(void **state)
{
    (void)state;
    api = (struct nvml_api){.find = find,
                            .power = power,
                            .clock = get_clock,
                            .temperature = temperature,
                            .memory = memory,
                            .reasons = get_reasons};
    reasons = 0x20;
    requested_read(&requested, "sm_clock,power,memory_clock,temperature,memory_used,power_capped,"
                               "too_hot");
    plan = (struct sample_plan){.requested = &requested};
    return 0;
}

static void open_sampler(const char *bus_id)
{
    struct mp_error error;

    sampler = nvml_open(&api, 0, bus_id, &plan, NULL, &error);
}

static void forget_sampler(void)
{
    free(nvml_readings(sampler));
    free(sampler);
}

static void readings_are_in_the_units_of_the_counters(void **state)
{
    struct sample_store store;
    struct sample_batch *batch;

    (void)state;
    open_sampler("0000:01:00.0");
    assert_non_null(sampler);
    assert_null(nvml_gpm(sampler));
    assert_int_equal(nvml_readings(sampler)->count, TRUTHS);
    memset(&store, 0, sizeof store);
    samples_open(&store);
    nvml_start(sampler);
    do
        nvml_tick(sampler, &store, true); /* some time has to pass */
    while (!(batch = samples_take(&store)));
    assert_int_equal(batch->count, 1);
    for (size_t i = 0; i < TRUTHS; i++) {
        const struct sample_counter *counter = &batch->set->counters[i];

        assert_string_equal(counter->name, truths[i].name);
        assert_int_equal(batch->values[i], sampled_pack(truths[i].value, counter->step));
    }
    free(batch);
    forget_sampler();
}

static void what_nvml_does_not_say_is_left_to_others(void **state)
{
    (void)state;
    api.temperature = NULL;
    api.reasons = NULL;
    open_sampler("0000:01:00.0");
    assert_non_null(sampler);
    for (size_t i = 0; i < TRUTHS; i++) {
        bool is_left = i == 3 || i > 4;

        assert_int_equal(plan.by[i], is_left ? SAMPLED_BY_NOBODY : SAMPLED_BY_NVML);
    }
    forget_sampler();
}

static void a_gpu_that_nvml_does_not_know_has_none(void **state)
{
    (void)state;
    open_sampler("0000:02:00.0");
    assert_null(sampler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(readings_are_in_the_units_of_the_counters, request_all),
        cmocka_unit_test_setup(what_nvml_does_not_say_is_left_to_others, request_all),
        cmocka_unit_test_setup(a_gpu_that_nvml_does_not_know_has_none, request_all),
    };

    return cmocka_run_group_tests_name("record/nvml", tests, NULL, NULL);
}
