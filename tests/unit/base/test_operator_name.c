/* Names of operators, by ranges as PyTorch and XLA write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/names.h"

static const struct example {
    const char *name;
    const char *operator_name; /* NULL: none */
} examples[] = {
    {"aten::mm", "aten::mm"},
    {"aten::mm, seq = 12", "aten::mm"},
    {"aten::mm, op_id = 3", "aten::mm"},
    {"aten::mm, seq = 0, op_id = 14", "aten::mm"},
    {"torchvision::nms, op_id = 1", "torchvision::nms"},
    {"AddmmBackward0, seq = 7, op_id = 9", "AddmmBackward0"},
    {"Backward0", NULL},
    {"ConvolutionBackward", NULL},
    {"aten::", NULL},
    {"::mm", NULL},
    {"std::vector<int> f()", NULL},
    {"iteration", NULL},
    {"", NULL},
    {"aten::mm, seq = x", NULL},
    {"Thunk:#hlo_op=fusion.3#", "fusion.3"},
    {"Thunk:#name=jit(f)/dot,hlo_op=gemm,program_id=1#", "gemm"},
    {"Thunk:#hlo_op=#", NULL},
    {"hlo_op=x", NULL},
    {"#no_hlo_op=x#", NULL},
    {"hlo_op=#", NULL},
};

static void names_are_operators_or_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const char *begin = NULL;
        size_t bytes = 0;

        assert_int_equal(mp_operator_of(examples[i].name, &begin, &bytes),
                         examples[i].operator_name != NULL);
        if (!examples[i].operator_name)
            continue;
        assert_int_equal(bytes, strlen(examples[i].operator_name));
        assert_memory_equal(begin, examples[i].operator_name, bytes);
    }
}

static void numbers_are_left_out(void **state)
{
    (void)state;
    assert_int_equal(mp_operator_plain("ProfilerStep#3, op_id = 5"), strlen("ProfilerStep#3"));
    assert_int_equal(mp_operator_plain("a, seq = b"), strlen("a, seq = b"));
    assert_int_equal(mp_operator_plain(", seq = 1"), 0);
    assert_int_equal(mp_operator_plain(""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_operators_or_not),
        cmocka_unit_test(numbers_are_left_out),
    };

    return cmocka_run_group_tests_name("names of operators", tests, NULL, NULL);
}
