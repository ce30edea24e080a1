/* Names as people type them: plain names inside of demangled ones, and the nearest names to one
 * that does not exist.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/names.h"
#include "base/text/strings.h"

static void expect_plain(const char *name, const char *scoped, const char *plain)
{
    char text[256];

    mp_plain_name(name, true, text, sizeof text);
    assert_string_equal(text, scoped);
    mp_plain_name(name, false, text, sizeof text);
    assert_string_equal(text, plain);
}

static void a_plain_name_is_what_people_type(void **state)
{
    (void)state;
    expect_plain("alpha", "alpha", "alpha");
    expect_plain("alpha(long long)", "alpha", "alpha");
    expect_plain("void ns::gemm<128, float>(float*, int)", "ns::gemm", "gemm");
    expect_plain(
        "void at::native::f<4, at::native::(anonymous namespace)::g(at::T&)::{lambda()#1}, "
        "std::array<char*, 2ul> >(int)",
        "at::native::f", "f");
    expect_plain("(anonymous namespace)::add(int*)", "(anonymous namespace)::add", "add");
    expect_plain("void a::(anonymous namespace)::add<int>(int*)", "a::(anonymous namespace)::add",
                 "add");
    expect_plain("sm80_xmma_gemm_f32", "sm80_xmma_gemm_f32", "sm80_xmma_gemm_f32");
    expect_plain("[CUDA memcpy HtoD]", "[CUDA memcpy HtoD]", "[CUDA memcpy HtoD]");
}

/* Whatever is not such a name comes back as it is, or as a part; never more than fits. */
static void odd_names_do_no_harm(void **state)
{
    static const char *const odd[] = {
        "", "(", "<", ">>", "void ", "a<b", "::", "operator<", "a::operator()(int)"};
    char text[8];

    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        mp_plain_name(odd[i], i % 2, text, sizeof text);
        assert_true(strlen(text) < sizeof text);
    }
}

static void the_nearest_names_come_first(void **state)
{
    static const char *const names[] = {"summary", "info", "deps", "iters", "kernels", "memory"};
    struct mp_nearest nearest = {.typed = "sumary"};
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        mp_nearest_offer(&nearest, names[i]);
    assert_int_equal(nearest.count, MP_NEAREST_MAX);
    assert_string_equal(nearest.items[0], "summary");
    mp_nearest_list(&nearest, 3, text, sizeof text);
    assert_int_equal(strncmp(text, "'sum', ", 7), 0);
}

/* Inside of a longer name, whatever the case; the shorter of two that contain it. */
static void a_part_of_a_name_is_near(void **state)
{
    struct mp_nearest nearest = {.typed = "gemm"};

    (void)state;
    mp_nearest_offer(&nearest, "relu");
    mp_nearest_offer(&nearest, "void cutlass::Kernel2<cutlass_80_GEMM_64x64>(Params)");
    mp_nearest_offer(&nearest, "my_Gemm");
    assert_int_equal(nearest.count, 3);
    assert_string_equal(nearest.items[0], "my_Gemm");
    assert_string_equal(nearest.items[2], "relu");
}

static void a_list_is_cut_where_the_text_ends(void **state)
{
    struct mp_nearest nearest = {.typed = "a"};
    char text[8];

    (void)state;
    for (int i = 0; i < 9; i++)
        mp_nearest_offer(&nearest, "abcdefgh");
    mp_nearest_list(&nearest, 99, text, sizeof text);
    assert_string_equal(text, "'abcdef");
}

static const char *meant(const char *typed)
{
    static const char *const names[] = {"run", "summary", "iters", "deps", "diff", "dump", "csv"};
    struct mp_meant meant = {.typed = typed};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        mp_meant_offer(&meant, names[i]);
    return mp_meant_name(&meant);
}

static void a_near_word_was_meant(void **state)
{
    (void)state;
    assert_string_equal(meant("sumary"), "summary");
    assert_string_equal(meant("SUMMRAY"), "summary"); /* two letters changed places */
    assert_string_equal(meant("csvv"), "csv");
    assert_string_equal(meant("itres"), "iters");
    assert_string_equal(meant("dmup"), "dump");
}

static void a_word_that_was_cut_or_made_longer_was_meant(void **state)
{
    (void)state;
    assert_string_equal(meant("summary-of-all"), "summary");
    assert_string_equal(meant("sum"), "summary");
    assert_null(meant("su"));
    assert_null(meant("summaryofall"));
}

/* No suggestion is better than a wrong one. */
static void what_is_far_or_between_two_was_not_meant(void **state)
{
    (void)state;
    assert_null(meant("frobnicate"));
    assert_null(meant("du")); /* one of three letters, and it has two */
    assert_null(meant(""));
    assert_null(meant("diffdeps"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_name_is_what_people_type),
        cmocka_unit_test(odd_names_do_no_harm),
        cmocka_unit_test(the_nearest_names_come_first),
        cmocka_unit_test(a_part_of_a_name_is_near),
        cmocka_unit_test(a_list_is_cut_where_the_text_ends),
        cmocka_unit_test(a_near_word_was_meant),
        cmocka_unit_test(a_word_that_was_cut_or_made_longer_was_meant),
        cmocka_unit_test(what_is_far_or_between_two_was_not_meant),
    };

    return cmocka_run_group_tests_name("names as people type them", tests, NULL, NULL);
}
