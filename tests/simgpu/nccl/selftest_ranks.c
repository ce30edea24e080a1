/*
 * selftest_ranks.c: what the tests of the stand-in for NCCL share: ranks as processes, which find
 * each other by the same seed, since the ids of a program then repeat.
 */
#include "selftest_ranks.h"

#include <dirent.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const CUpti_ActivityKind kernels[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                             CUPTI_ACTIVITY_KIND_INVALID};

static void remove_folder(const char *folder)
{
    DIR *files = opendir(folder);

    for (const struct dirent *file = files ? readdir(files) : NULL; file; file = readdir(files)) {
        char path[600];

        snprintf(path, sizeof(path), "%s/%s", folder, file->d_name);
        unlink(path);
    }
    if (files)
        closedir(files);
    rmdir(folder);
}

static void start_rank(int rank, int count, void (*body)(int rank, int count))
{
    pid_t child = fork();

    EXPECT(child >= 0);
    if (child == 0) {
        body(rank, count);
        fflush(stdout);
        _exit(0);
    }
}

void ranks_run(int count, int victim, void (*body)(int rank, int count))
{
    char folder[] = "/tmp/simnccl-selftest.XXXXXX";
    int failed = 0, killed = 0, status;

    EXPECT(mkdtemp(folder) != NULL);
    setenv("SIMNCCL_DIR", folder, 1);
    setenv("SIMNCCL_SEED", "1", 1);
    setenv("SIMGPU_NOISE", "0", 1);
    setenv("SIMNCCL_LATENCY_NS", "6400", 1);
    setenv("SIMNCCL_BANDWIDTH", "1000", 1);
    fflush(stdout);
    for (int i = 0; i < count; i++)
        start_rank(i, count, body);
    while (wait(&status) > 0) {
        killed += WIFSIGNALED(status);
        failed += WIFEXITED(status) && WEXITSTATUS(status) != 0;
    }
    remove_folder(folder);
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(killed, victim >= 0);
}

ncclComm_t ranks_open(int rank, int count)
{
    ncclUniqueId id;
    ncclComm_t comm;

    gpu_start(kernels);
    OK(ncclGetUniqueId(&id));
    OK(ncclCommInitRank(&comm, count, id, rank));
    return comm;
}

ncclResult_t ranks_reduce(size_t count, ncclComm_t comm, CUstream stream)
{
    return ncclAllReduce(NULL, NULL, count, ncclFloat32, ncclSum, comm, stream);
}

struct simnccl_instance ranks_instance(size_t nth)
{
    struct simnccl_instance instance;

    EXPECT(simnccl_instance(nth, &instance));
    return instance;
}

uint64_t ranks_last(const struct simnccl_instance *instance)
{
    uint64_t last = 0;

    for (int i = 0; i < instance->nranks; i++)
        last = instance->arrival[i] > last ? instance->arrival[i] : last;
    return last;
}

const record_kernel *ranks_kernel(size_t nth)
{
    for (size_t i = 0; i < client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL); i++) {
        const record_kernel *kernel = client_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, i);

        if (strstr(kernel->name, "ncclDevKernel_") && nth-- == 0)
            return kernel;
    }
    EXPECT(!"no such kernel of NCCL");
    abort();
}
