/*
 * selftest_told.c: what the stand-in for NCCL tells a profiler by NVTX and by a plugin: line by
 * line as selftest_tool.c writes it down.
 */
#include "selftest_ranks.h"

#include <string.h>
#include <unistd.h>

static char told[8192];

/* The tool hears the ranks of a test; each has a file of its own. */
static void listen(int rank, const char *what)
{
    char path[600], tool[600];

    snprintf(path, sizeof(path), "%s/told%d", getenv("SIMNCCL_DIR"), rank);
    snprintf(tool, sizeof(tool), "%s/libselftest_nccl_tool.so", selftest_libraries);
    setenv("SIMNCCL_TOLD", path, 1);
    setenv(what, tool, 1);
}

static void read_told(void)
{
    FILE *file = fopen(getenv("SIMNCCL_TOLD"), "r");
    size_t bytes = file ? fread(told, 1, sizeof(told) - 1, file) : 0;

    told[bytes] = '\0';
    if (file)
        fclose(file);
}

/* Compares with the whole of it, but shows only where they part. */
static void expect_told(const char *expected)
{
    size_t same = 0;

    read_told();
    while (told[same] && told[same] == expected[same])
        same++;
    if (told[same] != expected[same])
        printf("    told: ...%.200s\n    not:  ...%.200s\n", told + same, expected + same);
    EXPECT(told[same] == expected[same]);
}

/* ---- NVTX ---- */

static uint64_t hash;

static void call_all(int rank, int count)
{
    ncclComm_t comm, team;

    listen(rank, "NVTX_INJECTION64_PATH");
    comm = ranks_open(rank, count);
    OK(ranks_reduce(100, comm, NULL));
    hash = ranks_instance(0).communicator;
    OK(ncclGroupStart());
    OK(ncclBroadcast(NULL, NULL, 8, ncclInt8, 1, comm, NULL));
    OK(ncclReduce(NULL, NULL, 8, ncclInt32, ncclMax, 1, comm, NULL));
    OK(ncclGroupEnd());
    OK(rank ? ncclRecv(NULL, 2, ncclFloat64, 0, comm, NULL)
            : ncclSend(NULL, 2, ncclFloat64, 1, comm, NULL));
    OK(ncclCommSplit(comm, 4, rank, &team, NULL));
    OK(ncclAllGather(NULL, NULL, 5, ncclFloat16, team, NULL));
    OK(cuCtxSynchronize());
    OK(ncclCommFinalize(comm));
    OK(ncclCommDestroy(comm));
}

static void expect_new(int rank, int count)
{
    char expected[4096];
    long long comm, team;

    call_all(rank, count);
    comm = (long long)hash;
    team = (long long)ranks_instance(simnccl_instances() - 1).communicator;
    snprintf(
        expected, sizeof(expected),
        "domain NCCL\n"
        "enum 24: Sum=0 Product=1 Max=2 Min=3 Avg=4\n"
        "push ncclCommInitRank\n"
        "pop 0 of 24 bytes: NCCL communicator ID=%lld No. of ranks=2 Rank=%d CUDA device=0\n"
        "push ncclAllReduce 5 of 24 bytes: NCCL communicator ID=%lld Message size [bytes]=400 "
        "Reduction operation=0\npop\n"
        "push ncclGroupStart\npop\n"
        "push ncclBroadcast 6 of 24 bytes: NCCL communicator ID=%lld Message size [bytes]=8 "
        "Root=1\npop\n"
        "push ncclReduce 8 of 24 bytes: NCCL communicator ID=%lld Message size [bytes]=32 "
        "Root=1 Reduction operation=2\npop\n"
        "push ncclGroupEnd\npop\n"
        "push nccl%s %d of 24 bytes: NCCL communicator ID=%lld Message size [bytes]=16 "
        "Peer rank=%d\npop\n"
        "push ncclCommSplit\n"
        "pop 13 of 40 bytes: NCCL communicator ID=%lld Parent NCCL communicator ID=%lld "
        "No. of ranks=2 Rank=%d CUDA device=0 Color=4 Key=%d\n"
        "push ncclAllGather 4 of 16 bytes: NCCL communicator ID=%lld Message size [bytes]=10\npop\n"
        "push ncclCommFinalize\npop 14 of 8 bytes: NCCL communicator ID=%lld\n"
        "push ncclCommDestroy 2 of 24 bytes: NCCL communicator ID=%lld No. of ranks=2 Rank=%d "
        "CUDA device=0\npop\n",
        comm, rank, comm, comm, comm, rank ? "Recv" : "Send", rank ? 10 : 9, comm, !rank, team,
        comm, rank, rank, team, comm, comm, rank);
    expect_told(expected);
}

static void nvtx_says_all_arguments(void)
{
    ranks_run(2, -1, expect_new);
}

static void expect_old(int rank, int count)
{
    char expected[4096];

    call_all(rank, count);
    snprintf(expected, sizeof(expected),
             "domain NCCL\n"
             "enum 24: Sum=0 Product=1 Max=2 Min=3 Avg=4\n"
             "push ncclCommInitRank 0 of 12 bytes: Rank=%d No. of ranks=2 CUDA device=0\npop\n"
             "push ncclAllReduce 5 of 16 bytes: Message size [bytes]=400 Reduction operation=0\n"
             "pop\npush ncclGroupStart\npop\n"
             "push ncclBroadcast 6 of 16 bytes: Message size [bytes]=8 Root=1\npop\n"
             "push ncclReduce 8 of 16 bytes: Message size [bytes]=32 Root=1 "
             "Reduction operation=2\npop\n"
             "push ncclGroupEnd\npop\n"
             "push nccl%s %d of 16 bytes: Message size [bytes]=16 Peer rank=%d\npop\n"
             "push ncclCommSplit\npop\n"
             "push ncclAllGather 4 of 8 bytes: Message size [bytes]=10\npop\n"
             "push ncclCommFinalize\npop\n"
             "push ncclCommDestroy 2 of 12 bytes: Rank=%d No. of ranks=2 CUDA device=0\npop\n",
             rank, rank ? "Recv" : "Send", rank ? 10 : 9, !rank, rank);
    expect_told(expected);
}

static void old_payloads_have_no_communicator(void)
{
    ranks_run(2, -1, expect_old);
}

static void expect_names(int rank, int count)
{
    char expected[4096];

    call_all(rank, count);
    snprintf(expected, sizeof(expected),
             "domain NCCL\npush ncclCommInitRank\npop\npush ncclAllReduce\npop\n"
             "push ncclGroupStart\npop\npush ncclBroadcast\npop\npush ncclReduce\npop\n"
             "push ncclGroupEnd\npop\npush nccl%s\npop\npush ncclCommSplit\npop\n"
             "push ncclAllGather\npop\npush ncclCommFinalize\npop\npush ncclCommDestroy\npop\n",
             rank ? "Recv" : "Send");
    expect_told(expected);
}

static void oldest_ranges_have_names_only(void)
{
    ranks_run(2, -1, expect_names);
}

static void expect_silence(int rank, int count)
{
    call_all(rank, count);
    expect_told("");
}

static void nvtx_can_be_switched_off(void)
{
    ranks_run(2, -1, expect_silence);
}

/* ---- The plugin ---- */

static void call_some(int rank, int count)
{
    CUstream stream;
    CUgraph graph;
    ncclComm_t comm;

    setenv("NCCL_NVTX_DISABLE", "1", 1);
    listen(rank, "NCCL_PROFILER_PLUGIN");
    comm = ranks_open(rank, count);
    OK(ranks_reduce(100, comm, NULL));
    OK(ncclGroupStart());
    OK(ranks_reduce(1 << 20, comm, NULL));
    OK(ncclBroadcast(NULL, NULL, 8, ncclInt8, 0, comm, NULL));
    OK(ncclSend(NULL, 2, ncclFloat64, 0, comm, NULL));
    OK(ncclRecv(NULL, 2, ncclFloat64, 0, comm, NULL));
    OK(ncclGroupEnd());
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(ranks_reduce(7, comm, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(ranks_reduce(8, comm, NULL));
    OK(cuCtxSynchronize());
    OK(ncclCommDestroy(comm));
}

static void expect_events(int rank, int count)
{
    call_some(rank, count);
    read_told();
    expect_told("init b18a02f46d8d86c3 - 0 of 1\n"
                "1 in 0 GroupApi depth 1 captured 0\nstate 1 23\n"
                "2 in 1 CollApi AllReduce 100 ncclFloat32 captured 0\nstop 2\nstate 1 24\n"
                "3 in 1 KernelLaunch\nstop 3\n4 in 0 Group\n"
                "5 in 2 Coll AllReduce #0 100 ncclFloat32 root 0 RING LL\nstop 5\nstop 4\nstop 1\n"

                "6 in 0 GroupApi depth 2 captured 0\nstate 6 23\n"
                "7 in 6 CollApi AllReduce 1048576 ncclFloat32 captured 0\nstop 7\n"
                "8 in 6 CollApi Broadcast 8 ncclInt8 captured 0\nstop 8\n"
                "9 in 6 P2pApi Send 2 ncclFloat64\nstop 9\n"
                "10 in 6 P2pApi Recv 2 ncclFloat64\nstop 10\nstate 6 24\n"
                "11 in 6 KernelLaunch\nstop 11\n12 in 0 Group\n"
                "13 in 7 Coll AllReduce #1 1048576 ncclFloat32 root 0 RING SIMPLE\n"
                "14 in 8 Coll Broadcast #0 8 ncclInt8 root 0 RING LL\nstop 13\nstop 14\nstop 12\n"
                "15 in 6 KernelLaunch\nstop 15\n16 in 0 Group\n"
                "17 in 9 P2p Send 2 ncclFloat64 peer 0\n18 in 10 P2p Recv 2 ncclFloat64 peer 0\n"
                "stop 17\nstop 18\nstop 16\nstop 6\n"

                "19 in 0 GroupApi depth 1 captured 1\nstate 19 23\n"
                "20 in 19 CollApi AllReduce 7 ncclFloat32 captured 1\nstop 20\nstate 19 24\n"
                "21 in 19 KernelLaunch\nstop 21\nstop 19\n"

                "22 in 0 GroupApi depth 1 captured 0\nstate 22 23\n"
                "23 in 22 CollApi AllReduce 8 ncclFloat32 captured 0\nstop 23\nstate 22 24\n"
                "24 in 22 KernelLaunch\nstop 24\n25 in 0 Group\n"
                "26 in 23 Coll AllReduce #2 8 ncclFloat32 root 0 RING LL\nstop 26\nstop 25\n"
                "stop 22\nfinalize\n");
}

static void a_plugin_hears_all_events(void)
{
    setenv("SIMNCCL_MASK", "0xf06", 1);
    ranks_run(1, -1, expect_events);
}

/* The software GPU's driver runs a host function when it is enqueued, so all has one order. */
static void expect_replays(int rank, int count)
{
    CUgraphExec exec;
    CUstream stream;
    CUgraph graph;
    ncclComm_t comm;

    setenv("NCCL_NVTX_DISABLE", "1", 1);
    listen(rank, "NCCL_PROFILER_PLUGIN");
    comm = ranks_open(rank, count);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(ranks_reduce(7, comm, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphLaunch(exec, stream));
    OK(cuCtxSynchronize());
    OK(ranks_reduce(8, comm, stream));
    OK(cuCtxSynchronize());
    OK(ncclCommDestroy(comm));
    expect_told("init b18a02f46d8d86c3 - 0 of 1\n"
                "1 in 0 GroupApi depth 1 captured 1\nstate 1 23\n"
                "2 in 1 CollApi AllReduce 7 ncclFloat32 captured 1\nstop 2\nstate 1 24\n"
                "3 in 1 KernelLaunch\nstop 3\nstop 1\n"
                "4 in 0 Group\n5 in 2 Coll AllReduce #0 7 ncclFloat32 root 0 RING LL\n"
                "stop 5\nstop 4\n"
                "6 in 0 Group\n7 in 2 Coll AllReduce #0 7 ncclFloat32 root 0 RING LL\n"
                "stop 7\nstop 6\n"
                "8 in 0 GroupApi depth 1 captured 0\nstate 8 23\n"
                "9 in 8 CollApi AllReduce 8 ncclFloat32 captured 0\nstop 9\nstate 8 24\n"
                "10 in 0 Group\n11 in 9 Coll AllReduce #0 8 ncclFloat32 root 0 RING LL\n"
                "stop 11\nstop 10\n"
                "12 in 8 KernelLaunch\nstop 12\nstop 8\nfinalize\n");
}

static void host_functions_tell_of_replays(void)
{
    setenv("SIMNCCL_MASK", "0xf06", 1);
    ranks_run(1, -1, expect_replays);
}

static void expect_events_of_v4(int rank, int count)
{
    call_some(rank, count);
    expect_told("init b18a02f46d8d86c3 - 0 of 1\n"
                "1 in 0 Group\n2 in 1 Coll AllReduce #0 100 ncclFloat32 root 0 RING LL\n"
                "stop 2\nstop 1\n"
                "3 in 0 Group\n4 in 3 Coll AllReduce #1 1048576 ncclFloat32 root 0 RING SIMPLE\n"
                "5 in 3 Coll Broadcast #0 8 ncclInt8 root 0 RING LL\nstop 4\nstop 5\nstop 3\n"
                "6 in 0 Group\n7 in 6 P2p Send 2 ncclFloat64 peer 0\n"
                "8 in 6 P2p Recv 2 ncclFloat64 peer 0\nstop 7\nstop 8\nstop 6\n"
                "9 in 0 Group\n10 in 9 Coll AllReduce #2 8 ncclFloat32 root 0 RING LL\n"
                "stop 10\nstop 9\nfinalize\n");
}

static void version_4_has_no_events_of_the_api(void)
{
    setenv("SIMNCCL_MASK", "0xf06", 1);
    ranks_run(1, -1, expect_events_of_v4);
}

static void expect_nothing(int rank, int count)
{
    call_some(rank, count);
    expect_told("init b18a02f46d8d86c3 - 0 of 1\nfinalize\n");
}

static void a_plugin_that_wants_nothing_hears_nothing(void)
{
    setenv("SIMNCCL_MASK", "0", 1);
    ranks_run(1, -1, expect_nothing);
}

static void expect_name(int rank, int count)
{
    ncclConfig_t config = {.size = sizeof(config), .commName = "tensor"};
    ncclUniqueId id;
    ncclComm_t comm;

    listen(rank, "NCCL_PROFILER_PLUGIN");
    gpu_start(NULL);
    OK(ncclGetUniqueId(&id));
    OK(ncclCommInitRankConfig(&comm, count, id, rank, &config));
    OK(ncclCommAbort(comm));
    expect_told(rank ? "init b18a02f46d8d86c3 tensor 1 of 2\nfinalize\n"
                     : "init b18a02f46d8d86c3 tensor 0 of 2\nfinalize\n");
}

static void a_communicator_may_have_a_name(void)
{
    setenv("SIMNCCL_MASK", "0", 1);
    ranks_run(2, -1, expect_name);
}

static void run_without(int rank, int count)
{
    ncclComm_t comm = ranks_open(rank, count);

    OK(ranks_reduce(100, comm, NULL));
    EXPECT_EQ(simnccl_instances(), 1);
}

static void a_plugin_that_is_not_there_is_no_matter(void)
{
    ranks_run(1, -1, run_without);
}

const struct selftest told_tests[] = {
    {"NVTX ranges carry all arguments", nvtx_says_all_arguments, NULL},
    {"old payloads have no communicator", old_payloads_have_no_communicator, "SIMNCCL_NVTX=old"},
    {"oldest ranges have names only", oldest_ranges_have_names_only, "SIMNCCL_NVTX=names"},
    {"NVTX can be switched off", nvtx_can_be_switched_off, "NCCL_NVTX_DISABLE=1"},
    {"a plugin hears all events in NCCL's order", a_plugin_hears_all_events, NULL},
    {"version 5 hears the same", a_plugin_hears_all_events, "SIMNCCL_PROFILER_VERSION=5"},
    {"host functions tell of replays", host_functions_tell_of_replays, "SIMNCCL_PROXY=1"},
    {"version 4 has no events of the API", version_4_has_no_events_of_the_api,
     "SIMNCCL_PROFILER_VERSION=4"},
    {"a plugin that wants nothing hears nothing", a_plugin_that_wants_nothing_hears_nothing, NULL},
    {"a communicator may have a name", a_communicator_may_have_a_name, NULL},
    {"a plugin that is not there is no matter", a_plugin_that_is_not_there_is_no_matter,
     "NCCL_PROFILER_PLUGIN=/nowhere.so"},
    {"nor is a library that is no plugin", a_plugin_that_is_not_there_is_no_matter,
     "NCCL_PROFILER_PLUGIN=libm.so.6"},
    {NULL, NULL, NULL},
};
