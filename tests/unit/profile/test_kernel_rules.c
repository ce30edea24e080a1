/* What kernels are by their names: names of tests/data and of public logs of cuBLAS, cuDNN,
 * CUTLASS, TensorRT, PyTorch, FlashAttention, FlashInfer and NCCL, with the answer that their
 * source or the instruction in the name gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "profile/names/kernel_kinds.h"

static const char *const tensor_kernels[] = {
    /* tests/data */
    ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize64x32x64_stage5_"
     "warpsize2x2x1_g1_tensor16x8x8_alignc4_execute_kernel__5x_cudnn"),
    ("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize32x32x64_stage3_warpsize2x2x1_tensor16x8x8_"
     "aligna4_alignc4_execute_kernel__5x_cublas"),
    ("sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x32x32_"
     "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn"),
    ("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align1>"
     "(cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align1::Params)"),
    /* cuBLAS */
    "volta_h884gemm_128x64_ldg8_nn",
    "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_tn",
    "turing_fp16_s1688gemm_fp16_128x64_sliced1x2_ldg8_f2f_tn",
    "ampere_fp16_s16816gemm_fp16_256x128_ldg8_f2f_stages_32x3_nn",
    "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn",
    "ampere_h16816gemm_128x128_ldg8_stages_32x5_tn",
    "cutlass_80_tensorop_d884gemm_128x64_16x3_nn_align1",
    "void cutlass::Kernel2<cutlass_75_wmma_tensorop_f16_s161616gemm_f16_16x16_128x2_tn_align8>",
    ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_"
     "segment_k_off_kernel__5x_cublas"),
    "nvjet_hsh_256x128_64x4_2x1_v_bz_TNN",
    "nvjet_sm100_tst_64x16_64x16_2x4_2cta_h_bz_splitK_TNT",
    ("cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_f16_f16_128x128x64_2x1x1_0_ttt_align8_"
     "warpspecialized_pingpong_epi_tma"),
    ("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, "
     "int>, cutlass::gemm::collective::CollectiveMma<cutlass::gemm::"
     "MainloopSm90TmaGmmaWarpSpecialized<7>, cute::tuple<cute::C<128> > > > >"),
    /* cuDNN */
    ("void cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688fprop_optimized_tf32_64x64_16x10_nhwc_"
     "align4>(cutlass_tensorop_s1688fprop_optimized_tf32_64x64_16x10_nhwc_align4::Params)"),
    "turing_fp16_s1688cudnn_fp16_256x128_ldg8_relu_f2f_exp_small_nhwc_tn_v1",
    "ampere_fp16_s16816cudnn_fp16_128x128_ldg8_relu_f2f_exp_small_nhwc_tn_v1",
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0",
    "cudnn_generated_fort_native_sdpa_sm80_flash_bprop_f16_knob_26_64x64x128_1x1x1_kernel0_0",
    /* TensorRT */
    "trt_ampere_h16816gemm_128x64_ldg8_nn_v1",
    "trt_ampere_h16816cudnn_64x128_sliced1x2_ldg8_relu_exp_stages_64x4_medium_nhwc_tn_v1",
    "trt_volta_h884cudnn_256x128_ldg8_relu_exp_interior_nhwc_tn_v1",
    "trt_turing_int8_i8816cudnn_int8_128x128_ldg16_relu_singleBuffer_small_nt_v1",
    ("sm80_xmma_fprop_implicit_gemm_interleaved_i8i8_i8i32_f32_nchw_vect_c_32kcrs_vect_c_32_nchw_"
     "vect_c_32_tilesize96x64x64_stage3_warpsize2x2x1_g1_tensor16x8x32_t1r3s3_execute_kernel_trt"),
    "_gemm_mha_v2_0x7daddb359f728ff2e600188f192f4549",
    "fmha_v2_flash_attention_fp16_S_64_sm86_kernel_nl",
    /* PyTorch, FlashAttention, FlashInfer, others */
    ("fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::"
     "bfloat16_t, cutlass::arch::Sm80, true, 64, 128, 128, true, true>::Params)"),
    ("fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, "
     "cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)"),
    ("fmha_cutlassB_f16_aligned_64x64_k64_sm70(PyTorchMemEffAttention::AttentionBackwardKernel<...>"
     ")"),
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4> >",
    ("void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, "
     "cutlass::bfloat16_t> >(flash::Flash_fwd_params)"),
    "void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64> >",
    ("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::"
     "CollectiveMainloopFwdSm90<2> > > >"),
    "void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<(int)1> >",
    "void marlin::Marlin<256, 1, 8, 8, 4, 8>(int4 const*, int4 const*)",
    ("void cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::gemm::threadblock::MmaMultistage<"
     "cutlass::gemm::GemmShape<128, 128, 32>, cutlass::gemm::warp::MmaTensorOp<...> > > >"),
    "void attention_kernel_batched_impl<AttentionKernel<cutlass::arch::OpClassTensorOp> >",
    ("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int>, "
     "cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm100TmaUmmaWarpSpecialized<"
     "6, "
     "2, 2> > > >"),
    "void gemm_device<cute::TiledMMA<cute::MMA_Atom<cute::SM80_16x8x16_F32F16F16F32_TN> > >",
    "void gemm_device<cute::TiledMMA<cute::MMA_Atom<cute::SM75_16x8x8_F32F16F16F32_TN> > >",
    "void gemm_device<cute::TiledMMA<cute::MMA_Atom<cute::SM70_8x8x4_F32F16F16F32_TN> > >",
    "void gemm_device<cute::TiledMMA<cute::MMA_Atom<cute::SM90_64x128x16_F32F16F16_SS> > >",
    "void gemm_device<cute::TiledMMA<cute::MMA_Atom<cute::SM100_MMA_F16BF16_SS> > >",
    "void gemm_device<cute::TiledMMA<cute::MMA_Atom<cute::SM120_16x8x32_TN> > >",
    "ampere_int8_i16832gemm_int8_128x128_ldg16_stages_64x3_nt",
    "ampere_int8_i16864gemm_int8_128x128_ldg16_nt",
    "turing_int4_i8832cudnn_int4_128x128_nt",
    "wgmma_gemm_kernel(CUtensorMap, CUtensorMap, float*)",
    "hmma_gemm_kernel(__half const*, __half const*, float*)",
    "gemm_imma_int8(signed char const*)",
    "void vllm::awq::gemm_forward_4bit_cuda_m16n8k32(int)",
    "void deep_gemm::fp8_gemm_kernel<7168u, 2048u, 128u>(__nv_bfloat16*, float*)",
    "bmm_E2m1_E2m1E2m1_Fp32_t128x8x512u2_s6_et64x8_m128x8x64_cga1x1x1_TN_transOut_sm100f",
    "fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64MultiCtasKvVarSeqQ8Kv128Static",
    "fmha_cutlassF_f16_aligned_64x64_rf_sm75(PyTorchMemEffAttention::AttentionKernel<...>)",
    "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnBwdSm90<flash::X> > >",
    "flash::FlashAttentionForwardSm100",
    "flash::FlashAttentionBackwardSm100",
    "simple_wmma_gemm(__half*, __half*, float*, float*, int, int, int, float, float)",
};

static const char *const other_kernels[] = {
    /* tests/data */
    ("sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize32x32x8_stage3_"
     "warpsize1x2x1_g1_ffma_aligna4_alignc4_execute_kernel__5x_cudnn"),
    "void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, true>",
    ("void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(float, float, "
     "cudnnTensorStruct)"),
    ("void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float, false, true, "
     "(cudnnKernelDataType_t)2>"),
    ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, float, float, "
     "float, false, true, true, false, 7, false, cublasGemvParamsEx<int, "
     "cublasGemvTensorStridedBatched<float const>, cublasGemvTensorStridedBatched<float const> > "
     ">"),
    "void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, false, float>",
    ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
     "at::native::MeanOps<float> "
     "> >"),
    "vecAdd(float const*, float const*, float*, int)",
    /* cuBLAS, cuDNN */
    "ampere_sgemm_128x64_tn",
    "volta_sgemm_32x128_tn",
    "volta_sgemm_128x128_nn",
    "volta_dgemm_64x64_nt",
    "volta_cgemm_32x32_tn",
    "volta_scudnn_128x64_relu_interior_nn_v1",
    "ampere_scudnn_128x32_relu_xregs_large_nn_v1",
    "maxwell_fp16_sgemm_fp16_128x64_tn",
    "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x128_8x4_tn_align1>",
    ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_"
     "alignc4_execute_kernel__5x_cublas"),
    "void gemv2T_kernel_val<int, int, __half, __half, __half, float, 128, 16, 4, 4, false>",
    "void gemmSN_TN_kernel<float, 128, 16, 2, 4, 8, 9, false>",
    "void cask__5x_cudnn::computeOffsetsKernel<true, false>",
    /* TensorRT */
    "trt_volta_scudnn_128x32_relu_small_nn_v1",
    "trt_ampere_fp32_icudnn_int8x4_128x64_relu_medium_nn_v1",
    "__myl_MulAdd_0x0123456789abcdef0123456789abcdef",
    /* attention that adds up, and on ordinary cores */
    "void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4> >",
    "void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<8> >, 6, 256> >",
    "void flash::flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64> >",
    "void flash::flash_bwd_convert_dq_kernel<Flash_bwd_kernel_traits<64> >",
    "void cutlass::device_kernel<flash::FlashAttnBwdPreprocess<cute::tuple<cute::C<64> > > >",
    "void cutlass::device_kernel<flash::FlashAttnBwdPostprocessConvertdQ<cute::C<64> > >",
    "void cutlass::Kernel<cutlass::gemm::warp::MmaSimt<cutlass::gemm::GemmShape<64, 32, 8> > >",
    "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0>",
    "fmha_cutlassF_f32_aligned_64x64_rf_sm75(PyTorchMemEffAttention::AttentionKernel<float>)",
    /* not quite */
    "void fill<c10::TensorOptions>(int)",
    "hash_s8848_kernel",
    "kernel_s16816016",
    "x_s8840",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "",
};

static const char *const communication[] = {
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
    "ncclKernel_AllReduce_RING_LL_Sum_half(ncclWorkElem)",
    "ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_bf16(ncclSymDevArgs)",
    "ncclSymkDevKernel_ReduceScatter_LL_sum_f32(ncclSymkDevWorkArgs4K)",
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)",
    "void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 2, false>",
    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<4>",
    "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
    "void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<float>",
    "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*)",
    "nvshmemi_transfer_rma_kernel",
    "void mscclpp::allreduce_packet(int)",
    "void mscclpp::barrier(int)",
    "void dlslime::intranode_alltoall_kernel(int)",
    "void tensorrt_llm::all_to_all_dispatch(int)",
    "void one_shot_allgather_kernel(int)",
    "void multimem_all_gather_kernel(int)",
    "void ReduceScatterKernel(int)",
    "void two_shot_reduce_scatter_kernel(int)",
};

static const char *const computation[] = {
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >",
    "triton_poi_fused_all_gather_into_tensor_wait_tensor_0",
    "triton_red_fused__to_copy_all_reduce_mean_3",
    "ampere_sgemm_128x64_tn",
    "void cub::DeviceReduceKernel<int>",
    "",
};

#define EACH(names) for (size_t i = 0; i < sizeof(names) / sizeof *(names); i++)

static void expect(bool answer, bool expected, const char *name)
{
    if (answer != expected)
        fail_msg("%s: %s", name, answer ? "yes" : "no");
}

static void tensor_cores(void **state)
{
    (void)state;
    EACH(tensor_kernels)
    expect(kernel_uses_tensor_cores(tensor_kernels[i]), true, tensor_kernels[i]);
    EACH(other_kernels)
    expect(kernel_uses_tensor_cores(other_kernels[i]), false, other_kernels[i]);
    assert_false(kernel_uses_tensor_cores(NULL));
}

static void communicating(void **state)
{
    (void)state;
    EACH(communication)
    expect(kernel_communicates(communication[i]), true, communication[i]);
    EACH(computation)
    expect(kernel_communicates(computation[i]), false, computation[i]);
    assert_false(kernel_communicates(NULL));
}

static void any_text_is_read_to_its_end_only(void **state)
{
    char name[] = "xx_s16816gemm_tensor16x8x16_xmma";

    (void)state;
    for (size_t length = 0; length < sizeof name; length++) {
        char part[sizeof name] = "";

        memcpy(part, name, length);
        kernel_uses_tensor_cores(part);
        kernel_communicates(part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_cores),
        cmocka_unit_test(communicating),
        cmocka_unit_test(any_text_is_read_to_its_end_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
