/* Runs the rules of `advise` and sorts their findings by gain. A rule without the data it needs is
 * listed with its reason, so that silence never looks like a good result.
 */
#include "analyze/advise/advise.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/advise/build.h"

#include "base/poison.h"

/* A smaller gain is not worth a change, because iterations differ by as much from noise. */
#define LEAST_PERCENT 1.0

/* Outliers are recognised by the spread, which fewer iterations do not show. */
#define LEAST_FOR_TAIL 10

enum needs {
    NEEDS_CALLS = 1,
    NEEDS_LOOP = 2, /* more than one iteration */
    NEEDS_MANY = 4,
    NEEDS_LAYERS = 8
};

static const struct {
    const char *key;
    const char *title;
    advise_judge *judge;
    unsigned needs;
    const char *to_do;
} rules[ADVISE_RULES] = {
    [ADVISE_LAUNCH_BOUND] =
        {"launch_bound", "The GPU waits for launches", advise_launch_bound,
         NEEDS_CALLS | NEEDS_LOOP,
         "Capture the launches once with cudaStreamBeginCapture and cudaStreamEndCapture, "
         "instantiate with cudaGraphInstantiate, and call cudaGraphLaunch in each iteration."},
    [ADVISE_PAGEABLE_COPIES] =
        {"pageable_copies", "Copies from or to pageable memory", advise_pageable_copies, 0,
         "Allocate the host's side with cudaMallocHost, or pin it once with cudaHostRegister; then "
         "copy with cudaMemcpyAsync."},
    [ADVISE_SYNCHRONOUS_COPIES] =
        {"synchronous_copies", "Copies for which the host waits", advise_synchronous_copies,
         NEEDS_CALLS,
         "Copy with cudaMemcpyAsync from pinned memory, on the stream that uses the data; wait "
         "where the host needs it, with cudaEventSynchronize."},
    [ADVISE_NEEDLESS_WAIT] =
        {"needless_wait", "Synchronisation that nothing needs", advise_needless_wait, NEEDS_CALLS,
         "Remove the call: work of one stream runs in order anyway. Order streams with "
         "cudaEventRecord and cudaStreamWaitEvent."},
    [ADVISE_EXPOSED_COPIES] =
        {"exposed_copies", "Copies that no kernel overlaps", advise_exposed_copies, NEEDS_LOOP,
         "Give copies a stream of their own and two sets of buffers: copy the next input with "
         "cudaMemcpyAsync while this iteration computes, and order both with cudaStreamWaitEvent."},
    [ADVISE_SMALL_KERNELS] =
        {"small_kernels", "Runs of small kernels", advise_small_kernels, 0,
         "Fuse the kernels of a run into one (a fused kernel of the library, a compiler such as "
         "torch.compile or TensorRT, or by hand)."},
    [ADVISE_ALLOCATION] =
        {"allocation", "Memory is allocated inside the loop", advise_allocation,
         NEEDS_CALLS | NEEDS_LOOP,
         "Allocate once before the loop and use it again; where sizes vary, cudaMallocAsync from a "
         "pool with a high cudaMemPoolAttrReleaseThreshold."},
    [ADVISE_HOST_BOUND] =
        {"host_bound", "The GPU waits for the host", advise_host_bound, NEEDS_CALLS | NEEDS_LOOP,
         "Prepare the next input and use the last result in other threads while the GPU works, or "
         "do that work on the GPU."},
    [ADVISE_SLOW_LAYER] =
        {"slow_layer", "One kernel dominates the critical path", advise_slow_layer, 0,
         "Make this kernel faster first: `miniprof metrics`, lower precision, another algorithm or "
         "launch shape."},
    [ADVISE_UNUSED_STREAMS] =
        {"unused_streams", "Independent work runs one after the other", advise_unused_streams, 0,
         "Create streams with cudaStreamCreateWithFlags and cudaStreamNonBlocking, compile with "
         "--default-stream per-thread, and wait after the last launch only."},
    [ADVISE_TAIL] =
        {"tail", "Some iterations take much longer", advise_tail, NEEDS_LOOP | NEEDS_MANY,
         "Look at one of them with `miniprof deps`: what it has more of is what to keep "
         "out of the loop, or away from its processor (taskset, chrt)."},
    [ADVISE_PAGE_FAULTS] = {"page_faults", "Unified memory moves during iterations",
                            advise_page_faults, 0,
                            "Move data before its use with cudaMemPrefetchAsync, and say where it "
                            "belongs with cudaMemAdvise; or use cudaMalloc and explicit copies."},
    [ADVISE_REFORMAT_LAYERS] =
        {"reformat_layers", "Layers only reformat or copy", advise_reformat_layers, NEEDS_LAYERS,
         "Give the layers around them one format and precision: inputs and outputs of the engine "
         "in "
         "the format that its first and last layers want, precisions not mixed from layer to "
         "layer."},
};

static const struct {
    const char *key;
    const char *text;
} reasons[ADVISE_REASONS] = {
    [ADVISE_TRIED] = {NULL, NULL},
    [ADVISE_NO_CALLS] = {"no_calls", "no API calls in the trace"},
    [ADVISE_NO_WORK] = {"no_gpu_work", "no GPU work in the iterations"},
    [ADVISE_NO_LOOP] = {"no_loop", "there is but one iteration"},
    [ADVISE_FEW] = {"few_iterations", "fewer than 10 iterations"},
    [ADVISE_NO_LAYERS] = {"no_layers", "no NVTX ranges of layers in the iterations"},
    [ADVISE_PROFILED] = {"profiled", "kernels were run again for metrics"},
};

const char *advise_rule_key(enum advise_rule_id rule)
{
    return rules[rule].key;
}

const char *advise_reason_key(enum advise_reason reason)
{
    return reasons[reason].key;
}

const char *advise_reason_text(enum advise_reason reason)
{
    return reasons[reason].text;
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

/* Why this rule cannot be judged. */
static enum advise_reason why_not(const struct advise *advise, enum advise_rule_id rule)
{
    unsigned needs = rules[rule].needs;

    if (!advise->has_work)
        return ADVISE_NO_WORK;
    if (advise->deps->quality.profiled)
        return ADVISE_PROFILED;
    if ((needs & NEEDS_CALLS) && advise->deps->no_calls)
        return ADVISE_NO_CALLS;
    if ((needs & NEEDS_LOOP) && advise->iterations->count < 2)
        return ADVISE_NO_LOOP;
    if ((needs & NEEDS_LAYERS) && !advise->layers.any)
        return ADVISE_NO_LAYERS;
    return (needs & NEEDS_MANY) && advise->iterations->count < LEAST_FOR_TAIL ? ADVISE_FEW
                                                                              : ADVISE_TRIED;
}

/* Inserts a finding after those that gain as much or more. */
static void advise_keep(struct advice *advice, const struct advise_finding *finding)
{
    size_t at = advice->count++;

    for (; at && advice->findings[at - 1].gain < finding->gain; at--)
        advice->findings[at] = advice->findings[at - 1];
    advice->findings[at] = *finding;
}

static enum mp_status advise_judge_rule(struct advise *advise, enum advise_rule_id rule,
                                        struct advice *advice)
{
    struct advise_finding finding = {
        .rule = rule, .title = rules[rule].title, .to_do = rules[rule].to_do};

    memset(advise->edits, 0, (size_t)advise->deps->count + 1);
    advise->factor = 1;
    MP_TRY(rules[rule].judge(advise, &finding));
    if (!advise->step)
        return MP_OK;
    finding.percent = 100 * (double)finding.gain / (double)advise->step;
    if (finding.percent >= LEAST_PERCENT)
        advise_keep(advice, &finding);
    return MP_OK;
}

static enum mp_status judge_all(struct advise *advise, struct advice *advice)
{
    for (int i = 0; i < ADVISE_RULES; i++) {
        enum advise_rule_id rule = (enum advise_rule_id)i;

        advice->reasons[rule] = why_not(advise, rule);
        if (advice->reasons[rule] == ADVISE_TRIED)
            MP_TRY(advise_judge_rule(advise, rule, advice));
    }
    return MP_OK;
}

/* ---- Setting up ---- */

static enum mp_status prepare(struct advise *advise)
{
    size_t count = advise->iterations->count;

    advise->regular = malloc(count + 1);
    if (!advise->regular)
        return MP_ERR_MEMORY;
    memset(advise->regular, 1, count);
    for (size_t i = 0; i < advise->summary->outlier_count; i++)
        advise->regular[advise->summary->outliers[i].iteration] = 0;
    advise->judged = count - advise->summary->outlier_count;
    advise->has_work = has_work(advise);
    if (advise->has_work && !advise->deps->quality.profiled)
        MP_TRY(advise_layers_load(advise));
    advise->edits = calloc((size_t)advise->deps->count + 1, sizeof *advise->edits);
    if (!advise->edits)
        return MP_ERR_MEMORY;
    MP_TRY(advise_note_launches(advise));
    return advise_gain_init(advise);
}

static void forget(struct advise *advise)
{
    advise_gain_free(advise);
    advise_layers_free(advise);
    free(advise->launched);
    free(advise->regular);
    free(advise->edits);
}

enum mp_status advise_build(const struct advise_input *input, struct advice *advice,
                            struct mp_error *error)
{
    struct advise advise = {
        .advice = advice,
        .deps = input->deps,
        .trace = input->trace,
        .iterations = &input->study->iterations,
        .measures = input->study->measures,
        .summary = &input->study->summary,
        .error = error,
    };
    enum mp_status status;

    *advice = (struct advice){.count = 0};
    status = prepare(&advise);
    if (!status) {
        advice->step = advise.step;
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
    *advice = (struct advice){.count = 0};
}
