/*
 * inference.c: a stand-in for a TensorRT application.
 *
 * It builds (times hundreds of tactic kernels, which nobody wants in a profile), warms up, and then
 * runs iterations between cuProfilerStart() and cuProfilerStop(). The one line on stdout depends on
 * nothing but the options, so it is the same with and without a profiler, and on any GPU.
 */
#include "model.h"

#include <cudaProfiler.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_THREADS = 64 };

enum exit_mode { EXIT_NORMAL, EXIT_THREAD, EXIT_SLEEP };

static const char *const exit_modes[] = {"normal", "thread-exit", "sleep", NULL};

static struct settings {
    int iterations, layers, kernel_us, streams, threads, warmup, build, seed;
    int graph, pinned, profiler_api, exit_mode, time;
} settings = {.iterations = 10,
              .layers = 20,
              .kernel_us = 10,
              .streams = 2,
              .threads = 1,
              .warmup = 2,
              .build = 200,
              .seed = 1,
              .pinned = 1,
              .profiler_api = 1};

#define MANY 1000000
static const struct option_row option_rows[] = {
    {"iterations", OPTION_INT, &settings.iterations, 0, MANY, NULL, "per thread (10)"},
    {"layers", OPTION_INT, &settings.layers, 1, MODEL_MAX_LAYERS, NULL, "kernels each (20)"},
    {"kernel-us", OPTION_INT, &settings.kernel_us, 0, MANY, NULL, "time of a layer, us (10)"},
    {"streams", OPTION_INT, &settings.streams, 1, MODEL_MAX_STREAMS, NULL, "per thread (2)"},
    {"threads", OPTION_INT, &settings.threads, 1, MAX_THREADS, NULL, "host threads (1)"},
    {"warmup", OPTION_INT, &settings.warmup, 0, MANY, NULL, "iterations before the range (2)"},
    {"build", OPTION_INT, &settings.build, 0, MANY, NULL, "tactic launches (200)"},
    {"seed", OPTION_INT, &settings.seed, 0, MANY, NULL, "of the input (1)"},
    {"graph", OPTION_SET, &settings.graph, 1, 0, NULL, "capture the layers, launch a CUDA graph"},
    {"pinned", OPTION_SET, &settings.pinned, 1, 0, NULL, "pinned host memory (default)"},
    {"pageable", OPTION_SET, &settings.pinned, 0, 0, NULL, "pageable host memory"},
    {"no-profiler-api", OPTION_SET, &settings.profiler_api, 0, 0, NULL,
     "do not call cuProfilerStart and cuProfilerStop"},
    {"exit-mode", OPTION_CHOICE, &settings.exit_mode, 0, 0, exit_modes,
     "normal; thread-exit: exit(0) from a second thread; sleep: iterate until killed"},
    {"time", OPTION_SET, &settings.time, 1, 0, NULL, "print the elapsed time to stderr"},
    {0}};

static struct model model;
static struct worker workers[MAX_THREADS];
static CUcontext context;

static void *run_worker(void *argument)
{
    struct worker *worker = argument;

    CU_CHECK(cuCtxSetCurrent(context));
    for (int i = 0; i < settings.iterations; i++)
        worker_iterate(worker, i, true);
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[MAX_THREADS];

    if (settings.threads == 1) {
        run_worker(&workers[0]);
        return;
    }
    for (int i = 0; i < settings.threads; i++)
        if (pthread_create(&threads[i], NULL, run_worker, &workers[i]) != 0)
            fail("inference: cannot create a thread");
    for (int i = 0; i < settings.threads; i++)
        pthread_join(threads[i], NULL);
}

static void set_up(CUdevice *device)
{
    CU_CHECK(cuInit(0));
    CU_CHECK(cuDeviceGet(device, 0));
    CU_CHECK(cuDevicePrimaryCtxRetain(&context, *device));
    CU_CHECK(cuCtxSetCurrent(context));
    model_load(&model, settings.layers, (unsigned)settings.kernel_us);
    model_build(&model, settings.build);
    for (int i = 0; i < settings.threads; i++) {
        worker_init(&workers[i], &model, i, settings.streams, settings.pinned,
                    (uint32_t)settings.seed);
        if (settings.graph)
            worker_capture(&workers[i]);
        for (int j = 0; j < settings.warmup; j++)
            worker_iterate(&workers[i], j, false);
    }
}

static void tear_down(CUdevice device)
{
    for (int i = 0; i < settings.threads; i++)
        worker_free(&workers[i]);
    model_unload(&model);
    CU_CHECK(cuDevicePrimaryCtxRelease(device));
}

static void print_result(void)
{
    uint32_t checksum = 0;

    for (int i = 0; i < settings.threads; i++)
        checksum += workers[i].checksum;
    printf("inference: %d iterations, checksum %08x\n", settings.iterations * settings.threads,
           checksum);
    fflush(stdout);
}

static void *exit_process(void *unused)
{
    (void)unused;
    exit(0);
}

/* The main thread never returns: the process ends under it. */
static void exit_from_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, exit_process, NULL) != 0)
        fail("inference: cannot create a thread");
    for (;;)
        pause();
}

/* For tests that kill the process inside its profiler range. */
static void iterate_until_killed(void)
{
    for (int i = 0;; i++) {
        worker_iterate(&workers[0], i % MANY, false);
        usleep(1000);
    }
}

int main(int argc, char **argv)
{
    CUdevice device;
    double start;

    parse_options(argc, argv, option_rows);
    set_up(&device);
    if (settings.profiler_api)
        CU_CHECK(cuProfilerStart());
    start = seconds_now();
    run_threads();
    if (settings.time)
        fprintf(stderr, "inference: %.3f ms\n", (seconds_now() - start) * 1e3);
    if (settings.exit_mode == EXIT_SLEEP) {
        print_result();
        iterate_until_killed();
    }
    if (settings.profiler_api)
        CU_CHECK(cuProfilerStop());
    print_result();
    if (settings.exit_mode == EXIT_THREAD)
        exit_from_thread();
    tear_down(device);
    return 0;
}
