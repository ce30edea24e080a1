/* How iterations were found, how long they take, and the parts that their mean latency consists of.
 * The numbers are those of `iters`.
 */
#include "reports/digest/build.h"

#include "base/poison.h"

/* Every part is a quantity of the iterations, but for copies: what is busy without kernels. */
static const enum iteration_quantity quantities[DIGEST_PARTS] = {
    [DIGEST_KERNELS] = ITERATION_KERNEL,       [DIGEST_COPIES] = ITERATION_BUSY,
    [DIGEST_OTHERS] = ITERATION_OTHERS,        [DIGEST_LAUNCH] = ITERATION_IDLE_LAUNCH,
    [DIGEST_QUEUED] = ITERATION_IDLE_QUEUED,   [DIGEST_COPY] = ITERATION_IDLE_COPY,
    [DIGEST_HOST] = ITERATION_IDLE_HOST,       [DIGEST_SYNC] = ITERATION_IDLE_SYNC,
    [DIGEST_UNKNOWN] = ITERATION_IDLE_UNKNOWN,
};

const char *digest_part_key(enum digest_part part)
{
    return part == DIGEST_COPIES ? "copies_alone_ns" : iteration_quantity_key(quantities[part]);
}

static void take_parts(const struct iterations_summary *summary, struct digest *digest)
{
    digest->busy = summary->statistics[ITERATION_BUSY].mean;
    for (int i = 0; i < DIGEST_PARTS; i++)
        digest->parts[i] = summary->statistics[quantities[i]].mean;
    digest->parts[DIGEST_COPIES] -= digest->parts[DIGEST_KERNELS];
}

static enum mp_status take_found(const struct iterations *found, struct digest *digest)
{
    struct digest_iterations *iterations = &digest->iterations;

    iterations->way = found->way;
    iterations->asked_for = !found->found;
    iterations->graph = found->graph;
    iterations->period = found->period;
    iterations->count = found->count;
    iterations->threads = found->threads;
    iterations->coverage = found->coverage;
    MP_TRY(digest_copy(digest, found->name, &iterations->name));
    return digest_copy(digest, *found->why_whole ? found->why_whole : NULL, &iterations->why_whole);
}

enum mp_status digest_take_iterations(const struct digest_material *material, struct digest *digest)
{
    const struct deps *deps = &material->studied.deps;
    const struct iterations_summary *summary = &material->studied.study.summary;

    digest->no_work = deps->count == deps->host_count;
    digest->gpu_off = digest->no_work && !material->summary.recorded[SUMMARY_GPU];
    digest->no_calls = deps->no_calls;
    digest->latency = summary->statistics[ITERATION_LATENCY];
    digest->headline = summary->headline;
    digest->iterations.outliers = summary->outlier_count;
    digest->iterations.at_once = summary->at_once;
    digest->iterations.throughput = summary->throughput;
    take_parts(summary, digest);
    return take_found(&material->studied.study.iterations, digest);
}
