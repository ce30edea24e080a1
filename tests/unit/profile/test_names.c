/* nvprof's spelling of C++ names. The expectations follow what nvprof printed in public: vecSub in
 * the reference, apache/mxnet#14684, ryujaehun/pytorch-gpu-benchmark#8, kblomdahl/dream-go#25,
 * PaddlePaddle/benchmark#329. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profile/names/names.h"

struct pair {
    const char *given;
    const char *printed;
};

static struct mp_arena arena;

static void check_names(const struct pair *pairs, size_t count,
                        const char *(*print)(const char *, struct mp_arena *))
{
    for (size_t i = 0; i < count; i++)
        assert_string_equal(print(pairs[i].given, &arena), pairs[i].printed);
    mp_arena_free(&arena);
}

#define CHECK_NAMES(pairs, print) check_names(pairs, sizeof(pairs) / sizeof *(pairs), print)

static const char *from_mangled(const char *name, struct mp_arena *into)
{
    return names_demangle(name, NAMES_NVPROF, into);
}

/* Kernels of cuDNN, PyTorch and cuBLAS as CUPTI names them. */
static const struct pair libraries[] = {
    {"_Z6vecSubPKfS0_Pfi", "vecSub(float const *, float const *, float*, int)"},
    {"volta_sgemm_128x64_nn", "volta_sgemm_128x64_nn"},
    {"_Z23implicit_convolve_sgemmIffLi1024ELi5ELi5ELi3ELi3ELi3ELi1ELb0ELb0ELb1EEvi"
     "iiPKT_iPT0_S2_18kernel_conv_paramsyiffiPKS3_S7_bbii",
     "void implicit_convolve_sgemm<float, float, int=1024, int=5, int=5, int=3, "
     "int=3, int=3, int=1, bool=0, bool=0, bool=1>(int, int, int, float const *, "
     "int, float*, float const *, kernel_conv_params, unsigned long long, int, "
     "float, float, int, float const *, float const *, bool, bool, int, int)"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt"
     "5arrayIPcLm3EEEEviT0_T1_",
     "void at::native::vectorized_elementwise_kernel<int=4, "
     "at::native::CUDAFunctor_add<float>, std::array<char*, unsigned long=3>>(int,"
     " at::native::CUDAFunctor_add<float>, std::array<char*, unsigned long=3>)"},
    {"_ZN5cudnn19engines_precompiled16nchwToNhwcKernelIfffLb0ELb1EL21cudnnKernelDa"
     "taType_t0EEEvNS0_18nchw2nhwc_params_tIT1_EEPKT_PT0_",
     "void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float, "
     "bool=0, bool=1, cudnnKernelDataType_t=0>(cudnn::engines_precompiled::nchw2nh"
     "wc_params_t<float>, float const *, float*)"},
    {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffEEjfL"
     "i4ELi4EEEEEvT1_",
     "void at::native::reduce_kernel<int=512, int=1, at::native::ReduceOp<float, "
     "at::native::MeanOps<float, float, float, float>, unsigned int, float, int=4,"
     " int=4>>(at::native::ReduceOp<float, at::native::MeanOps<float, float, "
     "float, float>, unsigned int, float, int=4, int=4>)"},
    {"_ZN8internal5gemvx6kernelIiiffffLb0ELb1ELb1ELb0ELi7ELb0E18cublasGemvParamsEx"
     "Ii30cublasGemvTensorStridedBatchedIKfES5_S3_IfEfEEENSt9enable_ifIXntT5_EvE4t"
     "ypeET11_",
     "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, "
     "float, float, float, float, bool=0, bool=1, bool=1, bool=0, int=7, bool=0, "
     "cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<float const >, "
     "cublasGemvTensorStridedBatched<float const >, "
     "cublasGemvTensorStridedBatched<float>, float>>(cublasGemvParamsEx<int, "
     "cublasGemvTensorStridedBatched<float const >, "
     "cublasGemvTensorStridedBatched<float const >, "
     "cublasGemvTensorStridedBatched<float>, float>)"},
};

static void library_kernels_read_as_in_nvprof(void **state)
{
    (void)state;
    CHECK_NAMES(libraries, from_mangled);
}

static void values_get_their_types(void **state)
{
    static const struct pair pairs[] = {
        {"void f<8>()", "void f<int=8>()"},
        {"void f<-8, 8u, 8l, 8ul, 8ll, 8ull>()",
         "void f<int=-8, unsigned int=8, long=8, unsigned long=8, long long=8, "
         "unsigned long long=8>()"},
        {"void f<true, false>()", "void f<bool=1, bool=0>()"},
        {"void f<(char)97, (short)-3, (unsigned char)255>()",
         "void f<char=97, short=-3, unsigned char=255>()"},
        {"void op_tensor_kernel<2, float, 32, (cudnnOpTensorOp_t)2, (cudnnNanPropagation_t)0>()",
         "void op_tensor_kernel<int=2, float, int=32, cudnnOpTensorOp_t=2, "
         "cudnnNanPropagation_t=0>()"},
        {"void f<(cub::Policy<4, true>::Mode)1>()", "void f<cub::Policy<int=4, bool=1>::Mode=1>()"},
        {"void g<A<1, B<2> >, 3>(C<4>)", "void g<A<int=1, B<int=2>>, int=3>(C<int=4>)"},
    };

    (void)state;
    CHECK_NAMES(pairs, names_nvprof);
}

/* Of PaddlePaddle/benchmark#329, shortened. */
static void const_keeps_its_distance(void **state)
{
    static const struct pair pairs[] = {
        {"f(float const*, float const&, float*, float&)",
         "f(float const *, float const &, float*, float&)"},
        {"f(float const* const*, char volatile*, int const&&)",
         "f(float const * const *, char volatile *, int const &&)"},
        {"void E<O<M<T<float const, 2, 1, int>, 16> const, B<array<long, 2ul> const> const> const, "
         "G>(float)",
         "void E<O<M<T<float const , int=2, int=1, int>, int=16> const , B<array<long, unsigned "
         "long=2> const > const > const , G>(float)"},
        {"constant(constexpr_t*, my_const*)", "constant(constexpr_t*, my_const*)"},
        {"f() const", "f() const"},
        {"A::operator()() const::{lambda(int)#1}*", "A::operator()() const::{lambda(int)#1}*"},
        {"f(char const [8])", "f(char const [8])"},
    };

    (void)state;
    CHECK_NAMES(pairs, names_nvprof);
}

static void what_is_no_whole_argument_stays(void **state)
{
    static const struct pair pairs[] = {
        {"kernel_8<Type8, a8::b, x<float>::y8>(int [8], double (*)[4])",
         "kernel_8<Type8, a8::b, x<float>::y8>(int [8], double (*)[4])"},
        {"f(8, true)", "f(8, true)"}, /* no template */
        {"void f<trueish, falsehood, 8x8>()", "void f<trueish, falsehood, 8x8>()"},
        {"void f<(anonymous namespace)::g, &h, (float)[3f800000]>()",
         "void f<(anonymous namespace)::g, &h, (float)[3f800000]>()"},
        {"void f<((3)<(4)), (a)>(4)), 8>()", "void f<((3)<(4)), (a)>(4)), 8>()"},
        {"void f<((3)<(4)), ((a)>(4)), 8>()", "void f<((3)<(4)), ((a)>(4)), int=8>()"},
        {"std::enable_if<!(false), void>::type f<1>()",
         "std::enable_if<!(false), void>::type f<int=1>()"},
        {"f<decltype (a->b), 8>()", "f<decltype (a->b), int=8>()"},
        {"", ""},
    };

    (void)state;
    CHECK_NAMES(pairs, names_nvprof);
}

static void operators_are_no_brackets(void **state)
{
    static const struct pair pairs[] = {
        {"bool operator< <8>(A<3> const&)", "bool operator< <int=8>(A<int=3> const &)"},
        {"s& operator<< <8>(int)", "s& operator<< <int=8>(int)"},
        {"bool operator><8>(int)", "bool operator><int=8>(int)"},
        {"int A<1>::operator()<2>(int) const", "int A<int=1>::operator()<int=2>(int) const"},
        {"A<1>::operator->()", "A<int=1>::operator->()"},
        {"void f<&A::operator>>, 8>(int)", "void f<&A::operator>>, int=8>(int)"},
        {"A::operator[](int)", "A::operator[](int)"},
    };

    (void)state;
    CHECK_NAMES(pairs, names_nvprof);
}

static void what_does_not_pair_stays_as_it_is(void **state)
{
    static const struct pair pairs[] = {
        {"void f<8", "void f<8"},   {"void f<8)", "void f<8)"},     {"f(8]", "f(8]"},
        {"void f<(8", "void f<(8"}, {"void f<(a)8", "void f<(a)8"},
    };
    static const size_t deepest = 5000;
    char *deep = malloc(2 * deepest + 3);

    (void)state;
    CHECK_NAMES(pairs, names_nvprof);
    assert_non_null(deep);
    for (size_t i = 0; i < deepest; i++)
        memcpy(deep + 2 * i, "a<", 2);
    memcpy(deep + 2 * deepest, "8>", 3);
    assert_string_equal(names_nvprof(deep, &arena), deep);
    mp_arena_free(&arena);
    free(deep);
}

static void styles_are_what_they_say(void **state)
{
    static const char name[] = "_Z1fILi8EEvPKf";

    (void)state;
    assert_ptr_equal(names_demangle(name, NAMES_MANGLED, &arena), name);
    assert_string_equal(names_demangle(name, NAMES_READABLE, &arena), "void f<8>(float const*)");
    assert_string_equal(names_demangle(name, NAMES_NVPROF, &arena), "void f<int=8>(float const *)");
    assert_int_equal(NAMES_MANGLED, false);
    assert_int_equal(NAMES_READABLE, true);
    mp_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(library_kernels_read_as_in_nvprof),
        cmocka_unit_test(values_get_their_types),
        cmocka_unit_test(const_keeps_its_distance),
        cmocka_unit_test(what_is_no_whole_argument_stays),
        cmocka_unit_test(operators_are_no_brackets),
        cmocka_unit_test(what_does_not_pair_stays_as_it_is),
        cmocka_unit_test(styles_are_what_they_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
