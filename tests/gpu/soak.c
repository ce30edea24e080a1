/* Launches kernels and CUDA graphs from several threads on several streams for a while, counts what
 * it launched, and looks at its memory and its threads once a second:
 *
 *     second|T|ANON|SHARED|DEVICE|KERNELS|APPLICATION|MINIPROF|FLUSH|OTHERS
 *                                            T ms since the start; bytes of resident anonymous and
 *                                            shared memory of the process, bytes in use on the GPU
 *                                            (by anybody), kernels launched so far; CPU time so
 *                                            far of this program's threads, of miniprof's, of those
 *                                            that flush CUPTI and of all others, which are CUDA's
 *                                            and CUPTI's (threads_cpu.h), ms; threads that have
 *                                            ended are not in it
 *     made|WHAT|COUNT                        between cudaProfilerStart and Stop: kernel (those of
 *                                            graphs too), cuLaunchKernel, cuGraphLaunch, nvtx
 *                                            (ranges, of push and pop)
 *     took|MS                                between the two
 *
 * Each thread has two streams and a graph; a batch is an NVTX range of launches on both streams in
 * turn, and of one graph every other time: --launches, --graph-every, --nodes. --rate bounds the
 * kernels of all threads together; what was late is caught up with, but not more than 10 ms of it.
 */
#include "common.h"

#include <cudaProfiler.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "threads_cpu.h"

enum { SYNC_EVERY = 4, MAX_THREADS = 64 };

#define NS_A_SECOND INT64_C(1000000000)
#define MAX_LATE    (NS_A_SECOND / 100)

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry soak() { ret; }\n";

static struct {
    int seconds, threads, rate, every_ms, launches, graph_every, nodes;
} options = {.seconds = 60,
             .threads = 4,
             .rate = 300000,
             .every_ms = 1000,
             .launches = 100,
             .graph_every = 2,
             .nodes = 100};

static const struct option_row rows[] = {
    {"seconds", OPTION_INT, &options.seconds, 1, 1800, NULL, "how long to launch (60)"},
    {"threads", OPTION_INT, &options.threads, 1, MAX_THREADS, NULL, "threads that launch (4)"},
    {"rate", OPTION_INT, &options.rate, 0, 100000000, NULL,
     "kernels a second at most, of all threads together (300000); 0: any number"},
    {"every-ms", OPTION_INT, &options.every_ms, 1, 60000, NULL, "look at memory and CPU (1000)"},
    {"launches", OPTION_INT, &options.launches, 0, 100000, NULL, "of kernels in a batch (100)"},
    {"graph-every", OPTION_INT, &options.graph_every, 0, 100000, NULL,
     "batches from one launch of a graph to the next (2); 0: none"},
    {"nodes", OPTION_INT, &options.nodes, 1, 100000, NULL, "kernels of each graph (100)"},
    {NULL, OPTION_INT, NULL, 0, 0, NULL, NULL},
};

static CUcontext context;
static CUfunction kernel;
static atomic_bool stop;
static pthread_barrier_t prepared, begun, ended;

/* Written by its thread alone, read by main() while it runs: hence atomic. */
struct worker {
    pthread_t thread;
    CUstream streams[2];
    CUgraphExec graph;
    _Atomic uint64_t launches, graphs, ranges;
};

static struct worker workers[MAX_THREADS];
/* Of the workers' threads and main's; written before `prepared`. */
static pid_t ids[MAX_THREADS + 1];

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_A_SECOND + now.tv_nsec;
}

static void sleep_until(int64_t when)
{
    struct timespec until = {.tv_sec = when / NS_A_SECOND, .tv_nsec = when % NS_A_SECOND};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
        ;
}

static void add(_Atomic uint64_t *counter, uint64_t count)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + count,
                          memory_order_relaxed);
}

/* ---- What a thread does ---- */

static void launch(CUstream stream)
{
    CU_CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

static void prepare(struct worker *worker)
{
    CUgraph graph;
    int i;

    CU_CHECK(cuCtxSetCurrent(context));
    for (i = 0; i < 2; i++)
        CU_CHECK(cuStreamCreate(&worker->streams[i], CU_STREAM_NON_BLOCKING));
    CU_CHECK(cuStreamBeginCapture(worker->streams[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    for (i = 0; i < options.nodes; i++)
        launch(worker->streams[0]);
    CU_CHECK(cuStreamEndCapture(worker->streams[0], &graph));
    CU_CHECK(cuGraphInstantiateWithFlags(&worker->graph, graph, 0));
    CU_CHECK(cuGraphDestroy(graph));
    CU_CHECK(cuGraphLaunch(worker->graph, worker->streams[0]));
    CU_CHECK(cuStreamSynchronize(worker->streams[0])); /* others may be capturing */
}

/* Returns how many kernels that were. */
static int run_batch(struct worker *worker, uint64_t number)
{
    int kernels = options.launches;
    int i;

    nvtxRangePushA("batch");
    for (i = 0; i < options.launches; i++)
        launch(worker->streams[i % 2]);
    add(&worker->launches, (uint64_t)options.launches);
    if (options.graph_every && number % (uint64_t)options.graph_every == 0) {
        CU_CHECK(cuGraphLaunch(worker->graph,
                               worker->streams[number / (uint64_t)options.graph_every % 2]));
        add(&worker->graphs, 1);
        kernels += options.nodes;
    }
    nvtxRangePop();
    add(&worker->ranges, 1);
    if (number % SYNC_EVERY == 0)
        for (i = 0; i < 2; i++)
            CU_CHECK(cuStreamSynchronize(worker->streams[i]));
    return kernels;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    uint64_t number;
    int64_t due, now;

    ids[worker - workers] = gettid();
    prepare(worker);
    pthread_barrier_wait(&prepared);
    pthread_barrier_wait(&begun);
    due = now_ns();
    for (number = 0; !atomic_load_explicit(&stop, memory_order_relaxed); number++) {
        int kernels = run_batch(worker, number);

        if (options.rate == 0)
            continue;
        due += kernels * NS_A_SECOND * options.threads / options.rate;
        now = now_ns();
        if (due > now)
            sleep_until(due);
        else if (now - due > MAX_LATE)
            due = now - MAX_LATE;
    }
    CU_CHECK(cuStreamSynchronize(worker->streams[0]));
    CU_CHECK(cuStreamSynchronize(worker->streams[1]));
    pthread_barrier_wait(&ended);
    pthread_barrier_wait(&ended); /* main has looked: its CPU time is known */
    return NULL;
}

/* ---- What main looks at ---- */

struct made {
    uint64_t launches, graphs, ranges;
};

static struct made count_made(void)
{
    struct made made = {0};
    int i;

    for (i = 0; i < options.threads; i++) {
        made.launches += atomic_load(&workers[i].launches);
        made.graphs += atomic_load(&workers[i].graphs);
        made.ranges += atomic_load(&workers[i].ranges);
    }
    return made;
}

static uint64_t kernels_of(const struct made *made)
{
    return made->launches + made->graphs * (uint64_t)options.nodes;
}

static void resident(uint64_t *anonymous, uint64_t *shared)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];

    *anonymous = *shared = 0;
    if (!file)
        fail("soak: no /proc/self/status");
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, "RssAnon:", 8) == 0)
            *anonymous = strtoull(line + 8, NULL, 10) * 1024;
        if (strncmp(line, "RssShmem:", 9) == 0)
            *shared = strtoull(line + 9, NULL, 10) * 1024;
    }
    fclose(file);
}

static void look(int64_t begin)
{
    struct made made = count_made();
    double cpu[THREADS_GROUPS];
    uint64_t anonymous, shared;
    size_t available, total;

    resident(&anonymous, &shared);
    threads_cpu_look(ids, (size_t)options.threads + 1, cpu);
    CU_CHECK(cuMemGetInfo(&available, &total));
    printf("second|%.0f|%llu|%llu|%zu|%llu|%.0f|%.0f|%.0f|%.0f\n", (double)(now_ns() - begin) / 1e6,
           (unsigned long long)anonymous, (unsigned long long)shared, total - available,
           (unsigned long long)kernels_of(&made), cpu[THREADS_APPLICATION], cpu[THREADS_MINIPROF],
           cpu[THREADS_FLUSH], cpu[THREADS_OTHERS]);
    fflush(stdout);
}

static void print_made(int64_t took)
{
    struct made made = count_made();

    printf("made|kernel|%llu\nmade|cuLaunchKernel|%llu\nmade|cuGraphLaunch|%llu\nmade|nvtx|%llu\n",
           (unsigned long long)kernels_of(&made), (unsigned long long)made.launches,
           (unsigned long long)made.graphs, (unsigned long long)made.ranges);
    printf("took|%.0f\n", (double)took / 1e6);
}

static void start(void)
{
    CUdevice device;
    CUmodule module;
    int i;

    CU_CHECK(cuInit(0));
    CU_CHECK(cuDeviceGet(&device, 0));
    CU_CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CU_CHECK(cuCtxSetCurrent(context));
    CU_CHECK(cuModuleLoadData(&module, ptx));
    CU_CHECK(cuModuleGetFunction(&kernel, module, "soak"));
    launch(NULL); /* loads it, which a capture might not allow */
    CU_CHECK(cuCtxSynchronize());
    pthread_barrier_init(&prepared, NULL, (unsigned)options.threads + 1);
    pthread_barrier_init(&begun, NULL, (unsigned)options.threads + 1);
    pthread_barrier_init(&ended, NULL, (unsigned)options.threads + 1);
    ids[options.threads] = gettid();
    for (i = 0; i < options.threads; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            fail("soak: cannot create thread %d", i);
    pthread_barrier_wait(&prepared);
}

int main(int argc, char **argv)
{
    int64_t begin, at, end;
    int i;

    parse_options(argc, argv, rows);
    if (!options.launches && !options.graph_every)
        fail("soak: --launches 0 and --graph-every 0: nothing to launch");
    start();
    CU_CHECK(cuProfilerStart());
    begin = now_ns();
    end = begin + options.seconds * NS_A_SECOND;
    pthread_barrier_wait(&begun);
    for (at = begin; at < end; at += options.every_ms * (NS_A_SECOND / 1000)) {
        sleep_until(at);
        look(begin);
    }
    sleep_until(end);
    atomic_store(&stop, true);
    pthread_barrier_wait(&ended);
    look(begin);
    pthread_barrier_wait(&ended);
    for (i = 0; i < options.threads; i++)
        pthread_join(workers[i].thread, NULL);
    CU_CHECK(cuProfilerStop());
    print_made(now_ns() - begin);
    return 0;
}
