/* Short names of kernels, as lists of layers and advice show them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/data/storage.h"
#include "profile/common/source_names.h"

static void expect_short(const char *mangled, const char *expected)
{
    struct mp_arena arena = {.head = NULL};
    char text[SHORT_BYTES];

    source_short_name(mangled, names_demangle(mangled, NAMES_READABLE, &arena), text, sizeof text);
    assert_string_equal(text, expected);
    mp_arena_free(&arena);
}

static void scopes_parameters_and_arguments_are_left_out(void **state)
{
    (void)state;
    expect_short("_Z6vecAddPKfS0_Pfi", "vecAdd");
    expect_short("_ZN2ns4gemmILi128EEEvPf", "gemm");
    expect_short("plain_c_name", "plain_c_name");
    expect_short("", "");
}

static void names_with_lambdas_in_them_are_read_from_their_readable_form(void **state)
{
    (void)state;
    expect_short("_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_49_GLOBAL__N__d2ba64fb_"
                 "16_TensorCompare_cu_71e06f4e19launch_clamp_scalarERNS_18TensorIteratorBaseEN3c10"
                 "6ScalarES6_NS0_6detail11ClampLimitsEENKUlvE_clEvENKUlvE5_clEvEUlfE_St5arrayIPcLm"
                 "2EEEEviT0_T1_",
                 "vectorized_elementwise_kernel");
}

static void a_name_that_says_nothing_keeps_its_first_argument(void **state)
{
    (void)state;
    expect_short("_ZN7cutlass7Kernel2I40cutlass_80_tensorop_s1688gemm_64x64_nn_aEEvNT_6ParamsE",
                 "Kernel2<cutlass_80_tensorop_s1688gemm_64x64_nn_a>");
    expect_short("_Z6kernelv", "kernel");
}

static void what_is_returned_is_no_part_of_the_name(void **state)
{
    char text[SHORT_BYTES];

    (void)state;
    source_short_name("_Zx", "std::enable_if<!(false), void>::type ns::f<int, (bool)1>(A<B(C)>)",
                      text, sizeof text);
    assert_string_equal(text, "f");
    source_short_name("_Zx", "void (anonymous namespace)::g<4>(int)", text, sizeof text);
    assert_string_equal(text, "g");
    source_short_name("_Zx", "void ns::(anonymous namespace)::kernel<h<4>, 5>(int)", text,
                      sizeof text);
    assert_string_equal(text, "kernel<h>");
    source_short_name("_Zx", "std::enable_if<!(false), void>::type kernel<!(2)>(int)", text,
                      sizeof text);
    assert_string_equal(text, "kernel");
}

static void long_names_are_cut(void **state)
{
    char text[6];

    (void)state;
    source_short_name("_Zx", "void abcdefgh<1>()", text, sizeof text);
    assert_string_equal(text, "abcde");
    source_short_name("abcdefgh", "abcdefgh", text, sizeof text);
    assert_string_equal(text, "abcde");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scopes_parameters_and_arguments_are_left_out),
        cmocka_unit_test(names_with_lambdas_in_them_are_read_from_their_readable_form),
        cmocka_unit_test(a_name_that_says_nothing_keeps_its_first_argument),
        cmocka_unit_test(what_is_returned_is_no_part_of_the_name),
        cmocka_unit_test(long_names_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
