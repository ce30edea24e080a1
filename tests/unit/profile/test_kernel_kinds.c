/* What kernels are for, their precision and their framework, by names of tests/data and of public
 * logs, with the answer that their source or their template arguments give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "profile/names/kernel_kinds.h"

static const struct {
    const char *name;
    enum kernel_kind kind;
    enum kernel_precision precision;
    enum kernel_framework framework;
} known[] = {
    /* tests/data: cuDNN, cuBLAS and PyTorch */
    {"void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float, false, true, "
     "(cudnnKernelDataType_t)2>(cudnn::engines_precompiled::nchw2nhwc_params_t<float>, float "
     "const*, float*)",
     KERNEL_LAYOUT, KERNEL_UNKNOWN, KERNEL_NO_FRAMEWORK},
    {"void cudnn::engines_precompiled::nhwcToNchwKernel<float, float, float, true, false, "
     "(cudnnKernelDataType_t)0>()",
     KERNEL_LAYOUT, KERNEL_UNKNOWN, KERNEL_NO_FRAMEWORK},
    {"void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(float, float)",
     KERNEL_BATCH_NORM, KERNEL_UNKNOWN, KERNEL_NO_FRAMEWORK},
    {"void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, false>()",
     KERNEL_SPLIT_K, KERNEL_UNKNOWN, KERNEL_NO_FRAMEWORK},
    {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize64x32x64_stage5_"
     "warpsize2x2x1_g1_tensor16x8x8_alignc4_execute_kernel__5x_cudnn",
     KERNEL_MATRIX, KERNEL_TF32, KERNEL_NO_FRAMEWORK},
    {"sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize32x32x64_stage3_warpsize2x2x1_tensor16x8x8_"
     "aligna4_alignc4_execute_kernel__5x_cublas",
     KERNEL_MATRIX, KERNEL_TF32, KERNEL_NO_FRAMEWORK},
    {"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>()", KERNEL_MATRIX,
     KERNEL_TF32, KERNEL_NO_FRAMEWORK},
    {"sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize32x32x8_stage3_"
     "warpsize1x2x1_g1_ffma_aligna4_alignc4_execute_kernel__5x_cudnn",
     KERNEL_MATRIX, KERNEL_FP32, KERNEL_NO_FRAMEWORK},
    {"void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, true>()",
     KERNEL_MATRIX, KERNEL_FP32, KERNEL_NO_FRAMEWORK},
    {"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, float, float, "
     "float, false, true, true, false, 7, false>()",
     KERNEL_MATRIX, KERNEL_FP32, KERNEL_NO_FRAMEWORK},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
     "std::array<char*, 3ul> >()",
     KERNEL_POINTWISE, KERNEL_UNKNOWN, KERNEL_PYTORCH},
    {"void at::native::(anonymous namespace)::max_pool_forward_nchw<float, int>()", KERNEL_OTHER,
     KERNEL_UNKNOWN, KERNEL_PYTORCH},
    /* PyTorch */
    {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda("
     "at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul>, 4, "
     "at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >()",
     KERNEL_CAST, KERNEL_UNKNOWN, KERNEL_PYTORCH},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda("
     "at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >()",
     KERNEL_CAST, KERNEL_HALF, KERNEL_PYTORCH},
    {"void at::native::elementwise_kernel<128, 2, at::native::direct_copy_kernel_cuda("
     "at::TensorIteratorBase&)::{lambda(float)#1}>()",
     KERNEL_OTHER, KERNEL_UNKNOWN, KERNEL_PYTORCH},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
     "std::array<char*, 1ul> >()",
     KERNEL_OTHER, KERNEL_UNKNOWN, KERNEL_PYTORCH},
    {"triton_poi_fused_add_relu_7", KERNEL_OTHER, KERNEL_UNKNOWN, KERNEL_PYTORCH},
    /* cuBLAS, CUTLASS */
    {"ampere_sgemm_128x64_nn", KERNEL_MATRIX, KERNEL_FP32, KERNEL_NO_FRAMEWORK},
    {"turing_fp16_s1688gemm_fp16_128x64_sliced1x2_ldg8_f2f_tn", KERNEL_MATRIX, KERNEL_HALF,
     KERNEL_NO_FRAMEWORK},
    {"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", KERNEL_MATRIX, KERNEL_HALF,
     KERNEL_NO_FRAMEWORK},
    {"volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_tn", KERNEL_MATRIX, KERNEL_HALF,
     KERNEL_NO_FRAMEWORK},
    {"cutlass_80_tensorop_d884gemm_128x64_16x3_nn_align1", KERNEL_MATRIX, KERNEL_FP64,
     KERNEL_NO_FRAMEWORK},
    {"nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT", KERNEL_MATRIX, KERNEL_UNKNOWN,
     KERNEL_NO_FRAMEWORK},
    {"void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, float, float, 128>()",
     KERNEL_MATRIX, KERNEL_HALF, KERNEL_NO_FRAMEWORK},
    {"void cutlass::Kernel2<cutlass::reduction::kernel::ReduceSplitK<float> >()", KERNEL_SPLIT_K,
     KERNEL_UNKNOWN, KERNEL_NO_FRAMEWORK},
    /* others */
    {"trt_ampere_h16816gemm_128x64_ldg8_nn_v1", KERNEL_MATRIX, KERNEL_HALF, KERNEL_TENSORRT},
    {"void genericReformat::copyPackedKernel<float, float, true, true>()", KERNEL_LAYOUT,
     KERNEL_UNKNOWN, KERNEL_TENSORRT},
    {"__myl_FcAdd_0x1b2c", KERNEL_OTHER, KERNEL_UNKNOWN, KERNEL_TENSORRT},
    {"loop_add_fusion", KERNEL_OTHER, KERNEL_UNKNOWN, KERNEL_XLA},
    {"input_reduce_fusion_2", KERNEL_OTHER, KERNEL_UNKNOWN, KERNEL_XLA},
    {"wrapped_convert", KERNEL_CAST, KERNEL_UNKNOWN, KERNEL_XLA},
    {"cupy_add__float32_float32_float32", KERNEL_OTHER, KERNEL_UNKNOWN, KERNEL_CUPY},
    {"void tensorflow::BiasNHWCKernel<float>(int, float const*, float const*, float*, int)",
     KERNEL_POINTWISE, KERNEL_UNKNOWN, KERNEL_TENSORFLOW},
    {"saxpy(int, float, float*, float*)", KERNEL_OTHER, KERNEL_UNKNOWN, KERNEL_NO_FRAMEWORK},
    {"", KERNEL_OTHER, KERNEL_UNKNOWN, KERNEL_NO_FRAMEWORK},
    {NULL, KERNEL_OTHER, KERNEL_UNKNOWN, KERNEL_NO_FRAMEWORK},
};

static void names_are_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *name = known[i].name;

        if (kernel_kind_of(name) != known[i].kind)
            fail_msg("%s: kind %d", name, (int)kernel_kind_of(name));
        if (kernel_precision_of(name) != known[i].precision)
            fail_msg("%s: precision %d", name, (int)kernel_precision_of(name));
        if (kernel_framework_of(name) != known[i].framework)
            fail_msg("%s: framework %d", name, (int)kernel_framework_of(name));
    }
}

static void any_text_is_read_to_its_end_only(void **state)
{
    char name[] =
        "at::native::vectorized_elementwise_kernel<direct_copy_kernel_cuda, LoadWithCast>";

    (void)state;
    for (size_t length = 0; length < sizeof name; length++) {
        char part[sizeof name] = "";

        memcpy(part, name, length);
        kernel_kind_of(part);
        kernel_precision_of(part);
        kernel_framework_of(part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_known),
        cmocka_unit_test(any_text_is_read_to_its_end_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
