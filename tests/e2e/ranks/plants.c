/* What makes a rank late, in the program ranks: each cause, done as a program would do it. */
#include "ranks.h"

#include "common.h"

#include "../../../src/base/preload.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void compute(struct job *job, long us)
{
    (void)job;
    simgpu_wait_until_ns(simgpu_clock_ns() + (uint64_t)us * 1000);
}

/* In place of libminiprof_preload.so, whose clock is real: the recorder is told of waits in virtual
 * time. */
#define SHOWN __attribute__((visibility("default")))
SHOWN struct mp_preload miniprof_preload = {.version = MP_PRELOAD_VERSION};

struct errand {
    const struct job *job;
    long us;
    uint64_t end;
    pid_t thread;
};

/* Only threads that use the driver are waited for in virtual time. */
static void *work_aside(void *data)
{
    struct errand *errand = data;

    CU_CHECK(cuCtxSetCurrent(errand->job->context));
    simgpu_wait_until_ns(simgpu_clock_ns() + (uint64_t)errand->us * 1000);
    errand->thread = gettid();
    errand->end = simgpu_clock_ns();
    return NULL;
}

static void tell_wait(uint64_t begin, const struct errand *errand)
{
    const struct mp_preload_wait wait = {.begin = begin,
                                         .end = simgpu_clock_ns(),
                                         .woken = errand->end,
                                         .thread = (uint32_t)gettid(),
                                         .waker = (uint32_t)errand->thread,
                                         .kind = MP_WAIT_JOIN};

    if (miniprof_preload.waited)
        miniprof_preload.waited(&wait);
}

static void block(struct job *job, long us)
{
    struct errand errand = {.job = job, .us = us};
    uint64_t begin = simgpu_clock_ns();
    pthread_t helper;

    if (pthread_create(&helper, NULL, work_aside, &errand) != 0)
        fail("ranks: no thread");
    pthread_join(helper, NULL);
    tell_wait(begin, &errand);
}

/* A module is loaded again and again, 80 us each. */
static void load_modules(struct job *job, long us)
{
    CUmodule module;

    (void)job;
    for (long i = 0; i < us / 80; i++)
        CU_CHECK(cuModuleLoadData(&module, ".version 6.0\n.target sm_50\n.address_size 64\n"));
}

/* The host is busy with launches of other work, 2.5 us each. */
static void launch_much(struct job *job, long us)
{
    CUdeviceptr nothing = 0;
    unsigned n = 0;
    void *params[] = {&nothing, &n};

    for (long i = 0; i < us * 2 / 5; i++)
        CU_CHECK(cuLaunchKernel(job->other, 1, 1, 1, 32, 1, 1, 0, job->aside, params, NULL));
}

/* Into the layer's stream: 25 GB/s. */
static void copy(struct job *job, long us)
{
    size_t bytes = (size_t)us * 25000;
    CUdeviceptr device;
    void *host;

    CU_CHECK(cuMemAlloc(&device, bytes));
    CU_CHECK(cuMemHostAlloc(&host, bytes, 0));
    CU_CHECK(cuMemcpyHtoDAsync(device, host, bytes, job->stream));
}

static const struct {
    const char *name;
    void (*act)(struct job *job, long us); /* NULL: the kernel is slow */
} causes[] = {{"host", compute}, {"blocked", block},     {"launch", launch_much},
              {"copy", copy},    {"call", load_modules}, {"kernel", NULL}};

enum { CAUSES = sizeof(causes) / sizeof(causes[0]) };

static int find_cause(const char *name)
{
    for (int i = 0; i < CAUSES; i++)
        if (strcmp(causes[i].name, name) == 0)
            return i;
    fail("ranks: '%s' makes nobody late: host, blocked, launch, copy, call or kernel", name);
}

void plant_parse(struct job *job, const char *text)
{
    struct plant plant;
    char name[16];

    if (sscanf(text, "%d:%d:%d:%15[a-z]:%ld", /* NOLINT(cert-err34-c) */
               &plant.rank, &plant.iteration, &plant.layer, name, &plant.us) != 5)
        fail("ranks: late=%s is not RANK:ITERATION:LAYER:CAUSE:US", text);
    if (job->plant_count == MAX_PLANTS)
        fail("ranks: more than %d times late=", MAX_PLANTS);
    plant.cause = causes[find_cause(name)].name;
    job->plants[job->plant_count++] = plant;
}

static const struct plant *find_plant(const struct job *job, int rank, int iteration, int layer)
{
    for (int i = 0; i < job->plant_count; i++)
        if (job->plants[i].rank == rank && job->plants[i].iteration == iteration &&
            job->plants[i].layer == layer)
            return &job->plants[i];
    return NULL;
}

long plant_act(struct job *job, int iteration, int layer)
{
    const struct plant *plant = find_plant(job, job->rank, iteration, layer);
    int cause = plant ? find_cause(plant->cause) : 0;

    if (plant && causes[cause].act)
        causes[cause].act(job, plant->us);
    return plant && !causes[cause].act ? plant->us : 0;
}

const char *plant_cause(const struct job *job, int rank, int iteration, int layer)
{
    const struct plant *plant = find_plant(job, rank, iteration, layer);

    return plant ? plant->cause : "-";
}
