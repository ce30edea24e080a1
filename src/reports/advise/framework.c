/* Which framework launched the kernels, and the advice in its words.
 *
 * The framework is that of most kernels whose names say one (kernel_kinds.def), if they are at
 * least a twentieth of all. TensorRT is also known by what its NVTX ranges say of its layers: its
 * kernels are often those of cuDNN.
 */
#include "reports/advise/build.h"

#include "base/poison.h"

/* With a smaller share, a library inside another program may use it. */
#define MIN_SHARE 0.05

static const char *const framework_names[KERNEL_FRAMEWORKS] = {
    [KERNEL_PYTORCH] = "PyTorch",       [KERNEL_TENSORRT] = "TensorRT", [KERNEL_CUPY] = "CuPy",
    [KERNEL_TENSORFLOW] = "TensorFlow", [KERNEL_XLA] = "XLA (JAX)",
};

static const struct {
    enum advise_rule_id rule;
    enum kernel_framework framework;
    const char *to_do;
} words[] = {
    {ADVISE_LAUNCH_BOUND, KERNEL_PYTORCH,
     "Use torch.compile(model, mode=\"reduce-overhead\"), which captures CUDA graphs, or capture "
     "with torch.cuda.graph and call replay() in each iteration."},
    {ADVISE_LAUNCH_BOUND, KERNEL_XLA,
     "Put the whole iteration into one jax.jit, and loops over iterations into jax.lax.scan; XLA "
     "runs it as CUDA graphs where xla_gpu_enable_command_buffer allows it."},
    {ADVISE_LAUNCH_BOUND, KERNEL_TENSORRT,
     "Call enqueueV3 once, capture a second call with cudaStreamBeginCapture and "
     "cudaStreamEndCapture, and call cudaGraphLaunch in each iteration (trtexec: --useCudaGraph)."},
    {ADVISE_LAUNCH_BOUND, KERNEL_CUPY,
     "Capture the launches once with begin_capture and end_capture of a cupy.cuda.Stream, and call "
     "launch of the graph in each iteration."},
    {ADVISE_LAUNCH_BOUND, KERNEL_TENSORFLOW,
     "Compile the whole iteration with tf.function(jit_compile=True)."},
    {ADVISE_SMALL_KERNELS, KERNEL_PYTORCH,
     "Fuse the kernels of a run into one: torch.compile(model), or a fused operator."},
    {ADVISE_SMALL_KERNELS, KERNEL_XLA,
     "Put the whole iteration into one jax.jit, so that XLA can fuse over its operations."},
    {ADVISE_SMALL_KERNELS, KERNEL_CUPY,
     "Fuse the kernels of a run into one: cupy.fuse, or a cupy.ElementwiseKernel."},
    {ADVISE_SMALL_KERNELS, KERNEL_TENSORFLOW,
     "Fuse the kernels of a run into one: tf.function(jit_compile=True)."},
    {ADVISE_UNFUSED_POINTWISE, KERNEL_PYTORCH,
     "Use torch.compile(model); for inference, fold batch normalisation into convolutions with "
     "torch.nn.utils.fusion.fuse_conv_bn_eval."},
    {ADVISE_UNFUSED_POINTWISE, KERNEL_TENSORFLOW,
     "Compile the model with tf.function(jit_compile=True)."},
    {ADVISE_LAYOUT_CHANGES, KERNEL_PYTORCH,
     "Use channels last: model.to(memory_format=torch.channels_last), and the same for the input."},
    {ADVISE_LAYOUT_CHANGES, KERNEL_TENSORRT,
     "Let the network's inputs and outputs have the format of its first and last layers: "
     "ITensor::setAllowedFormats."},
    {ADVISE_LAYOUT_CHANGES, KERNEL_XLA,
     "Write convolutions with NHWC dimension numbers (jax.lax.conv_general_dilated)."},
    {ADVISE_LAYOUT_CHANGES, KERNEL_TENSORFLOW, "Use data_format=\"channels_last\" throughout."},
    {ADVISE_LOW_PRECISION, KERNEL_PYTORCH,
     "Use torch.autocast(\"cuda\", dtype=torch.bfloat16), or model.to(torch.bfloat16), and compare "
     "the results. (FP32: torch.set_float32_matmul_precision(\"high\") allows TF32.)"},
    {ADVISE_LOW_PRECISION, KERNEL_XLA,
     "Keep parameters and inputs in jax.numpy.bfloat16, and compare the results."},
    {ADVISE_LOW_PRECISION, KERNEL_TENSORRT,
     "Build the engine with BuilderFlag::kFP16 or kBF16, and compare the results."},
    {ADVISE_REPEATED_CASTS, KERNEL_PYTORCH,
     "Convert the model once, with model.to(torch.bfloat16), in place of torch.autocast, or keep "
     "one autocast region around the whole iteration."},
    {ADVISE_PAGEABLE_COPIES, KERNEL_PYTORCH,
     "Use DataLoader(pin_memory=True) or tensor.pin_memory(), then copy with "
     "to(device, non_blocking=True)."},
};

static bool is_tensorrt(const struct advise *advise)
{
    const struct layers_result *result = &advise->layers.result;

    for (size_t i = 0; i < result->count; i++) {
        if (result->layers[i].said)
            return true;
    }
    return false;
}

void advise_find_framework(struct advise *advise)
{
    const struct deps *deps = advise->deps;
    struct advice *advice = advise->advice;
    uint64_t counts[KERNEL_FRAMEWORKS] = {0};
    uint64_t kernels = 0;
    unsigned max = KERNEL_NO_FRAMEWORK;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (deps->activities[i].kind != DEPS_KERNEL || advise->iterations->of[i] == DEPS_NONE)
            continue;
        kernels++;
        counts[advise->kinds[deps->activities[i].name].framework]++;
    }
    for (unsigned i = KERNEL_NO_FRAMEWORK + 1; i < KERNEL_FRAMEWORKS; i++) {
        if (counts[i] > (max ? counts[max] : 0))
            max = i;
    }
    if ((double)counts[max] < MIN_SHARE * (double)kernels)
        max = KERNEL_NO_FRAMEWORK;
    if (is_tensorrt(advise))
        max = KERNEL_TENSORRT;
    advice->framework = framework_names[max];
    if (max && kernels)
        advice->framework_percent = 100 * (double)counts[max] / (double)kernels;
    advise->framework = (enum kernel_framework)max;
}

const char *advise_in_words_of(enum kernel_framework framework, enum advise_rule_id rule)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].rule == rule && words[i].framework == framework)
            return words[i].to_do;
    }
    return NULL;
}
