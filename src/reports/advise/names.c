/* What has most time, what kernels are by their names, and which framework launched them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/strings.h"
#include "base/text/units.h"
#include "profile/names/kernel_kinds.h"
#include "reports/advise/build.h"

#include "base/poison.h"

/* The contents of a finding: means, texts, and the names with most time. */

/* ---- Means and texts ---- */

double advise_mean(const struct advise *advise, uint64_t sum)
{
    return (double)sum / (double)advise->judged;
}

double advise_quantity(const struct advise *advise, enum iteration_quantity quantity)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < advise->iterations->count; i++) {
        if (advise->regular[i])
            sum += advise->measures[i].values[quantity];
    }
    return advise_mean(advise, sum);
}

void advise_number(struct advise_finding *finding, const char *key, double value)
{
    if (finding->number_count < ADVISE_NUMBERS)
        finding->numbers[finding->number_count++] = (struct advise_number){key, value};
}

void advise_evidence(struct advise_finding *finding, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(finding->evidence, sizeof finding->evidence, format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 3, 0))) static void put_line(struct advise_finding *finding,
                                                           struct advise_line line,
                                                           const char *format, va_list arguments)
{
    if (finding->line_count == ADVISE_LINES)
        return;
    vsnprintf(line.text, sizeof line.text, format, arguments);
    finding->lines[finding->line_count++] = line;
}

void advise_line(struct advise_finding *finding, const char *name, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    put_line(finding, (struct advise_line){.name = name}, format, arguments);
    va_end(arguments);
}

void advise_path_line(struct advise_finding *finding, const char *path, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    put_line(finding, (struct advise_line){.name = path, .is_path = true}, format, arguments);
    va_end(arguments);
}

struct mp_shown advise_time(double ns)
{
    struct mp_shown text;

    mp_format_time_mean(text.text, sizeof text.text, ns);
    return text;
}

struct mp_shown advise_percent(double part, double whole)
{
    struct mp_shown text;

    snprintf(text.text, sizeof text.text, "%.1f %%", whole > 0 ? 100 * part / whole : 0);
    return text;
}

/* ---- Names ---- */

enum mp_status advise_tally_init(struct advise_tally *tally, const struct deps *deps)
{
    tally->names = deps->names.count + 1;
    tally->time = calloc(tally->names, sizeof *tally->time);
    tally->count = calloc(tally->names, sizeof *tally->count);
    return tally->time && tally->count ? MP_OK : MP_ERR_MEMORY;
}

void advise_tally_free(struct advise_tally *tally)
{
    free(tally->time);
    free(tally->count);
    *tally = (struct advise_tally){.time = NULL};
}

void advise_tally_add(struct advise_tally *tally, uint32_t name, uint64_t ns)
{
    tally->time[name] += ns;
    tally->count[name]++;
}

enum mp_status advise_calls_init(struct advise_calls *calls, const struct deps *deps)
{
    *calls = (struct advise_calls){.count = 0};
    return advise_tally_init(&calls->tally, deps);
}

void advise_calls_add(const struct advise *advise, struct advise_calls *calls,
                      const struct advise_call *call, uint64_t ns)
{
    calls->count++;
    calls->time += ns;
    advise_tally_add(&calls->tally, advise->deps->activities[call->first].name, ns);
}

/* The name with most time among those after `above` in the order of lines; 0: none. */
static uint32_t next_largest(const struct advise_tally *tally, uint32_t above)
{
    uint32_t max = 0;

    for (uint32_t name = 1; name < tally->names; name++) {
        uint64_t time = tally->time[name];
        uint64_t limit = tally->time[above];

        if (!tally->count[name] || (above && (time > limit || (time == limit && name <= above))))
            continue;
        if (!max || time > tally->time[max])
            max = name;
    }
    return max;
}

bool advise_is_one(double mean)
{
    return strcmp(mp_figure(mean).text, "1") == 0;
}

struct mp_shown advise_often(double count)
{
    struct mp_shown often = {"once"};

    if (!advise_is_one(count))
        snprintf(often.text, sizeof often.text, "%.17s per iteration", mp_figure(count).text);
    return often;
}

void advise_tally_lines(const struct advise *advise, const struct advise_tally *tally,
                        struct advise_finding *finding)
{
    advise_tally_max(advise, tally, ADVISE_LINES, finding);
}

static void list(const struct advise *advise, const struct advise_tally *tally, size_t iterations,
                 size_t max, struct advise_finding *finding)
{
    uint32_t name = 0;

    while (max-- && (name = next_largest(tally, name)))
        advise_line(finding, mp_intern_get(&advise->deps->names, name, NULL), "%s, %s",
                    advise_time((double)tally->time[name] / (double)iterations).text,
                    advise_often((double)tally->count[name] / (double)iterations).text);
}

void advise_tally_max(const struct advise *advise, const struct advise_tally *tally, size_t max,
                      struct advise_finding *finding)
{
    list(advise, tally, advise->judged, max, finding);
}

void advise_tally_steady(const struct advise *advise, const struct advise_tally *tally, size_t max,
                         struct advise_finding *finding)
{
    list(advise, tally, advise->steady_count, max, finding);
}

/* ---- What activities are by their names ----
 *
 * Kernels by profile/names/kernel_kinds.def, calls by what they begin with. Names are looked at
 * once, because millions of activities share few of them.
 */

/* How calls of a kind begin. The Async functions that allocate are among them: they wait for
 * nothing but take time on the host. */
static const struct {
    const char *beginning;
    enum advise_call_kind kind;
} calls_by_name[] = {
    {"cudaMalloc", ADVISE_CALL_ALLOCATES},
    {"cudaFree", ADVISE_CALL_ALLOCATES},
    {"cudaHostAlloc", ADVISE_CALL_ALLOCATES},
    {"cudaHostRegister", ADVISE_CALL_ALLOCATES},
    {"cudaHostUnregister", ADVISE_CALL_ALLOCATES},
    {"cuMemAlloc", ADVISE_CALL_ALLOCATES},
    {"cuMemFree", ADVISE_CALL_ALLOCATES},
    {"cuMemHostAlloc", ADVISE_CALL_ALLOCATES},
    {"cuMemHostRegister", ADVISE_CALL_ALLOCATES},
    {"cuMemHostUnregister", ADVISE_CALL_ALLOCATES},
    {"cuMemCreate", ADVISE_CALL_MAPS},
    {"cuMemRelease", ADVISE_CALL_MAPS},
    {"cuMemMap", ADVISE_CALL_MAPS},
    {"cuMemUnmap", ADVISE_CALL_MAPS},
    {"cuMemSetAccess", ADVISE_CALL_MAPS},
    {"cuMemAddressReserve", ADVISE_CALL_MAPS},
    {"cuMemAddressFree", ADVISE_CALL_MAPS},
    {"cudaLaunch", ADVISE_CALL_LAUNCHES},
    {"cuLaunch", ADVISE_CALL_LAUNCHES},
    {"cudaStreamBeginCapture", ADVISE_CALL_CAPTURES},
    {"cuStreamBeginCapture", ADVISE_CALL_CAPTURES},
    {"cudaGraphInstantiate", ADVISE_CALL_INSTANTIATES},
    {"cuGraphInstantiate", ADVISE_CALL_INSTANTIATES},
    {"cudaGraphExecUpdate", ADVISE_CALL_UPDATES},
    {"cuGraphExecUpdate", ADVISE_CALL_UPDATES},
    {"cudaGraphExecDestroy", ADVISE_CALL_DESTROYS},
    {"cuGraphExecDestroy", ADVISE_CALL_DESTROYS},
    {"cudaGraphDestroy", ADVISE_CALL_DESTROYS},
    {"cuGraphDestroy", ADVISE_CALL_DESTROYS},
    {"cuModuleLoad", ADVISE_CALL_LOADS},
    {"cuModuleUnload", ADVISE_CALL_LOADS},
    {"cudaLibraryLoad", ADVISE_CALL_LOADS},
    {"cudaLibraryUnload", ADVISE_CALL_LOADS},
    {"cuLibraryLoad", ADVISE_CALL_LOADS},
    {"cuLibraryUnload", ADVISE_CALL_LOADS},
    {"cuLink", ADVISE_CALL_LOADS},
    {"cuFuncLoad", ADVISE_CALL_LOADS},
};

/* Whether the call waits for the copy that it makes. */
static bool copies(const char *name)
{
    return (mp_text_starts_with(name, "cudaMemcpy") || mp_text_starts_with(name, "cuMemcpy")) &&
           !strstr(name, "Async");
}

static enum advise_call_kind call_kind_of(const char *name)
{
    for (size_t i = 0; i < sizeof calls_by_name / sizeof *calls_by_name; i++) {
        if (mp_text_starts_with(name, calls_by_name[i].beginning))
            return calls_by_name[i].kind;
    }
    return copies(name) ? ADVISE_CALL_COPIES : ADVISE_CALL_OTHER;
}

static void take_call_name(struct advise *advise, uint32_t name)
{
    enum advise_call_kind kind = call_kind_of(mp_intern_get(&advise->deps->names, name, NULL));

    advise->kinds[name].call = (uint8_t)kind;
    advise->any_call |= 1u << kind;
}

static struct advise_kind kind_of(const char *name)
{
    return (struct advise_kind){
        .kind = (uint8_t)kernel_kind_of(name),
        .precision = (uint8_t)kernel_precision_of(name),
        .framework = (uint8_t)kernel_framework_of(name),
        .communicates = kernel_communicates(name),
        .known = true,
    };
}

enum mp_status advise_kinds_load(struct advise *advise)
{
    const struct deps *deps = advise->deps;

    advise->kinds = calloc((size_t)deps->names.count + 1, sizeof *advise->kinds);
    if (!advise->kinds)
        return MP_ERR_MEMORY;
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        if (work->kind != DEPS_KERNEL || advise->kinds[work->name].known)
            continue;
        advise->kinds[work->name] = kind_of(deps_name(deps, work));
        advise->any_kind |= 1u << advise->kinds[work->name].kind;
    }
    for (uint32_t name = 1; name <= deps->names.count; name++)
        take_call_name(advise, name);
    return MP_OK;
}

bool advise_is_kind(const struct advise *advise, uint32_t index, enum kernel_kind kind)
{
    const struct deps_activity *work = &advise->deps->activities[index];

    return work->kind == DEPS_KERNEL && advise->iterations->of[index] != DEPS_NONE &&
           advise->kinds[work->name].kind == kind;
}

/* ---- Sums over kernels ---- */

enum mp_status advise_picked_init(struct advise_picked *picked, const struct deps *deps)
{
    *picked = (struct advise_picked){.count = 0};
    return advise_tally_init(&picked->tally, deps);
}

void advise_picked_add(const struct advise *advise, struct advise_picked *picked, uint32_t index)
{
    const struct deps_activity *work = &advise->deps->activities[index];

    if (!advise_counts(advise, index))
        return;
    picked->count++;
    picked->time += work->end - work->begin;
    advise_tally_add(&picked->tally, work->name, work->end - work->begin);
}

double advise_picked_percent(const struct advise *advise, const struct advise_picked *picked)
{
    const struct deps *deps = advise->deps;
    uint64_t all = 0;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        if (work->kind == DEPS_KERNEL && advise_counts(advise, i))
            all += work->end - work->begin;
    }
    return all ? 100 * (double)picked->time / (double)all : 0;
}

void advise_picked_tell(const struct advise *advise, const struct advise_picked *picked,
                        struct advise_finding *finding)
{
    advise_number(finding, "kernels", advise_mean(advise, picked->count));
    advise_number(finding, "kernels_ns", advise_mean(advise, picked->time));
    advise_number(finding, "kernel_percent", advise_picked_percent(advise, picked));
    advise_tally_lines(advise, &picked->tally, finding);
}

/* Which framework launched the kernels, and the advice in its words.
 *
 * The framework is that of most kernels whose names say one (kernel_kinds.def), if they are at
 * least a twentieth of all. TensorRT is also known by what its NVTX ranges say of its layers: its
 * kernels are often those of cuDNN.
 */

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
    {ADVISE_GRAPH_INSTANTIATION, KERNEL_PYTORCH,
     "Capture once with torch.cuda.graph, copy inputs into the tensors of the capture, and call "
     "replay() in each iteration; with torch.compile keep shapes fixed, so that it records no "
     "more."},
    {ADVISE_CODE_LOADING, KERNEL_PYTORCH,
     "Call the model once with each shape before the loop, and keep what Triton and Inductor "
     "compile: TRITON_CACHE_DIR, TORCHINDUCTOR_CACHE_DIR."},
    {ADVISE_CODE_LOADING, KERNEL_XLA,
     "Call the jitted function once with each shape before the loop, and keep what XLA compiles: "
     "jax.config.update(\"jax_compilation_cache_dir\", ...)."},
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
