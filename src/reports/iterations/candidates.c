/* The score of what could be the iterations. The best candidate so far keeps its windows.
 *
 *     score = sqrt(coverage * coverage of its time) * (1 + regularity) / 2 * count / (count + 1)
 *             * favour of the way
 *
 * What the program says itself is favoured over what is only seen to repeat: NVTX ranges that cover
 * four fifths of the GPU work beat all that was found. Of two ways that say the same, the simpler
 * one wins. What is a part of an iteration, or several of them (is_part, holds_several), counts
 * half. The coverage of its time is the share of the work that was launched from the first to the
 * last window: what a program does before and after its loop says nothing about the loop.
 *
 * Capture ranges are iterations if there are many and they are alike. Few are phases of a program,
 * and count only if nothing repeats inside them. So are those that each hold as many of what
 * repeats.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/data/storage.h"
#include "reports/iterations/build.h"

#include "base/poison.h"

/* ---- NVTX domains of libraries ----
 *
 * What a library marks repeats inside of the program's iterations, so its ranges do not compete
 * with them.
 */

static const struct {
    const char *domain;
    const char *source; /* where the name stands */
} libraries[] = {
    {"CCCL", "CUB, Thrust, libcu++: struct NVTXCCCLDomain in cuda/__nvtx/nvtx.h"},
    {"NCCL", "NCCL: struct nccl_domain in src/include/nvtx.h"},
    {"com.nvidia.nccl.proxy", "NCCL: initNvtx of its proxy thread"},
    {"TensorRT", "TensorRT's documentation, NVTX of layers and enqueue"},
    {"cuBLAS", "Nsight Systems, --trace=cublas"},
    {"cuBLASLt", "Nsight Systems, --trace=cublas"},
    {"cuDNN", "Nsight Systems, --trace=cudnn"},
    {"cuSPARSE", "Nsight Systems, --trace=cusparse"},
    {"cuSOLVER", "Nsight Systems, --trace=cusolver"},
    {"cuFFT", "the same family of CUDA libraries"},
    {"cuTENSOR", "the same family of CUDA libraries"},
    {"NVSHMEM", "Nsight Systems, NVSHMEM trace by NVTX"},
    {"DALI", "DALI: struct DomainTimeRange"},
    {"libcudf", "libcudf: struct libcudf_domain"},
    {"librmm", "RMM: struct librmm_domain"},
    {"raft", "RAFT: core/nvtx.hpp"},
    {"TSL", "XLA, which JAX and TensorFlow run: its profiler's ranges, tsl/profiler/lib"},
};

bool iterations_library_domain(const char *domain)
{
    for (size_t i = 0; domain && i < sizeof libraries / sizeof *libraries; i++) {
        if (!strcasecmp(domain, libraries[i].domain))
            return true;
    }
    return false;
}

/* ---- Launches of a graph that are only a part of an iteration ----
 *
 *     kernels   |---------------------------|---------------------------|
 *       calls     a  g  g  g  g    wait       a  g  g  g  g    wait
 *
 * A loop inside of a model launches its graph several times an iteration, beside other kernels, and
 * nobody waits in between. Tokens of a decoder are iterations themselves: the program waits for
 * each of them. Steps that have an input each are iterations too, and so are steps with a wait
 * between only some of them.
 */

/* Of the windows, that hold the usual number of launches. */
#define ALIKE 0.9

struct fill {
    const struct iterations_finder *finder;
    size_t at; /* launch */
};

/* Launches that begin in a window; windows come in order of begin. */
static size_t held_by(struct fill *fill, const struct iteration *window)
{
    const struct iterations *launches = fill->finder->result;
    size_t held = 0;

    while (fill->at < launches->count && launches->items[fill->at].begin < window->begin)
        fill->at++;
    while (fill->at < launches->count && launches->items[fill->at].begin < window->host_end) {
        fill->at++;
        held++;
    }
    return held;
}

static bool is_held_equally(const struct iterations_finder *finder)
{
    struct fill fill = {.finder = finder};
    size_t each = (finder->result->count + finder->best_count / 2) / finder->best_count;
    size_t alike = 0;

    for (size_t i = 0; i < finder->best_count; i++)
        alike += held_by(&fill, &finder->best[i]) == each;
    return each >= 2 && (double)alike >= ALIKE * (double)finder->best_count;
}

/* Whether a window has a kernel that is not of the graph. */
static bool is_beside_others(const struct iterations_finder *finder)
{
    return finder->result->kernels_all >= finder->result->kernels + finder->best_count;
}

/* Whether the thread waits for every second launch, or more often. */
static bool is_awaited(const struct iterations_finder *finder, uint32_t lane)
{
    return 2 * iterations_segments_count(finder, lane) >= finder->result->count;
}

/* Whether it copies something to the device for every second launch, or more often. */
static bool is_fed(const struct iterations_finder *finder, uint32_t lane)
{
    const struct deps_lane *of = &finder->deps->lanes[lane];
    size_t copies = 0;

    for (uint32_t at = of->first; at < of->first + of->count; at++)
        copies += (finder->result->launched[at] & ITERATIONS_LAUNCHED_HTOD) != 0;
    return 2 * copies >= finder->result->count;
}

bool iterations_are_paced(const struct iterations_finder *finder, uint32_t lane)
{
    return lane != DEPS_NONE && (is_awaited(finder, lane) || is_fed(finder, lane));
}

/* Whether each of its sequences holds several waits, between which the thread does the same. */
static enum mp_status holds_several(const struct iterations_finder *finder,
                                    const struct iterations_candidate *candidate, bool *several)
{
    *several = false;
    if (candidate->way != ITERATIONS_KERNELS || candidate->thread == DEPS_NONE ||
        iterations_segments_count(finder, candidate->thread) < 2 * finder->result->count - 1)
        return MP_OK;
    return iterations_segments_alike(finder, candidate->thread, several);
}

static bool is_part(const struct iterations_finder *finder,
                    const struct iterations_candidate *candidate)
{
    return candidate->way == ITERATIONS_GRAPH && finder->best_count &&
           finder->best_facts.way == ITERATIONS_KERNELS && candidate->thread != DEPS_NONE &&
           is_beside_others(finder) && is_held_equally(finder) &&
           !iterations_are_paced(finder, candidate->thread);
}

/* Whether the candidate, whose windows are in finder->result, counts half: it is only a part of an
 * iteration, or several of them. A part of the best one so far: launches of a graph that each
 * sequence of kernels has equally often, twice or more, beside other kernels, while nobody waits
 * for one of them or gives it an input. Several: sequences of kernels with several waits each,
 * between which the thread does the same (segments.c). MP_ERR_MEMORY. */
static enum mp_status counts_half(const struct iterations_finder *finder,
                                  const struct iterations_candidate *candidate, bool *half)
{
    MP_TRY(holds_several(finder, candidate, half));
    *half |= is_part(finder, candidate);
    return MP_OK;
}

/* Whether the best one so far are capture ranges, each of which holds the candidate's windows
 * equally often, twice or more: then the ranges are phases. */
static bool are_phases(const struct iterations_finder *finder,
                       const struct iterations_candidate *candidate)
{
    return finder->best_count && finder->best_facts.way == ITERATIONS_RANGES &&
           candidate->way > ITERATIONS_RANGES && candidate->way < ITERATIONS_REQUESTS &&
           candidate->coverage >= ITERATIONS_ENOUGH_COVERAGE && is_held_equally(finder) &&
           iterations_are_paced(finder, candidate->thread);
}

/* ---- Scores ---- */

/* Less is no candidate: the whole trace says more. */
#define MIN_COVERAGE 0.02

/* Times the score of what is a part of an iteration, or several of them. */
#define HALF 0.5

/* Capture ranges that count as phases: fewer than this, or less alike. */
#define MIN_RANGES      8
#define MIN_REGULARITY  0.8
#define FAVOUR_OF_PHASE 0.1

double iterations_favour(enum iterations_way way)
{
    static const double favours[ITERATIONS_WAYS] = {
        [ITERATIONS_NVTX] = 1,       [ITERATIONS_RANGES] = 0.95, [ITERATIONS_GRAPH] = 0.75,
        [ITERATIONS_KERNELS] = 0.72, [ITERATIONS_SYNCS] = 0.66,  [ITERATIONS_REQUESTS] = 0.62,
    };

    return favours[way];
}

void iterations_candidates_free(struct iterations_candidate *candidates, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(candidates[i].name);
        free(candidates[i].domain);
    }
    free(candidates);
}

static bool is_phase(const struct iterations_candidate *candidate)
{
    return candidate->way == ITERATIONS_RANGES &&
           (candidate->count < MIN_RANGES || candidate->regularity < MIN_REGULARITY);
}

/* Whether the program itself says so. */
static bool is_marked(const struct iterations_candidate *candidate)
{
    return candidate->way == ITERATIONS_NVTX && candidate->score > 0 && candidate->count >= 2 &&
           candidate->coverage >= ITERATIONS_ENOUGH_COVERAGE;
}

static double score_of(const struct iterations_candidate *candidate)
{
    double count = (double)candidate->count;

    if (candidate->library || candidate->coverage < MIN_COVERAGE)
        return 0;
    return sqrt(candidate->coverage * candidate->coverage_of_time) * (1 + candidate->regularity) /
           2 * count / (count + 1) *
           (is_phase(candidate) ? FAVOUR_OF_PHASE : iterations_favour(candidate->way));
}

/* The windows are sorted by begin: the lanes are marked. */
static enum mp_status count_threads(const struct iterations_finder *finder,
                                    struct iterations_candidate *candidate)
{
    const struct iterations *result = finder->result;
    uint8_t *seen = calloc((size_t)finder->deps->thread_count + 1, sizeof *seen);

    if (!seen)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < result->count; i++) {
        uint32_t thread = result->items[i].thread;

        thread = thread == DEPS_NONE ? finder->deps->thread_count : thread;
        candidate->threads += !seen[thread];
        seen[thread] = 1;
    }
    candidate->thread = candidate->threads == 1 ? result->items[0].thread : DEPS_NONE;
    free(seen);
    return MP_OK;
}

/* ---- The list ---- */

static bool is_better(const struct iterations_candidate *a, const struct iterations_candidate *b)
{
    if (is_marked(a) != is_marked(b))
        return is_marked(a);
    if (a->score > b->score || a->score < b->score)
        return a->score > b->score;
    return a->coverage > b->coverage;
}

static enum mp_status copy_names(struct iterations_candidate *candidate)
{
    const char *name = candidate->name;
    const char *domain = candidate->domain;

    candidate->name = name ? strdup(name) : NULL;
    candidate->domain = domain ? strdup(domain) : NULL;
    if ((!name || candidate->name) && (!domain || candidate->domain))
        return MP_OK;
    free(candidate->name);
    free(candidate->domain);
    candidate->name = candidate->domain = NULL;
    return MP_ERR_MEMORY;
}

static enum mp_status list(struct iterations_finder *finder, struct iterations_candidate candidate)
{
    struct iterations *result = finder->result;
    size_t at;

    MP_TRY(MP_RESERVE(result->candidates, result->candidate_count, finder->candidate_capacity));
    for (at = result->candidate_count; at && is_better(&candidate, &result->candidates[at - 1]);
         at--)
        ;
    if (at == ITERATIONS_LISTED) {
        result->candidates_left++;
        return MP_OK;
    }
    MP_TRY(copy_names(&candidate));
    if (result->candidate_count == ITERATIONS_LISTED) {
        result->candidate_count--;
        result->candidates_left++;
        free(result->candidates[result->candidate_count].name);
        free(result->candidates[result->candidate_count].domain);
    }
    memmove(&result->candidates[at + 1], &result->candidates[at],
            (result->candidate_count - at) * sizeof candidate);
    result->candidates[at] = candidate;
    result->candidate_count++;
    return MP_OK;
}

/* ---- The best one ---- */

/* Asked for, a way takes its best candidate even if that one would not compete. */
static bool beats_best(const struct iterations_finder *finder,
                       const struct iterations_candidate *candidate)
{
    bool asked = finder->options->way != ITERATIONS_AUTO;

    if (!asked && candidate->score <= 0)
        return false;
    return !finder->best_count || is_better(candidate, &finder->best_facts);
}

static enum mp_status keep(struct iterations_finder *finder, struct iterations_candidate candidate)
{
    struct iterations *result = finder->result;
    struct iteration *items = finder->best;
    size_t capacity = finder->best_capacity;

    MP_TRY(copy_names(&candidate));
    free(finder->best_facts.name);
    free(finder->best_facts.domain);
    finder->best_facts = candidate;
    finder->best = result->items;
    finder->best_count = result->count;
    finder->best_capacity = finder->capacity;
    finder->best_period = result->period;
    finder->best_kernels = result->kernels;
    finder->best_unfinished = result->unfinished;
    result->items = items;
    finder->capacity = capacity;
    return MP_OK;
}

static enum mp_status judge(struct iterations_finder *finder, struct iterations_candidate scored)
{
    struct iterations *result = finder->result;

    bool half;

    scored.count = result->count;
    scored.threads = 0;
    MP_TRY(count_threads(finder, &scored));
    MP_TRY(iterations_load_share(&finder->load, result->items, result->count,
                                 scored.way == ITERATIONS_RANGES, &scored));
    MP_TRY(counts_half(finder, &scored, &half));
    scored.score = score_of(&scored) * (half ? HALF : 1);
    bool phases = !half && are_phases(finder, &scored);
    if (scored.coverage > 0 || finder->options->way != ITERATIONS_AUTO)
        MP_TRY(list(finder, scored));
    return phases || beats_best(finder, &scored) ? keep(finder, scored) : MP_OK;
}

enum mp_status iterations_offer(struct iterations_finder *finder,
                                const struct iterations_candidate *candidate)
{
    struct iterations *result = finder->result;

    if (result->count && result->count >= finder->min)
        MP_TRY(judge(finder, *candidate));
    result->count = 0;
    result->period = 0;
    result->kernels = 0;
    result->unfinished = 0;
    finder->left_out = false;
    return MP_OK;
}

/* The one in the list that was taken. */
static size_t find_chosen(const struct iterations *result, const struct iterations_candidate *best)
{
    size_t at = 0;

    while (at < result->candidate_count) {
        const struct iterations_candidate *one = &result->candidates[at];

        if (one->way == best->way && one->graph == best->graph && one->thread == best->thread &&
            one->count == best->count &&
            !strcmp(one->name ? one->name : "", best->name ? best->name : "") &&
            !strcmp(one->domain ? one->domain : "", best->domain ? best->domain : ""))
            break;
        at++;
    }
    return at;
}

bool iterations_take_best(struct iterations_finder *finder)
{
    struct iterations *result = finder->result;
    struct iteration *items = result->items;
    size_t capacity = finder->capacity;
    struct iterations_candidate *best = &finder->best_facts;

    result->chosen = result->candidate_count;
    if (!finder->best_count)
        return false;
    result->chosen = find_chosen(result, best);
    result->way = best->way;
    result->name = best->name;
    result->domain = best->domain;
    best->name = best->domain = NULL;
    result->graph = best->graph;
    result->period = finder->best_period;
    result->kernels = finder->best_kernels;
    result->unfinished = finder->best_unfinished;
    result->items = finder->best;
    result->count = finder->best_count;
    finder->capacity = finder->best_capacity;
    finder->best = items;
    finder->best_capacity = capacity;
    finder->best_count = 0;
    return true;
}
