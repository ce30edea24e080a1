/* Runs the rules of `advise` and sorts their findings: estimates before bounds,
 * then by gain times confidence. A rule without the data it needs is
 * listed with its reason, so that silence never looks like a good result.
 */
#include "reports/advise/advise.h"

#include <stdlib.h>
#include <string.h>

#include "reports/advise/build.h"

#include "base/poison.h"

/* A smaller gain is not worth a change, because iterations differ by as much from noise. */
#define MIN_PERCENT 1.0

/* Outliers are recognised by the spread, which fewer iterations do not show. */
#define MIN_FOR_TAIL 10

enum needs {
    NEEDS_CALLS = 1,
    NEEDS_LOOP = 2, /* more than one iteration */
    NEEDS_MANY = 4,
    NEEDS_LAYERS = 8,
    NEEDS_OCCUPANCY = 16,
    NEEDS_SAMPLES = 32,
    NEEDS_SYNCS = 64 /* what each synchronising call waited for */
};

static const struct {
    const char *key;
    const char *title;
    advise_judge *judge;
    unsigned needs;
    enum advise_certainty certainty;
    double confidence; /* how sure the gain is if the advice is followed: docs/advise.md */
    const char *to_do;
} rules[ADVISE_RULES] = {
    [ADVISE_LAUNCH_BOUND] =
        {"launch_bound", "The GPU waits for launches", advise_launch_bound,
         NEEDS_CALLS | NEEDS_LOOP, ADVISE_ESTIMATE, 0.9,
         "Capture the launches once with cudaStreamBeginCapture and cudaStreamEndCapture, "
         "instantiate with cudaGraphInstantiate, and call cudaGraphLaunch in each iteration."},
    [ADVISE_PAGEABLE_COPIES] =
        {"pageable_copies", "Copies from or to pageable memory", advise_pageable_copies, 0,
         ADVISE_ESTIMATE, 0.9,
         "Allocate the host's side with cudaMallocHost, or pin it once with cudaHostRegister; then "
         "copy with cudaMemcpyAsync."},
    [ADVISE_SYNCHRONOUS_COPIES] =
        {"synchronous_copies", "Copies for which the host waits", advise_synchronous_copies,
         NEEDS_CALLS, ADVISE_ESTIMATE, 0.8,
         "Copy with cudaMemcpyAsync from pinned memory, on the stream that uses the data; wait "
         "where the host needs it, with cudaEventSynchronize."},
    [ADVISE_NEEDLESS_WAIT] =
        {"needless_wait", "Synchronisation that nothing needs", advise_needless_wait,
         NEEDS_CALLS | NEEDS_SYNCS, ADVISE_ESTIMATE, 0.7,
         "Remove the call: work of one stream runs in order anyway. Order streams with "
         "cudaEventRecord and cudaStreamWaitEvent."},
    [ADVISE_EXPOSED_COPIES] =
        {"exposed_copies", "Copies that no kernel overlaps", advise_exposed_copies, NEEDS_LOOP,
         ADVISE_BOUND, 0.7,
         "Give copies a stream of their own and two sets of buffers: copy the next input with "
         "cudaMemcpyAsync while this iteration computes, and order both with cudaStreamWaitEvent."},
    [ADVISE_SMALL_KERNELS] =
        {"small_kernels", "Runs of small kernels", advise_small_kernels, 0, ADVISE_BOUND, 0.3,
         "Fuse the kernels of a run into one (a fused kernel of the library, a compiler such as "
         "torch.compile or TensorRT, or by hand)."},
    [ADVISE_ALLOCATION] =
        {"allocation", "Memory is allocated inside the loop", advise_allocation,
         NEEDS_CALLS | NEEDS_LOOP, ADVISE_ESTIMATE, 0.9,
         "Allocate once before the loop and use it again; where sizes vary, cudaMallocAsync from a "
         "pool with a high cudaMemPoolAttrReleaseThreshold."},
    [ADVISE_HOST_BOUND] =
        {"host_bound", "The GPU waits for the host", advise_host_bound, NEEDS_CALLS | NEEDS_LOOP,
         ADVISE_BOUND, 0.5,
         "Prepare the next input and use the last result in other threads while the GPU works, or "
         "do that work on the GPU."},
    [ADVISE_SLOW_LAYER] =
        {"slow_layer", "One kernel dominates the critical path", advise_slow_layer, 0, ADVISE_BOUND,
         0.3,
         "Make this kernel faster first: `miniprof metrics`, lower precision, another algorithm or "
         "launch shape."},
    [ADVISE_UNUSED_STREAMS] =
        {"unused_streams", "Independent work runs one after the other", advise_unused_streams, 0,
         ADVISE_BOUND, 0.5,
         "Create streams with cudaStreamCreateWithFlags and cudaStreamNonBlocking, compile with "
         "--default-stream per-thread, and wait after the last launch only."},
    [ADVISE_TAIL] =
        {"tail", "Some iterations take much longer", advise_tail, NEEDS_LOOP | NEEDS_MANY,
         ADVISE_BOUND, 0.5,
         "Look at one of them with `miniprof deps`: what it has more of is what to keep "
         "out of the loop, or away from its processor (taskset, chrt)."},
    [ADVISE_PAGE_FAULTS] = {"page_faults", "Unified memory moves during iterations",
                            advise_page_faults, 0, ADVISE_BOUND, 0.7,
                            "Move data before its use with cudaMemPrefetchAsync, and say where it "
                            "belongs with cudaMemAdvise; or use cudaMalloc and explicit copies."},
    [ADVISE_REFORMAT_LAYERS] =
        {"reformat_layers", "Layers only reformat or copy", advise_reformat_layers, NEEDS_LAYERS,
         ADVISE_BOUND, 0.7,
         "Give the layers around them one format and precision: inputs and outputs of the engine "
         "in "
         "the format that its first and last layers want, precisions not mixed from layer to "
         "layer."},
    [ADVISE_LAYOUT_CHANGES] =
        {"layout_changes", "Kernels only change the layout", advise_layout_changes, 0,
         ADVISE_ESTIMATE, 0.6,
         "Keep tensors from the input on in the layout that the matrix kernels want: NHWC "
         "(channels last)."},
    [ADVISE_UNFUSED_POINTWISE] =
        {"unfused_pointwise", "Pointwise kernels are not fused", advise_unfused_pointwise, 0,
         ADVISE_BOUND, 0.6,
         "Fold batch normalisation into the weights of the convolution before it; let the matrix "
         "kernels apply bias, activation and sum (epilogues of cuBLASLt, cuDNN's graphs), or use a "
         "compiler that fuses."},
    [ADVISE_LOW_PRECISION] =
        {"low_precision", "Matrix kernels compute with 32 bits", advise_low_precision, 0,
         ADVISE_BOUND, 0.5,
         "Compute matrix products in FP16 or BF16 with sums in FP32, and compare the results."},
    [ADVISE_SPLIT_K] =
        {"split_k", "Matrix products are split along K", advise_split_k, 0, ADVISE_BOUND, 0.3,
         "Give the matrix kernels more rows at once (a larger batch), so that they need not be "
         "split; with cuBLASLt, try CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK with "
         "CUBLASLT_REDUCTION_SCHEME_NONE."},
    [ADVISE_REPEATED_CASTS] =
        {"repeated_casts", "Tensors are converted again and again", advise_repeated_casts, 0,
         ADVISE_BOUND, 0.5,
         "Convert weights once, before the loop, and keep one type from the input to the "
         "result."},
    [ADVISE_SMALL_GRIDS] = {"small_grids", "Grids do not fill the GPU", advise_small_grids,
                            NEEDS_OCCUPANCY, ADVISE_BOUND, 0.3,
                            "Give the GPU more work at once: a larger batch, several requests in "
                            "one, or other work on "
                            "another stream."},
    [ADVISE_CONSTANT_COPIES] =
        {"constant_copies", "The same is copied again and again", advise_constant_copies,
         NEEDS_LOOP, ADVISE_BOUND, 0.2,
         "If the contents are the same in each iteration, copy them once before the loop and keep "
         "them on the device."},
    [ADVISE_MEMORY_BOUND] =
        {"memory_bound", "Device memory is at its limit", advise_memory_bound, NEEDS_SAMPLES,
         ADVISE_BOUND, 0.5,
         "A faster kernel cannot help: move fewer bytes. Fuse these kernels with those around "
         "them, or store their tensors with lower precision."},
    [ADVISE_IDLE_TENSOR_CORES] =
        {"idle_tensor_cores", "Tensor cores idle in matrix kernels", advise_idle_tensor_cores,
         NEEDS_SAMPLES, ADVISE_BOUND, 0.5,
         "Compute with FP16, BF16 or TF32, with sizes that are multiples of 8, and give the "
         "kernels more rows at once (a larger batch)."},
    [ADVISE_FEW_SMS] = {"few_sms", "Few SMs are active", advise_few_sms, NEEDS_SAMPLES,
                        ADVISE_BOUND, 0.3,
                        "Give the GPU more work at once: a larger batch, several requests in one, "
                        "or other work on another stream."},
    [ADVISE_FULL_PCIE] =
        {"full_pcie", "PCIe is saturated by copies", advise_full_pcie, NEEDS_SAMPLES, ADVISE_BOUND,
         0.3,
         "Copy fewer bytes: lower precision, the part that is needed, or compute on the GPU what "
         "is copied now."},
    [ADVISE_LOW_CLOCKS] =
        {"low_clocks", "Power or heat lowers the clocks", advise_low_clocks, NEEDS_SAMPLES,
         ADVISE_BOUND, 0.3,
         "Look at `nvidia-smi -q -d POWER,TEMPERATURE`: raise the limit of power if it may be "
         "raised (nvidia-smi -pl), cool better, or draw less with lower precision."},
    [ADVISE_NCCL_WAITING] =
        {"nccl_waiting", "NCCL spins and waits for other ranks", advise_nccl_waiting, NEEDS_SAMPLES,
         ADVISE_BOUND, 0.5,
         "Look for the rank that comes last, with `miniprof ranks` on the traces of all ranks."},
    [ADVISE_GRAPH_INSTANTIATION] =
        {"graph_instantiation", "A CUDA graph is made inside the loop", advise_graph_instantiation,
         NEEDS_CALLS | NEEDS_LOOP, ADVISE_ESTIMATE, 0.8,
         "Instantiate once before the loop and launch that graph in each iteration. Where "
         "parameters change, use cudaGraphExecKernelNodeSetParams or cudaGraphExecUpdate; where "
         "shapes change, keep a graph for each."},
    [ADVISE_POOL_RELEASE] =
        {"pool_release", "A memory pool gives its memory back in the loop", advise_pool_release,
         NEEDS_CALLS | NEEDS_LOOP, ADVISE_ESTIMATE, 0.9,
         "Let the pool keep its memory: cudaMemPoolSetAttribute with "
         "cudaMemPoolAttrReleaseThreshold and UINT64_MAX, once, before the loop."},
    [ADVISE_CODE_LOADING] =
        {"code_loading", "Code is loaded inside the loop", advise_code_loading,
         NEEDS_CALLS | NEEDS_LOOP, ADVISE_ESTIMATE, 0.9,
         "Load before the loop: CUDA_MODULE_LOADING=EAGER, or one iteration of each shape as "
         "warm-up; keep what is loaded. Ship machine code for this GPU, so that no PTX is "
         "compiled (nvcc -gencode)."},
    [ADVISE_BLOCKED_CALLS] =
        {"blocked_calls", "Calls wait while another thread loads or allocates",
         advise_blocked_calls, NEEDS_CALLS | NEEDS_LOOP, ADVISE_ESTIMATE, 0.6,
         "Load and allocate before the loop: these calls hold a lock of the context. Or do it in "
         "another process."},
    [ADVISE_LATE_RANK] = {"late_rank", "A rank comes late to its peers", NULL, 0, ADVISE_ESTIMATE,
                          0.7,
                          "Look at what this rank does before it: `miniprof ranks` names causes, "
                          "`miniprof deps --iteration` has the path; then even out the work, or "
                          "move it out of the step."},
    [ADVISE_SLOWED_GPU] = {"slowed_gpu", "The GPU of a rank is slower than the others", NULL, 0,
                           ADVISE_ESTIMATE, 0.5,
                           "Look at `nvidia-smi` on its host for other processes on this GPU, and "
                           "at its errors and links; give the rank a GPU that nobody else uses."},
    [ADVISE_SLOWER_CLOCKS] =
        {"slower_clocks", "The GPU of a rank has lower clocks", NULL, 0, ADVISE_ESTIMATE, 0.7,
         "Look at `nvidia-smi -q -d CLOCK,POWER,TEMPERATURE` on its host: cool "
         "it, raise its limit of power, or lock the clocks of all GPUs alike "
         "(nvidia-smi -lgc)."},
    [ADVISE_UNEVEN_STAGES] = {"uneven_stages", "Stages of a pipeline have unequal work", NULL, 0,
                              ADVISE_ESTIMATE, 0.7,
                              "Move layers from the stages that compute longest to the others, "
                              "until all compute equally long."},
    [ADVISE_BUBBLES] = {"pipeline_bubbles", "Stages of a pipeline wait for each other", NULL, 0,
                        ADVISE_BOUND, 0.3,
                        "Cut the batch into more microbatches, interleave stages, and give the "
                        "stages equally much work."},
    [ADVISE_TRANSFERS] = {"transfers", "Transfers of NCCL are on the critical path", NULL, 0,
                          ADVISE_BOUND, 0.3,
                          "Start collectives earlier on a stream of their own, so that the GPU "
                          "computes meanwhile; send less (16 bits, larger buckets, fewer ranks)."},
};

static const struct {
    const char *key;
    const char *text;
} reasons[ADVISE_REASONS] = {
    [ADVISE_TRIED] = {NULL, NULL},
    [ADVISE_NO_CALLS] = {"no_calls", "no API calls in the trace"},
    [ADVISE_NO_SYNCS] = {"no_syncs", "another profiler had CUPTI's callbacks, which tell of waits"},
    [ADVISE_NO_WORK] = {"no_gpu_work", "no GPU work in the iterations"},
    [ADVISE_NO_LOOP] = {"no_loop", "there is but one iteration"},
    [ADVISE_FEW] = {"few_iterations", "fewer than 10 iterations"},
    [ADVISE_NO_LAYERS] = {"no_layers", "no NVTX ranges of layers in the iterations"},
    [ADVISE_NO_OCCUPANCY] = {"no_occupancy", "no launch shapes with limits of their device"},
    [ADVISE_NO_SAMPLES] = {"no_samples", "no counters were sampled: MINIPROF_SAMPLE"},
    [ADVISE_PROFILED] = {"profiled", "kernels were run again for metrics"},
    [ADVISE_GAP] = {NULL, NULL},
    [ADVISE_ONE_RANK] = {"one_rank", "one rank's trace does not know whom NCCL waits for: give the "
                                     "folder of all ranks"},
};

const char *advise_rule_key(enum advise_rule_id rule)
{
    return rules[rule].key;
}

const char *advise_reason_key(const struct advice *advice, enum advise_reason reason)
{
    return reason == ADVISE_GAP ? advice->gap->key : reasons[reason].key;
}

const char *advise_reason_text(const struct advice *advice, enum advise_reason reason)
{
    return reason == ADVISE_GAP ? advice->gap->why : reasons[reason].text;
}

/* ---- Judging ---- */

static bool has_work(const struct advise *advise)
{
    for (uint32_t i = advise->deps->host_count; i < advise->deps->count; i++) {
        if (advise->iterations->of[i] != DEPS_NONE)
            return true;
    }
    return false;
}

/* Whether kernels of NCCL or the like are among the work. */
static bool communicates(const struct advise *advise)
{
    for (uint32_t name = 1; name <= advise->deps->names.count; name++) {
        if (advise->kinds[name].communicates)
            return true;
    }
    return false;
}

/* Why this rule cannot be judged. */
static enum advise_reason why_not(const struct advise *advise, enum advise_rule_id rule)
{
    unsigned needs = rules[rule].needs;

    if (quality_gap(&advise->deps->quality))
        return ADVISE_GAP; /* advice->gap says which */
    if (!advise->has_work)
        return ADVISE_NO_WORK;
    if (!rules[rule].judge)
        return communicates(advise) && !advise->deps->peers ? ADVISE_ONE_RANK : ADVISE_TRIED;
    if (advise->deps->quality.profiled)
        return ADVISE_PROFILED;
    if ((needs & NEEDS_CALLS) && advise->deps->no_calls)
        return ADVISE_NO_CALLS;
    if ((needs & NEEDS_SYNCS) && advise->deps->quality.callbacks_taken)
        return ADVISE_NO_SYNCS;
    if ((needs & NEEDS_LOOP) && advise->iterations->count < 2)
        return ADVISE_NO_LOOP;
    if ((needs & NEEDS_LAYERS) && !advise->layers.any)
        return ADVISE_NO_LAYERS;
    if ((needs & NEEDS_OCCUPANCY) && !advise->has_occupancy)
        return ADVISE_NO_OCCUPANCY;
    if ((needs & NEEDS_SAMPLES) && !advise->sampled.any)
        return ADVISE_NO_SAMPLES;
    return (needs & NEEDS_MANY) && advise->iterations->count < MIN_FOR_TAIL ? ADVISE_FEW
                                                                            : ADVISE_TRIED;
}

/* Whether a finding stands before another one, and not only because its rule comes first. */
static bool comes_first(const struct advise_finding *one, const struct advise_finding *other)
{
    if (one->certainty != other->certainty)
        return one->certainty < other->certainty;
    return (double)one->gain * one->confidence > (double)other->gain * other->confidence;
}

/* Inserts a finding where it belongs; of equal ones the first rule's comes first. */
static void advise_keep(struct advice *advice, const struct advise_finding *finding)
{
    size_t at = advice->count++;

    for (; at && comes_first(finding, &advice->findings[at - 1]); at--)
        advice->findings[at] = advice->findings[at - 1];
    advice->findings[at] = *finding;
}

struct advise_finding advise_finding_of(enum advise_rule_id rule)
{
    return (struct advise_finding){
        .rule = rule,
        .title = rules[rule].title,
        .to_do = rules[rule].to_do,
        .certainty = rules[rule].certainty,
        .confidence = rules[rule].confidence,
    };
}

void advise_add(struct advice *advice, struct advise_finding *finding)
{
    if (!advice->basis || advice->count == ADVISE_RULES)
        return;
    finding->percent = 100 * (double)finding->gain / (double)advice->basis;
    if (finding->percent >= MIN_PERCENT)
        advise_keep(advice, finding);
}

static enum mp_status advise_judge_rule(struct advise *advise, enum advise_rule_id rule,
                                        struct advice *advice)
{
    struct advise_finding finding = advise_finding_of(rule);
    const char *words = advise_in_words_of(advise->framework, rule);

    memset(advise->edits, 0, (size_t)advise->deps->count + 1);
    advise->factor = 1;
    advise->factor_of = NULL;
    MP_TRY(rules[rule].judge(advise, &finding));
    if (words)
        finding.to_do = words;
    if (advise->basis)
        finding.gain = advise_usual_gain(advise, finding.gain);
    MP_TRY(advise_find_callers(advise, &finding));
    advise_add(advice, &finding);
    return MP_OK;
}

static enum mp_status judge_all(struct advise *advise, struct advice *advice)
{
    advice->gap = quality_gap(&advise->deps->quality);
    for (int i = 0; i < ADVISE_RULES; i++) {
        enum advise_rule_id rule = (enum advise_rule_id)i;

        advice->reasons[rule] = why_not(advise, rule);
        if (advice->reasons[rule] == ADVISE_TRIED && rules[rule].judge)
            MP_TRY(advise_judge_rule(advise, rule, advice));
    }
    return MP_OK;
}

/* ---- Setting up ---- */

/* The first iteration and the outliers at the very beginning are warm-up, but a request that
 * somebody waits for is not. If nothing else is there, what counts elsewhere counts here. */
static void leave_warm_up_out(struct advise *advise)
{
    bool requests = advise->iterations->way == ITERATIONS_REQUESTS;
    size_t count = advise->iterations->count;
    bool first = true;

    for (size_t i = 0; i < count && !requests && (first || !advise->regular[i]); i++) {
        first &= !advise->steady[i];
        advise->steady[i] = 0;
    }
    for (size_t i = 0; i < count; i++)
        advise->steady_count += advise->steady[i];
    if (advise->steady_count)
        return;
    memcpy(advise->steady, advise->regular, count);
    advise->steady_count = advise->judged;
}

static enum mp_status prepare(struct advise *advise)
{
    size_t count = advise->iterations->count;

    advise->regular = malloc(count + 1);
    advise->steady = malloc(count + 1);
    if (!advise->regular || !advise->steady)
        return MP_ERR_MEMORY;
    memset(advise->regular, 1, count);
    MP_TRY(iterations_find_main_kind(advise->deps, advise->iterations, &advise->summary->headline,
                                     advise->regular, &advise->advice->kind));
    memcpy(advise->steady, advise->regular, count);
    for (size_t i = 0; i < advise->summary->outlier_count; i++)
        advise->regular[advise->summary->outliers[i].iteration] = 0;
    for (size_t i = 0; i < count; i++)
        advise->judged += advise->regular[i];
    leave_warm_up_out(advise);
    advise->has_work = has_work(advise);
    if (advise->has_work && !advise->deps->quality.profiled)
        MP_TRY(advise_layers_load(advise));
    MP_TRY(advise_kinds_load(advise));
    MP_TRY(advise_sampled_load(advise));
    MP_TRY(advise_callers_load(advise));
    advise_find_framework(advise);
    advise->has_occupancy = advise_has_occupancy(advise);
    advise->edits = calloc((size_t)advise->deps->count + 1, sizeof *advise->edits);
    if (!advise->edits)
        return MP_ERR_MEMORY;
    MP_TRY(advise_note_launches(advise));
    MP_TRY(advise_pools_load(advise));
    MP_TRY(advise_loads_load(advise));
    return advise_gain_init(advise);
}

static void forget(struct advise *advise)
{
    advise_gain_free(advise);
    advise_layers_free(advise);
    advise_sampled_free(advise);
    advise_callers_free(advise);
    free(advise->kinds);
    free(advise->launched);
    free(advise->regular);
    free(advise->steady);
    free(advise->pools);
    free(advise->loads);
    free(advise->edits);
}

enum mp_status advise_build(const struct advise_input *input, struct advice *advice,
                            struct mp_error *error)
{
    struct advise advise = {
        .advice = advice,
        .deps = input->deps,
        .iterations = &input->study->iterations,
        .measures = input->study->measures,
        .summary = &input->study->summary,
        .error = error,
    };
    const struct profile *profile = input->deps->profile;

    *advice = (struct advice){.count = 0};
    enum mp_status status = profile_has_rows(profile, MP_TABLE_stack)
                                ? call_stacks_load(&advice->stacks, profile->trace, error)
                                : MP_OK;
    if (!status)
        status = prepare(&advise);
    if (!status) {
        advice->step = advise.step;
        advice->basis = advise.basis;
        advice->without_recording = advise.deps->recording.before;
        advice->judged = advise.judged;
        status = judge_all(&advise, advice);
    }
    forget(&advise);
    if (status)
        advise_free(advice);
    if (status == MP_ERR_MEMORY)
        mp_error_set(error, status, "cannot analyse it: %s", mp_status_name(status));
    return status;
}

void advise_free(struct advice *advice)
{
    for (size_t i = 0; i < advice->path_count; i++)
        free(advice->paths[i]);
    call_stacks_free(&advice->stacks);
    *advice = (struct advice){.count = 0};
}
