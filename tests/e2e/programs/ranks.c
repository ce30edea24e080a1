/* ranks.c: one rank of a job on the software GPU that does what its arguments say, and prints what
 * was true: which rank came last to each operation, by how much, and why.
 *
 *     RANK=0 WORLD_SIZE=2 ranks iterations=20 late=1:7:2:host:2000
 *
 *     iterations=10 layers=4    an iteration: in each layer a kernel, then an all-reduce
 *     kernel=50                 the kernel's microseconds
 *     heavy=RANK:US             those of one rank, which has more work: its grid grows likewise
 *     slow=RANK:PERCENT         the GPU of one rank is slower: the same kernels take so much longer
 *     count=262144              floats of an all-reduce, or of a transfer
 *     group=N                   N all-reduces in one group in place of one
 *     split=N                   layers' all-reduces among N neighbours; one of all behind them
 *     graph=1                   the layers are captured once and replayed
 *     pipeline=1 microbatches=4 there and back through all ranks with send and receive, no layers
 *     both=1                    the layers too, behind that
 *     late=RANK:ITERATION:LAYER:CAUSE:US   makes a rank late; the causes are in ranks/plants.c
 *     window=RANK:FIRST:LAST    cuProfilerStart and Stop around these iterations of that rank
 *     die=RANK:ITERATION:LAYER  it is killed there
 *     name=TEXT                 of the communicator
 *
 * A line has the columns that tests/e2e/ranks/launch writes above them, with times on the clock
 * that all ranks share. The ranks find each other in SIMNCCL_DIR.
 */
#include "../ranks/ranks.h"

#include "common.h"

#include <cudaProfiler.h>
#include <fcntl.h>
#include <limits.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char ranks_ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                                ".visible .entry spin(.param .u32 us)\n{\n    ret;\n}\n"
                                ".visible .entry other(.param .u64 p, .param .u32 n)\n"
                                "{\n    ret;\n}\n";

void check_nccl(ncclResult_t result, const char *call)
{
    if (result == ncclSuccess)
        return;
    fflush(stdout);
    fail("ranks: %s: %s", call, ncclGetErrorString(result));
}

static long number_of(const char *name, const char *text)
{
    char *end = NULL;
    long value = text ? strtol(text, &end, 0) : -1;

    if (!text || end == text || *end || value < 0 || value > INT_MAX)
        fail("ranks: %s=%s is not a number", name, text ? text : "");
    return value;
}

/* ---- Arguments ---- */

static void set_window(struct job *job, const char *text)
{
    int rank, first, last;

    if (sscanf(text, "%d:%d:%d", &rank, &first, &last) != 3) /* NOLINT(cert-err34-c) */
        fail("ranks: window=%s is not RANK:FIRST:LAST", text);
    if (rank == job->rank) {
        job->first = first;
        job->last = last;
    }
}

static void set_heavy(struct job *job, const char *text)
{
    int rank;
    long us;

    if (sscanf(text, "%d:%ld", &rank, &us) != 2) /* NOLINT(cert-err34-c) */
        fail("ranks: heavy=%s is not RANK:US", text);
    if (rank == job->rank) {
        job->blocks = job->blocks * us / job->kernel_us;
        job->kernel_us = us;
    }
}

static void set_slow(struct job *job, const char *text)
{
    int rank;
    long percent;

    if (sscanf(text, "%d:%ld", &rank, &percent) != 2) /* NOLINT(cert-err34-c) */
        fail("ranks: slow=%s is not RANK:PERCENT", text);
    if (rank == job->rank)
        job->slower = percent;
}

static void set_death(struct job *job, const char *text)
{
    struct plant *death = &job->death;

    /* NOLINTNEXTLINE(cert-err34-c) */
    if (sscanf(text, "%d:%d:%d", &death->rank, &death->iteration, &death->layer) != 3)
        fail("ranks: die=%s is not RANK:ITERATION:LAYER", text);
}

static void set_number(struct job *job, const char *name, const char *value)
{
    const struct {
        const char *name;
        long *target;
    } numbers[] = {{"iterations", &job->iterations},
                   {"layers", &job->layers},
                   {"kernel", &job->kernel_us},
                   {"count", &job->count},
                   {"group", &job->group},
                   {"split", &job->split},
                   {"microbatches", &job->microbatches}};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (strcmp(numbers[i].name, name) == 0) {
            *numbers[i].target = number_of(name, value);
            return;
        }
    fail("ranks: no argument '%s'", name);
}

static void set(struct job *job, char *argument)
{
    char *value = strchr(argument, '=');

    if (!value)
        fail("ranks: '%s' is not NAME=VALUE", argument);
    *value++ = '\0';
    if (strcmp(argument, "late") == 0)
        plant_parse(job, value);
    else if (strcmp(argument, "heavy") == 0)
        set_heavy(job, value);
    else if (strcmp(argument, "slow") == 0)
        set_slow(job, value);
    else if (strcmp(argument, "window") == 0)
        set_window(job, value);
    else if (strcmp(argument, "die") == 0)
        set_death(job, value);
    else if (strcmp(argument, "name") == 0)
        job->name = value;
    else if (strcmp(argument, "graph") == 0)
        job->graph = number_of(argument, value) != 0;
    else if (strcmp(argument, "pipeline") == 0)
        job->pipeline = number_of(argument, value) != 0;
    else if (strcmp(argument, "both") == 0)
        job->both = number_of(argument, value) != 0;
    else
        set_number(job, argument, value);
}

/* ---- The job ---- */

static void open_device(struct job *job)
{
    const char *own = getenv("LOCAL_RANK");
    CUmodule module;
    CUdevice device;
    int count;

    CU_CHECK(cuInit(0));
    CU_CHECK(cuDeviceGetCount(&count));
    CU_CHECK(cuDeviceGet(&device, own ? (int)number_of("LOCAL_RANK", own) % count : 0));
    CU_CHECK(cuDevicePrimaryCtxRetain(&job->context, device));
    CU_CHECK(cuCtxSetCurrent(job->context));
    CU_CHECK(cuModuleLoadData(&module, ranks_ptx));
    CU_CHECK(cuModuleGetFunction(&job->spin, module, "spin"));
    CU_CHECK(cuModuleGetFunction(&job->other, module, "other"));
    CU_CHECK(cuStreamCreate(&job->stream, CU_STREAM_NON_BLOCKING));
    CU_CHECK(cuStreamCreate(&job->aside, CU_STREAM_NON_BLOCKING));
    CU_CHECK(cuMemAlloc(&job->buffer, (size_t)job->count * sizeof(float) + 1));
}

/* Rank 0 leaves the id in the job's folder, as a store would have it. */
static void share_id(const struct job *job, ncclUniqueId *id)
{
    const char *folder = getenv("SIMNCCL_DIR");
    char path[PATH_MAX], early[PATH_MAX];
    FILE *file = NULL;

    if (!folder)
        fail("ranks: SIMNCCL_DIR is not set: a folder that all ranks of the job share");
    snprintf(path, sizeof(path), "%s/id", folder);
    snprintf(early, sizeof(early), "%s/id.early", folder);
    if (job->rank == 0) {
        NCCL_CHECK(ncclGetUniqueId(id));
        file = fopen(early, "w");
        if (!file || fwrite(id, sizeof(*id), 1, file) != 1 || fclose(file) != 0 ||
            rename(early, path) != 0)
            fail("ranks: cannot write %s", path);
        return;
    }
    for (int i = 0; !file && i < 60000; i++) {
        file = fopen(path, "r");
        if (!file)
            usleep(1000);
    }
    if (!file || fread(id, sizeof(*id), 1, file) != 1)
        fail("ranks: rank 0 left no id in %s", path);
    fclose(file);
}

static void open_communicators(struct job *job)
{
    ncclConfig_t config = {.size = sizeof(config), .commName = job->name};
    ncclUniqueId id;

    share_id(job, &id);
    if (job->name)
        NCCL_CHECK(ncclCommInitRankConfig(&job->world, job->nranks, id, job->rank, &config));
    else
        NCCL_CHECK(ncclCommInitRank(&job->world, job->nranks, id, job->rank));
    job->team = job->world;
    if (job->split)
        NCCL_CHECK(
            ncclCommSplit(job->world, job->rank / (int)job->split, job->rank, &job->team, NULL));
}

static void run_iteration(struct job *job, int iteration)
{
    if (iteration == job->first)
        CU_CHECK(cuProfilerStart());
    nvtxRangePushA("step");
    if (job->pipeline)
        pipeline_step(job, iteration);
    if (!job->pipeline || job->both)
        tensor_step(job, iteration);
    nvtxRangePop();
    if (iteration == job->last)
        CU_CHECK(cuProfilerStop());
    fflush(stdout);
}

static void close_communicators(struct job *job)
{
    if (job->team != job->world)
        NCCL_CHECK(ncclCommDestroy(job->team));
    NCCL_CHECK(ncclCommFinalize(job->world));
    NCCL_CHECK(ncclCommDestroy(job->world));
}

int main(int argc, char **argv)
{
    struct job job = {.iterations = 10,
                      .layers = 4,
                      .kernel_us = 50,
                      .blocks = 64,
                      .count = 262144,
                      .microbatches = 4,
                      .first = -1,
                      .last = -1,
                      .death.rank = -1};

    job.rank = (int)number_of("RANK", getenv("RANK"));
    job.nranks = (int)number_of("WORLD_SIZE", getenv("WORLD_SIZE"));
    for (int i = 1; i < argc; i++)
        set(&job, argv[i]);
    open_device(&job);
    open_communicators(&job);
    for (int i = 0; i < job.iterations; i++)
        run_iteration(&job, i);
    close_communicators(&job);
    return 0;
}
