/* The two kinds of iteration of the program ranks: tensor parallel, an all-reduce behind each
 * layer, and pipeline parallel, microbatches from rank to rank and back. */
#include "ranks.h"

#include "common.h"

#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <unistd.h>

void job_spin(struct job *job, long us)
{
    unsigned time = (unsigned)(us + us * job->slower / 100);
    void *params[] = {&time};

    CU_CHECK(cuLaunchKernel(job->spin, (unsigned)job->blocks, 1, 1, 128, 1, 1, 0, job->stream,
                            params, NULL));
}

static void *buffer_of(const struct job *job)
{
    return (void *)(uintptr_t)job->buffer; /* NOLINT(performance-no-int-to-ptr) */
}

static void die_if_planted(const struct job *job, int iteration, int layer)
{
    if (job->death.rank == job->rank && job->death.iteration == iteration &&
        job->death.layer == layer)
        kill(getpid(), SIGKILL);
}

static void all_reduce(struct job *job, ncclComm_t comm)
{
    NCCL_CHECK(ncclAllReduce(buffer_of(job), buffer_of(job), (size_t)job->count, ncclFloat32,
                             ncclSum, comm, job->stream));
}

static void reduce_layer(struct job *job)
{
    if (job->group)
        NCCL_CHECK(ncclGroupStart());
    for (long i = 0; i < (job->group ? job->group : 1); i++)
        all_reduce(job, job->team);
    if (job->group)
        NCCL_CHECK(ncclGroupEnd());
}

static void run_layer(struct job *job, int iteration, int layer)
{
    long more = plant_act(job, iteration, layer);

    die_if_planted(job, iteration, layer);
    nvtxRangePushA("layer");
    job_spin(job, job->kernel_us + more);
    reduce_layer(job);
    nvtxRangePop();
}

static CUgraphExec capture(struct job *job)
{
    CUgraphExec exec;
    CUgraph graph;

    CU_CHECK(cuStreamBeginCapture(job->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (long i = 0; i < job->layers; i++) {
        job_spin(job, job->kernel_us);
        reduce_layer(job);
    }
    CU_CHECK(cuStreamEndCapture(job->stream, &graph));
    CU_CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

/* What is planted comes before the graph, as its kernels cannot change. */
static void replay(struct job *job, int iteration)
{
    static CUgraphExec exec;
    ncclResult_t result;
    long more;

    if (!exec)
        exec = capture(job);
    die_if_planted(job, iteration, 0);
    more = plant_act(job, iteration, 0);
    if (more)
        job_spin(job, more);
    CU_CHECK(cuGraphLaunch(exec, job->stream));
    NCCL_CHECK(ncclCommGetAsyncError(job->team, &result));
    check_nccl(result, "a graph's collective");
    truth_tell(job, iteration, 0, job->group ? job->group : 1);
}

void tensor_step(struct job *job, int iteration)
{
    if (job->graph) {
        replay(job, iteration);
    } else {
        for (int layer = 0; layer < job->layers; layer++) {
            run_layer(job, iteration, layer);
            truth_tell(job, iteration, layer, 0);
        }
    }
    if (job->team != job->world) {
        all_reduce(job, job->world);
        truth_tell(job, iteration, (int)job->layers, 0);
    }
    CU_CHECK(cuStreamSynchronize(job->stream));
}

/* ---- Pipelines: a microbatch is a layer here, first the ways there and then the ways back ---- */

static void transfer(struct job *job, int peer, bool sends)
{
    if (peer < 0 || peer >= job->nranks)
        return;
    if (sends)
        NCCL_CHECK(ncclSend(buffer_of(job), (size_t)job->count, ncclFloat32, peer, job->world,
                            job->stream));
    else
        NCCL_CHECK(ncclRecv(buffer_of(job), (size_t)job->count, ncclFloat32, peer, job->world,
                            job->stream));
}

static void run_microbatch(struct job *job, int iteration, int layer, int from, int to)
{
    long more;

    die_if_planted(job, iteration, layer);
    nvtxRangePushA("microbatch");
    transfer(job, from, false);
    more = plant_act(job, iteration, layer);
    job_spin(job, job->kernel_us + more);
    transfer(job, to, true);
    nvtxRangePop();
    truth_tell(job, iteration, layer, 0);
}

void pipeline_step(struct job *job, int iteration)
{
    int before = job->rank - 1, after = job->rank + 1, many = (int)job->microbatches;

    for (int i = 0; i < many; i++)
        run_microbatch(job, iteration, i, before, after);
    for (int i = 0; i < many; i++)
        run_microbatch(job, iteration, many + i, after, before);
    CU_CHECK(cuStreamSynchronize(job->stream));
}
