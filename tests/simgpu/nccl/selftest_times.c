/*
 * selftest_times.c: when NCCL's kernels begin and end on the ranks, exactly: every expectation
 * follows from the kernels before them and from the stated latency and bandwidth.
 */
#include "selftest_ranks.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { GAP = 768, FLOATS = 3000, BYTES = 4 * FLOATS }; /* GAP: between operations of a stream */

static const record_kernel *spin_record(size_t nth)
{
    for (size_t i = 0; i < client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL); i++) {
        const record_kernel *kernel = client_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, i);

        if (strcmp(kernel->name, "spin") == 0 && nth-- == 0)
            return kernel;
    }
    EXPECT(!"no such spin");
    abort();
}

static void finish(void)
{
    OK(cuCtxSynchronize());
    client_flush(0);
}

static void reduce_late(int rank, int count)
{
    ncclComm_t comm = ranks_open(rank, count);
    struct simnccl_instance played;

    gpu_spin(NULL, 100 * (unsigned)(rank + 1));
    OK(ranks_reduce(FLOATS, comm, NULL));
    finish();
    played = ranks_instance(0);
    EXPECT_EQ(played.arrival[rank], ranks_kernel(0)->start);
    EXPECT_EQ(ranks_kernel(0)->start, spin_record(0)->end + GAP);
    for (int i = 0; i < count; i++)
        EXPECT_EQ(played.arrival[i] - played.arrival[0], 100000 * i);
    EXPECT_EQ(played.transfer, LATENCY + BYTES * 2 * (count - 1) / count);
    EXPECT_EQ(ranks_kernel(0)->end, played.arrival[count - 1] + played.transfer);
    EXPECT(strcmp(ranks_kernel(0)->name, "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL"
                                         "24ncclDevKernelArgsStorageILm4096EE") == 0);
    OK(ncclCommDestroy(comm));
}

static void all_ranks_end_together(void)
{
    ranks_run(3, -1, reduce_late);
}

/* ---- Roots ---- */

static void use_roots(int rank, int count)
{
    ncclComm_t comm = ranks_open(rank, count);
    uint64_t own, root;

    gpu_spin(NULL, rank == 1 ? 100 : 300);
    OK(ncclBroadcast(NULL, NULL, FLOATS, ncclFloat32, 1, comm, NULL));
    OK(cuCtxSynchronize());
    own = ranks_instance(0).arrival[rank];
    root = ranks_instance(0).arrival[1];
    EXPECT_EQ(ranks_instance(0).end, (rank == 1 ? root : own) + LATENCY + BYTES);
    gpu_spin(NULL, rank == 1 ? 100 : 400);
    OK(ncclReduce(NULL, NULL, FLOATS, ncclFloat32, ncclSum, 1, comm, NULL));
    finish();
    own = ranks_instance(1).arrival[rank];
    EXPECT(ranks_instance(1).arrival[1] < ranks_instance(1).arrival[0]);
    EXPECT_EQ(ranks_instance(1).end,
              LATENCY + BYTES + (rank == 1 ? ranks_instance(1).arrival[0] : own));
    EXPECT_EQ(ranks_kernel(1)->end, ranks_instance(1).end);
}

static void who_waits_for_a_root(void)
{
    ranks_run(2, -1, use_roots);
}

static void gather(int rank, int count)
{
    ncclComm_t comm = ranks_open(rank, count);
    uint64_t wire = (uint64_t)BYTES * (uint64_t)(count - 1);

    OK(ncclAllGather(NULL, NULL, FLOATS, ncclFloat32, comm, NULL));
    OK(ncclReduceScatter(NULL, NULL, FLOATS, ncclFloat32, ncclAvg, comm, NULL));
    finish();
    for (size_t i = 0; i < 2; i++) {
        struct simnccl_instance played = ranks_instance(i);

        EXPECT_EQ(played.transfer, LATENCY + wire);
        EXPECT_EQ(played.end, ranks_last(&played) + played.transfer);
        EXPECT_EQ(played.bytes, BYTES);
        EXPECT_EQ(played.number, i);
    }
}

static void shares_count_for_each_rank(void)
{
    ranks_run(4, -1, gather);
}

/* ---- Groups and transfers ---- */

static void use_group(int rank, int count)
{
    ncclComm_t comm = ranks_open(rank, count);
    int next = (rank + 1) % count, before = (rank + count - 1) % count;
    uint64_t last;

    gpu_spin(NULL, 10 * (unsigned)(rank + 1));
    OK(ncclGroupStart());
    for (int i = 0; i < 3; i++)
        OK(ranks_reduce(FLOATS, comm, NULL));
    OK(ncclSend(NULL, FLOATS, ncclFloat32, next, comm, NULL));
    OK(ncclRecv(NULL, FLOATS, ncclFloat32, before, comm, NULL));
    EXPECT_EQ(simnccl_instances(), 0);
    OK(ncclGroupEnd());
    finish();
    EXPECT_EQ(simnccl_instances(), 5);
    last = ranks_instance(0).arrival[count - 1];
    for (size_t i = 0; i < 3; i++)
        EXPECT_EQ(ranks_instance(i).end, last + (i + 1) * ranks_instance(0).transfer);
    EXPECT_EQ(ranks_kernel(0)->end, ranks_instance(2).end);
    EXPECT(strstr(ranks_kernel(1)->name, "ncclDevKernel_SendRecv") != NULL);
    for (size_t i = 3; i < 5; i++)
        EXPECT_EQ(ranks_instance(i).end, ranks_kernel(0)->end + GAP + LATENCY + BYTES);
    EXPECT_EQ(ranks_kernel(1)->end, ranks_instance(4).end);
}

static void a_group_is_one_kernel_of_each_kind(void)
{
    ranks_run(3, -1, use_group);
}

static void use_pipeline(int rank, int count)
{
    ncclComm_t comm = ranks_open(rank, count);

    for (int i = 0; i < 3; i++) {
        if (rank > 0)
            OK(ncclRecv(NULL, FLOATS, ncclFloat32, rank - 1, comm, NULL));
        gpu_spin(NULL, 50);
        if (rank + 1 < count)
            OK(ncclSend(NULL, FLOATS, ncclFloat32, rank + 1, comm, NULL));
    }
    finish();
    for (size_t i = 0; i < simnccl_instances(); i++) {
        struct simnccl_instance played = ranks_instance(i);

        EXPECT_EQ(played.end, ranks_last(&played) + LATENCY + BYTES);
        EXPECT_EQ(ranks_kernel(i)->start, played.arrival[rank]);
        EXPECT_EQ(ranks_kernel(i)->end, played.end);
        EXPECT_EQ(played.number, rank > 0 && rank + 1 < count ? i / 2 : i);
    }
    if (rank == 0)
        EXPECT(ranks_instance(0).arrival[1] < ranks_instance(0).arrival[0]);
}

static void transfers_wait_for_each_other(void)
{
    ranks_run(3, -1, use_pipeline);
}

/* ---- Graphs ---- */

static void use_graph(int rank, int count)
{
    ncclComm_t comm = ranks_open(rank, count);
    CUgraphExec exec;
    CUgraph graph;
    CUstream stream;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < 2; i++) {
        gpu_spin(stream, 10 * (unsigned)(rank + 1));
        OK(ranks_reduce(FLOATS, comm, stream));
    }
    OK(cuStreamEndCapture(stream, &graph));
    EXPECT_EQ(simnccl_instances(), 0);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 3; i++)
        OK(cuGraphLaunch(exec, stream));
    finish();
    EXPECT_EQ(simnccl_instances(), 6);
    for (size_t i = 0; i < 6; i++) {
        struct simnccl_instance played = ranks_instance(i);

        EXPECT_EQ(played.number, i);
        EXPECT_EQ(ranks_kernel(i)->start, played.arrival[rank]);
        EXPECT_EQ(ranks_kernel(i)->end, played.arrival[count - 1] + played.transfer);
        EXPECT(ranks_kernel(i)->graphNodeId != 0);
    }
}

static void each_replay_is_an_instance(void)
{
    ranks_run(2, -1, use_graph);
}

/* ---- Splits ---- */

static void use_split(int rank, int count)
{
    ncclComm_t comm = ranks_open(rank, count), team, none;
    int own, size;

    OK(ncclCommSplit(comm, rank % 2, -rank, &team, NULL));
    OK(ncclCommUserRank(team, &own));
    OK(ncclCommCount(team, &size));
    EXPECT_EQ(own, 1 - rank / 2); /* keys turn the order round */
    EXPECT_EQ(size, 2);
    OK(ncclCommSplit(comm, rank ? NCCL_SPLIT_NOCOLOR : 0, 0, &none, NULL));
    EXPECT((none == NULL) == (rank != 0));
    OK(ranks_reduce(FLOATS, comm, NULL)); /* rank 0 was busy with its own */
    OK(cuCtxSynchronize());
    gpu_spin(NULL, 100 * (unsigned)(rank + 1));
    OK(ranks_reduce(FLOATS, team, NULL));
    OK(ranks_reduce(FLOATS, comm, NULL));
    finish();
    EXPECT_EQ(ranks_instance(1).arrival[0] - ranks_instance(1).arrival[1], 200000);
    EXPECT(ranks_instance(1).communicator != ranks_instance(0).communicator);
    EXPECT_EQ(ranks_instance(1).number, 0);
    EXPECT_EQ(ranks_instance(2).number, 1);
}

static void splits_count_by_themselves(void)
{
    ranks_run(4, -1, use_split);
}

/* ---- Hosts ---- */

static void use_hosts(int rank, int count)
{
    ncclComm_t comm;
    struct simnccl_instance played;

    if (rank == 1) {
        setenv("SIMGPU_CLOCK_OFFSET_NS", "-3000000000", 1);
        setenv("SIMGPU_CLOCK_DRIFT_PPB", "50000", 1);
    }
    comm = ranks_open(rank, count);
    gpu_spin(NULL, rank ? 2000 : 1000);
    OK(ranks_reduce(FLOATS, comm, NULL));
    finish();
    played = ranks_instance(0);
    EXPECT_EQ(played.arrival[rank], simgpu_common_ns(ranks_kernel(0)->start));
    EXPECT(ranks_kernel(0)->end >= simgpu_local_ns(played.end));
    EXPECT(ranks_kernel(0)->end < simgpu_local_ns(played.end) + 32);
    if (rank == 1) { /* its clock is behind, and its kernel is on its own clock */
        EXPECT(ranks_kernel(0)->start + 2999000000 < played.arrival[1]);
        EXPECT_EQ(spin_record(0)->end - spin_record(0)->start, 2000000);
    }
    EXPECT(played.arrival[1] > played.arrival[0] + 990000);
    EXPECT(played.arrival[1] < played.arrival[0] + 1010000);
}

static void hosts_have_clocks_of_their_own(void)
{
    ranks_run(2, -1, use_hosts);
}

static void clocks_turn_back(void)
{
    static const int64_t moments[] = {0, 1, 1000, 123456789, 86400000000000};

    setenv("SIMGPU_CLOCK_OFFSET_NS", "1000", 1);
    for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
        uint64_t common = UINT64_C(1700000000000000000) + (uint64_t)moments[i];
        uint64_t local = simgpu_local_ns(common);

        EXPECT_EQ(local - common, 1000 + moments[i] / 100000);
        EXPECT(common - simgpu_common_ns(local) <= 1);
    }
}

/* ---- Ends ---- */

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void lose_a_rank(int rank, int count)
{
    ncclComm_t comm = ranks_open(rank, count);
    double start = seconds();
    ncclResult_t failure;

    OK(ranks_reduce(FLOATS, comm, NULL));
    if (rank == 1)
        kill(getpid(), SIGKILL);
    EXPECT_EQ(ranks_reduce(FLOATS, comm, NULL), ncclRemoteError);
    EXPECT(seconds() - start < 20);
    OK(ncclCommGetAsyncError(comm, &failure));
    EXPECT_EQ(failure, ncclRemoteError);
    EXPECT_EQ(ranks_reduce(FLOATS, comm, NULL), ncclRemoteError);
    EXPECT_EQ(simnccl_instances(), 1);
    OK(cuCtxSynchronize());
    OK(ncclCommAbort(comm));
}

static void a_killed_rank_ends_the_others(void)
{
    ranks_run(3, 1, lose_a_rank);
}

static void miss_a_rank(int rank, int count)
{
    ncclUniqueId id;
    ncclComm_t comm;

    gpu_start(NULL);
    OK(ncclGetUniqueId(&id));
    EXPECT_EQ(ncclCommInitRank(&comm, count + 1, id, rank), ncclSystemError);
}

static void a_missing_rank_is_not_awaited_for_ever(void)
{
    ranks_run(2, -1, miss_a_rank);
}

static void come_with_another_size(int rank, int count)
{
    ncclUniqueId id;
    ncclComm_t comm;
    ncclResult_t result;

    gpu_start(NULL);
    OK(ncclGetUniqueId(&id));
    result = ncclCommInitRank(&comm, count + rank, id, rank);
    /* The first one to come waits for the other, who is told. */
    EXPECT(result == ncclInvalidArgument || result == ncclSystemError);
    setenv("SIMNCCL_DIR", "/nowhere", 1);
    EXPECT_EQ(ncclCommInitRank(&comm, count, id, rank), ncclSystemError);
    memset(&id, 0, sizeof(id));
    EXPECT_EQ(ncclCommInitRank(&comm, count, id, rank), ncclInvalidArgument);
}

static void ranks_agree_on_their_number(void)
{
    ranks_run(2, -1, come_with_another_size);
}

static void disagree(int rank, int count)
{
    ncclComm_t comm = ranks_open(rank, count);

    EXPECT_EQ(ranks_reduce(rank ? 10 : 20, comm, NULL), ncclInvalidUsage);
    OK(ncclCommAbort(comm));
}

static void calls_that_differ_are_refused(void)
{
    ranks_run(2, -1, disagree);
}

static void misuse(int rank, int count)
{
    ncclComm_t comm = ranks_open(rank, count);

    EXPECT_EQ(ncclSend(NULL, 1, ncclFloat32, 7, comm, NULL), ncclInvalidArgument);
    EXPECT_EQ(ncclBroadcast(NULL, NULL, 1, ncclFloat32, -1, comm, NULL), ncclInvalidArgument);
    EXPECT_EQ(ranks_reduce(1, NULL, NULL), ncclInvalidArgument);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
    OK(ncclGroupStart());
    EXPECT_EQ(ncclSend(NULL, 1, ncclFloat32, 7, comm, NULL), ncclInvalidArgument);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
    OK(ranks_reduce(FLOATS, comm, NULL)); /* nothing is left of it */
    EXPECT_EQ(simnccl_instances(), 1);
    OK(ncclCommDestroy(comm));
    EXPECT_EQ(ncclCommDestroy(comm), ncclInvalidArgument);
}

static void misuse_has_an_answer(void)
{
    ranks_run(1, -1, misuse);
}

const struct selftest rank_tests[] = {
    {"an all-reduce ends on all ranks once the last has come", all_ranks_end_together, NULL},
    {"a root is waited for, or waits", who_waits_for_a_root, NULL},
    {"gathered and scattered shares count for each rank", shares_count_for_each_rank, NULL},
    {"a group is one kernel of each kind", a_group_is_one_kernel_of_each_kind, NULL},
    {"sends and receives wait for each other", transfers_wait_for_each_other, NULL},
    {"each replay of a graph is an instance", each_replay_is_an_instance, NULL},
    {"split communicators count by themselves", splits_count_by_themselves, NULL},
    {"hosts have clocks of their own", hosts_have_clocks_of_their_own, NULL},
    {"a host's clock is the common one, shifted and stretched", clocks_turn_back,
     "SIMGPU_CLOCK_DRIFT_PPB=10000"},
    {"a killed rank ends the others", a_killed_rank_ends_the_others, NULL},
    {"a missing rank is not awaited for ever", a_missing_rank_is_not_awaited_for_ever,
     "SIMNCCL_TIMEOUT_MS=300"},
    {"ranks must agree on their number, folder and id", ranks_agree_on_their_number,
     "SIMNCCL_TIMEOUT_MS=300"},
    {"calls that differ between ranks are refused", calls_that_differ_are_refused, NULL},
    {"misuse has an answer and leaves nothing behind", misuse_has_an_answer, NULL},
    {NULL, NULL, NULL},
};
