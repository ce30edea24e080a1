/* forms.h (kernels, devices) and names.h. Mangled names are what g++ and nvcc make of the
 * functions beside them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings/forms.h"
#include "base/text/names.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define VECADD          "_Z6vecAddPKfS0_Pfi"
#define NESTED_ADD      "_ZN2ns3addIfEEvPf"

static void plain_names_are_found_in_mangled_ones(void **state)
{
    static const struct {
        const char *mangled, *plain, *scoped;
    } names[] = {
        {VECADD, "vecAdd", "vecAdd"},
        {NESTED_ADD, "add", "ns::add"},
        {"_Z4gemmILi128EEvPKfS1_Pf", "gemm", "gemm"},
        {"_ZL5localPf", "local", "local"},
        {"_ZN12_GLOBAL__N_13addEPf", "add", "(anonymous namespace)::add"},
        {"_ZN2ns5outerIiLb1ELi12EE5innerIdE3runEPd", "run", "ns::outer::inner::run"},
        {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3"
         "EEEEviT0_T1_",
         "vectorized_elementwise_kernel", "at::native::vectorized_elementwise_kernel"},
        {"_ZN2ns1fIL_ZN1x1yEvEEEvv", "_ZN2ns1fIL_ZN1x1yEvEEEvv", "_ZN2ns1fIL_ZN1x1yEvEEEvv"},
        {"_ZN2ns1kILN3foo4ModeE2EEEvv", "k", "ns::k"},
        {"_ZN2ns1kIL4Mode1EE1rEv", "r", "ns::k::r"},
        {"_ZN7cutlass6KernelINS_4gemm6kernel4GemmINS1_11threadblock13MmaPipelinedIA10_iPFvvEEEEE"
         "EvNT_6ParamsE",
         "Kernel", "cutlass::Kernel"},
        {"_ZSt4swapIiEvRT_S1_", "swap", "std::swap"},
        {"vecAdd", "vecAdd", "vecAdd"},
        {"ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn"},
        {"", "", ""},
        {"_", "_", "_"},
        {"_Z", "_Z", "_Z"},
        {"_Z99x", "_Z99x", "_Z99x"},
        {"_ZN", "_ZN", "_ZN"},
        {"_ZNE", "_ZNE", "_ZNE"},
        {"_ZN2nsIiE", "_ZN2nsIiE", "_ZN2nsIiE"},
        {"_ZN2ns3addIf", "_ZN2ns3addIf", "_ZN2ns3addIf"},
        {"_Z99999999999999999999999x", "_Z99999999999999999999999x", "_Z99999999999999999999999x"},
    };
    char text[256];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        kernel_plain_name(names[i].mangled, false, text, sizeof text);
        assert_string_equal(text, names[i].plain);
        kernel_plain_name(names[i].mangled, true, text, sizeof text);
        assert_string_equal(text, names[i].scoped);
    }
}

static void a_plain_name_is_cut_to_its_room(void **state)
{
    char text[6];

    (void)state;
    kernel_plain_name(VECADD, false, text, sizeof text);
    assert_string_equal(text, "vecAd");
    kernel_plain_name("_ZN5abcde3addEPf", true, text, sizeof text);
    assert_string_equal(text, "abcde");
    kernel_plain_name("_ZN4abcd3addEPf", true, text, sizeof text);
    assert_int_equal(strlen(text), 5);
    kernel_plain_name(VECADD, true, text, 1);
    assert_string_equal(text, "");
}

static bool matches(const char *filter, uint64_t context, uint64_t stream, const char *kernel,
                    uint64_t invocation)
{
    struct kernel_filter compiled;
    struct mp_error error;
    bool result;

    if (kernel_filter_parse(&compiled, filter, &error) != MP_OK)
        fail_msg("'%s': %s", filter, error.text);
    result = kernel_filter_matches(&compiled, context, stream, kernel, invocation);
    kernel_filter_free(&compiled);
    return result;
}

static void a_name_is_searched_for(void **state)
{
    (void)state;
    assert_true(matches("vecAdd", 1, 7, VECADD, 1));
    assert_true(matches("Add", 1, 7, VECADD, 1));
    assert_true(matches("^vecAdd$", 1, 7, VECADD, 1));
    assert_true(matches(VECADD, 1, 7, VECADD, 1));
    assert_true(matches("vecAdd|gemm", 1, 7, VECADD, 1));
    assert_true(matches("^v.*d$", 1, 7, VECADD, 1));
    assert_false(matches("^Add$", 1, 7, VECADD, 1));
    assert_false(matches("vecSub", 1, 7, VECADD, 1));
    assert_false(matches("vecadd", 1, 7, VECADD, 1));
    assert_true(matches("^add$", 1, 7, NESTED_ADD, 1));
    assert_true(matches("^ns::add$", 1, 7, NESTED_ADD, 1));
    assert_true(matches("3addIfE", 1, 7, NESTED_ADD, 1));
    assert_true(matches("[[:alpha:]]dd", 1, 7, NESTED_ADD, 1));
}

static void an_empty_filter_or_part_is_anything(void **state)
{
    (void)state;
    assert_true(matches(NULL, 1, 7, VECADD, 1));
    assert_true(matches("", 1, 7, NULL, 1));
    assert_true(matches(":::", 1, 7, NULL, 1));
    assert_true(matches(":::1", 1, 7, NULL, 1));
    assert_false(matches("x", 1, 7, NULL, 1));
}

static void four_parts_each_have_to_fit(void **state)
{
    (void)state;
    assert_true(matches("1:7:vecAdd:2", 1, 7, VECADD, 2));
    assert_false(matches("1:7:vecAdd:2", 2, 7, VECADD, 2));
    assert_false(matches("1:7:vecAdd:2", 1, 8, VECADD, 2));
    assert_false(matches("1:7:vecAdd:2", 1, 7, NESTED_ADD, 2));
    assert_false(matches("1:7:vecAdd:2", 1, 7, VECADD, 3));
    assert_false(matches("1:7:vecAdd:2", 1, 7, VECADD, 22)); /* the whole number */
    assert_true(matches("::vecAdd:1|3", 1, 7, VECADD, 3));
    assert_false(matches("::vecAdd:1|3", 1, 7, VECADD, 31));
    assert_true(matches("::vecAdd:[1-3]", 1, 7, VECADD, 2));
    assert_true(matches("::ns::add:2", 1, 7, NESTED_ADD, 2));
    assert_true(matches("::^ns::add$:", 1, 7, NESTED_ADD, 2));
    assert_true(matches("1:(7|8)::", 1, 8, VECADD, 2));
    assert_true(matches("a::b::c", 1, 7, "_ZN1a1b1cEv", 1));
}

static void a_filter_that_is_none_is_refused_with_one_line(void **state)
{
    static const struct {
        const char *text, *line;
    } wrong[] = {
        {"vec(", "the name 'vec(' of the kernel filter is no regular expression: "},
        {"[a", "the name '[a' of the kernel filter is no regular expression: "},
        {"1:2:vecAdd", "the kernel filter '1:2:vecAdd' is neither a name nor "
                       "context:stream:name:invocation"},
        {"a:b", "the kernel filter 'a:b' is neither a name nor context:stream:name:invocation"},
        {"::vecAdd:x", "the invocation 'x' of the kernel filter is no number and no expression "
                       "for one"},
        {"1(:::", "the context '1(' of the kernel filter is no regular expression: "},
        {"a:b:c:d", "the kernel filter 'a:b:c:d' is neither a name nor "
                    "context:stream:name:invocation"},
    };
    struct kernel_filter filter;
    struct mp_error error;
    char longest[3000];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(kernel_filter_parse(&filter, wrong[i].text, &error), MP_ERR_ARGUMENT);
        if (strncmp(error.text, wrong[i].line, strlen(wrong[i].line)) != 0)
            fail_msg("'%s' instead of '%s'", error.text, wrong[i].line);
        kernel_filter_free(&filter); /* is empty */
    }
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(kernel_filter_parse(&filter, longest, &error), MP_ERR_ARGUMENT);
}

/* A name cut or changed anywhere must not lead out of it; a sanitizer looks on. */
static void damaged_names_do_no_harm(void **state)
{
    static const char name[] = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_"
                               "addIfEESt5arrayIPcLm3EEEEviT0_T1_";
    char text[sizeof name];
    char plain[64];

    (void)state;
    for (size_t length = 0; length < sizeof name; length++) {
        char *exact = strndup(name, length);
        kernel_plain_name(exact, true, plain, sizeof plain);
        free(exact);
    }
    for (size_t at = 2; at + 1 < sizeof name; at++) {
        for (const char *letter = "0199ZNILESDTAX_C"; *letter; letter++) {
            memcpy(text, name, sizeof name);
            text[at] = *letter;
            kernel_plain_name(text, at & 1, plain, sizeof plain);
            assert_true(strlen(plain) < sizeof plain);
        }
    }
}

static void devices_are_all_or_listed(void **state)
{
    struct device_list list = {.chosen = 0};

    (void)state;
    assert_int_equal(device_list_parse("all", &list, NULL), MP_OK);
    assert_true(device_list_has(&list, 0) && device_list_has(&list, 63));
    assert_int_equal(device_list_parse("", &list, NULL), MP_OK);
    assert_true(device_list_has(&list, 5));
    assert_int_equal(device_list_parse(NULL, &list, NULL), MP_OK);
    assert_int_equal(device_list_parse("0,2", &list, NULL), MP_OK);
    assert_true(device_list_has(&list, 0) && device_list_has(&list, 2));
    assert_false(device_list_has(&list, 1) || device_list_has(&list, 64));
    assert_int_equal(device_list_parse(" 1 , 1", &list, NULL), MP_OK);
    assert_int_equal(list.chosen, 2);
}

static void what_is_no_device_is_refused(void **state)
{
    static const char *const wrong[] = {",",   "0,",  "a",           "-1",   "64",
                                        "0 1", "0;1", "99999999999", "all,0"};
    struct device_list list = {.chosen = 7};
    struct mp_error error;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(device_list_parse(wrong[i], &list, &error), MP_ERR_ARGUMENT);
    assert_int_equal(list.chosen, 7);
    device_list_parse("0,x", &list, &error);
    assert_string_equal(error.text,
                        "'x' is no device: give 'all' or ordinals from 0 to 63, as in 0,2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_names_are_found_in_mangled_ones),
        cmocka_unit_test(a_plain_name_is_cut_to_its_room),
        cmocka_unit_test(a_name_is_searched_for),
        cmocka_unit_test(an_empty_filter_or_part_is_anything),
        cmocka_unit_test(four_parts_each_have_to_fit),
        cmocka_unit_test(a_filter_that_is_none_is_refused_with_one_line),
        cmocka_unit_test(damaged_names_do_no_harm),
        cmocka_unit_test(devices_are_all_or_listed),
        cmocka_unit_test(what_is_no_device_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
