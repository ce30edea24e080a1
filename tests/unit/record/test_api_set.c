/* api_set.h: which calls MINIPROF_API chooses, and how CUPTI is asked for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/cupti/api_set.h"
#include "record/cupti/layout.h"

/* A CUPTI that knows five functions of each API; the cbid is the place, from 1. */
static const char *const runtime_names[] = {"cudaDriverGetVersion_v3020", "cudaGetDevice_v3020",
                                            "cudaMalloc_v3020", "cudaLaunchKernel_ptsz_v7000",
                                            "cudaFree_v3020"};
static const char *const driver_names[] = {"cuInit", "cuMemAlloc_v2", "cuCtxGetCurrent",
                                           "cuLaunchKernel", "cuEventQuery"};

enum { NAMES = 5 };

/* What was asked of it: a bit for each kind or cbid that is on. */
static unsigned kinds_on, runtime_on, driver_on;
static struct cupti_api cupti;
static struct api_set set;

static CUptiResult get_name(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    if (cbid < 1 || cbid > NAMES)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *name =
        domain == CUPTI_CB_DOMAIN_RUNTIME_API ? runtime_names[cbid - 1] : driver_names[cbid - 1];
    return CUPTI_SUCCESS;
}

static CUptiResult enable(CUpti_ActivityKind kind)
{
    kinds_on |= 1u << kind;
    return CUPTI_SUCCESS;
}

static CUptiResult disable(CUpti_ActivityKind kind)
{
    kinds_on &= ~(1u << kind);
    return CUPTI_SUCCESS;
}

static CUptiResult enable_runtime(CUpti_CallbackId cbid, uint8_t on)
{
    runtime_on = on ? runtime_on | 1u << cbid : runtime_on & ~(1u << cbid);
    return CUPTI_SUCCESS;
}

static CUptiResult enable_driver(CUpti_CallbackId cbid, uint8_t on)
{
    driver_on = on ? driver_on | 1u << cbid : driver_on & ~(1u << cbid);
    return CUPTI_SUCCESS;
}

static void resolve(const char *text, uint32_t version)
{
    static struct mp_config config;

    mp_config_init(&config);
    assert_int_equal(mp_config_set(&config, mp_setting_by_name("MINIPROF_API"), text, NULL), MP_OK);
    cupti = (struct cupti_api){.version = version,
                               .get_callback_name = get_name,
                               .enable = enable,
                               .disable = disable,
                               .enable_runtime_api = enable_runtime,
                               .enable_driver_api = enable_driver};
    api_set_resolve(&set, &cupti, &config);
}

/* A bit for each chosen cbid. */
static unsigned chosen(unsigned api)
{
    unsigned bits = 0;
    uint32_t cbid;

    for (cbid = 1; cbid <= NAMES; cbid++)
        bits |= api_set_wants(&set, api, cbid) ? 1u << cbid : 0;
    return bits;
}

#define ALL_NAMES    0x3eu
#define KIND_RUNTIME (1u << CUPTI_ACTIVITY_KIND_RUNTIME)
#define KIND_DRIVER  (1u << CUPTI_ACTIVITY_KIND_DRIVER)
#define LEAN_RUNTIME 0x38u /* malloc, launch, free */
#define LEAN_DRIVER  0x14u /* malloc, launch */
#define NEW_CUPTI    MP_CUPTI_SINCE_API_BY_CBID
#define OLD_CUPTI    (MP_CUPTI_SINCE_API_BY_CBID - 1)

static const struct row {
    const char *text;
    uint32_t version;
    unsigned runtime, driver;              /* chosen */
    unsigned kinds, by_runtime, by_driver; /* asked for */
    bool syncs;
} rows[] = {
    {"all", NEW_CUPTI, ALL_NAMES, ALL_NAMES, KIND_RUNTIME | KIND_DRIVER, 0, 0, true},
    {"runtime", NEW_CUPTI, ALL_NAMES, 0, KIND_RUNTIME, 0, 0, true},
    {"driver", NEW_CUPTI, 0, ALL_NAMES, KIND_DRIVER, 0, 0, true},
    {"none", NEW_CUPTI, 0, 0, 0, 0, 0, false},
    {"lean", NEW_CUPTI, LEAN_RUNTIME, LEAN_DRIVER, 0, LEAN_RUNTIME, LEAN_DRIVER, true},
    {"cudaGetDevice", NEW_CUPTI, 1u << 2, 0, 0, 1u << 2, 0, true},
    {"runtime", OLD_CUPTI, ALL_NAMES, 0, KIND_RUNTIME, 0, 0, true},
    {"driver", OLD_CUPTI, 0, ALL_NAMES, KIND_DRIVER, 0, 0, true},
    {"lean", OLD_CUPTI, LEAN_RUNTIME, LEAN_DRIVER, KIND_RUNTIME | KIND_DRIVER, 0, 0, true},
    {"cudaGetDevice", OLD_CUPTI, 1u << 2, 0, KIND_RUNTIME, 0, 0, true},
    {"none", OLD_CUPTI, 0, 0, 0, 0, 0, false},
};

static void each_word_chooses_its_calls(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        resolve(rows[i].text, rows[i].version);
        assert_int_equal(chosen(MP_api_runtime), rows[i].runtime);
        assert_int_equal(chosen(MP_api_driver), rows[i].driver);
        assert_int_equal(set.syncs, rows[i].syncs);
    }
}

static void no_more_is_switched_on_than_is_wanted_and_off_again(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        resolve(rows[i].text, rows[i].version);
        assert_int_equal(api_set_enable(&set, &cupti, true), CUPTI_SUCCESS);
        assert_int_equal(kinds_on, rows[i].kinds);
        assert_int_equal(runtime_on, rows[i].by_runtime);
        assert_int_equal(driver_on, rows[i].by_driver);
        assert_int_equal(api_set_enable(&set, &cupti, false), CUPTI_SUCCESS);
        assert_int_equal(kinds_on | runtime_on | driver_on, 0);
    }
}

static void our_own_driver_calls_are_told_apart_where_all_are_recorded(void **state)
{
    (void)state;
    resolve("all", NEW_CUPTI);
    assert_true(set.all_driver);
    resolve("driver", NEW_CUPTI);
    assert_true(set.all_driver);
    resolve("runtime", NEW_CUPTI);
    assert_false(set.all_driver);
}

/* ---- Calls whose cost hides ---- */

static const char *const costly[] = {
    "cudaStreamBeginCapture_v10000",
    "cudaStreamEndCapture_v10000",
    "cudaGraphInstantiateWithFlags_v11040",
    "cudaGraphExecUpdate_v10020",
    "cudaGraphDestroy_v10000",
    "cudaMallocAsync_v11020",
    "cudaMemPoolTrimTo_v11020",
    "cudaLibraryLoadData_v12080",
    "cuStreamBeginCapture_v2_ptsz",
    "cuStreamBeginCaptureToGraph",
    "cuStreamEndCapture_ptsz",
    "cuGraphInstantiateWithParams_ptsz",
    "cuGraphExecUpdate_v2",
    "cuGraphDestroy",
    "cuMemAllocFromPoolAsync_ptsz",
    "cuMemPoolTrimTo",
    "cuMemAddressReserve",
    "cuMemCreate",
    "cuMemMap",
    "cuMemMapArrayAsync_ptsz",
    "cuMemSetAccess",
    "cuMemUnmap",
    "cuMemRelease",
    "cuMemAddressFree",
    "cuModuleLoadDataEx",
    "cuLibraryLoadData",
    "cuLinkAddData_v2",
    "cuLinkComplete",
    "cuFuncLoad",
};

/* What is called before each launch. */
static const char *const cheap[] = {
    "cudaStreamIsCapturing_v10000", "cudaGraphExecKernelNodeSetParams_v10010",
    "cuStreamIsCapturing",          "cuStreamGetCaptureInfo_v3",
    "cuModuleGetFunction",          "cuLibraryGetKernel",
    "cuKernelGetFunction",          "cuGraphExecKernelNodeSetParams_v2",
    "cuGraphAddKernelNode_v2",      "cuMemGetInfo_v2",
};

#define COSTLY (sizeof costly / sizeof *costly)
#define CHEAP  (sizeof cheap / sizeof *cheap)

static CUptiResult get_cost_name(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    if (cbid < 1 || cbid > COSTLY + CHEAP)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *name = cbid <= COSTLY ? costly[cbid - 1] : cheap[cbid - 1 - COSTLY];
    return !strncmp(*name, "cuda", 4) == (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
               ? CUPTI_SUCCESS
               : CUPTI_ERROR_INVALID_PARAMETER;
}

static void the_lean_set_has_calls_whose_cost_hides(void **state)
{
    static struct mp_config config;

    (void)state;
    mp_config_init(&config);
    cupti = (struct cupti_api){.version = NEW_CUPTI, .get_callback_name = get_cost_name};
    api_set_resolve(&set, &cupti, &config);
    for (uint32_t i = 0; i < COSTLY + CHEAP; i++) {
        const char *name = i < COSTLY ? costly[i] : cheap[i - COSTLY];
        unsigned api = strncmp(name, "cuda", 4) ? MP_api_driver : MP_api_runtime;

        if (api_set_wants(&set, api, i + 1) != (i < COSTLY))
            fail_msg("%s", name);
    }
}

/* ---- Which driver functions are watched, and why ---- */

static CUptiResult get_launch_name(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    static const char *const names[] = {"cuLaunchKernelEx", "cuLaunchKernelEx_ptsz",
                                        "cuLaunchHostFunc", "cuStreamAddCallback_ptsz",
                                        "cuLaunchKernel"};

    if (domain != CUPTI_CB_DOMAIN_DRIVER_API || cbid < 1 || cbid > NAMES)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *name = names[cbid - 1];
    return CUPTI_SUCCESS;
}

/* The role of a function, or -1. */
static int role(uint32_t cbid)
{
    const struct api_watch *watch = api_set_watch(&set, cbid);

    return watch ? (int)watch->role : -1;
}

static void expect_roles(const char *setting, const char *value, int kernel_ex, int host,
                         int kernel)
{
    static struct mp_config config;

    mp_config_init(&config);
    assert_int_equal(mp_config_set(&config, mp_setting_by_name(setting), value, NULL), MP_OK);
    cupti = (struct cupti_api){.version = NEW_CUPTI, .get_callback_name = get_launch_name};
    api_set_resolve(&set, &cupti, &config);
    assert_int_equal(role(1), kernel_ex);
    assert_int_equal(role(2), kernel_ex);
    assert_int_equal(role(3), host);
    assert_int_equal(role(4), host);
    assert_int_equal(role(5), kernel);
}

static void launches_are_watched_only_for_what_is_wanted(void **state)
{
    (void)state;
    expect_roles("MINIPROF_GPU", "on", API_ROLE_OVERLAP, API_ROLE_HOST, -1);
    expect_roles("MINIPROF_GPU", "off", -1, -1, -1);
    expect_roles("MINIPROF_METRICS", "ipc", API_ROLE_LAUNCH, API_ROLE_HOST, API_ROLE_LAUNCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_word_chooses_its_calls),
        cmocka_unit_test(no_more_is_switched_on_than_is_wanted_and_off_again),
        cmocka_unit_test(our_own_driver_calls_are_told_apart_where_all_are_recorded),
        cmocka_unit_test(the_lean_set_has_calls_whose_cost_hides),
        cmocka_unit_test(launches_are_watched_only_for_what_is_wanted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
