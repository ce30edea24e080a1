/* What a pair of nvtxRangePush and nvtxRangePop costs the thread that calls it.
 *
 *     bench_record_nvtx [ROUNDS]
 *
 * NVTX's own headers call the handler, linked in; the median of the rounds is printed, and the
 * least. The drain runs between the rounds, or beside them on another core ("with the writer"), as
 * in an application.
 */
#include "record/core/clock.h"
#include "record/nvtx/nvtx.h"

#include <nvtx3/nvToolsExt.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/poison.h"

#define PAIRS      20000
#define MAX_ROUNDS 1000

static unsigned rounds = 101;
static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t attributes;

static int initialize_nvtx(NvtxGetExportTableFunc_t get_table)
{
    return mp_nvtx_initialize(2, (void *)get_table);
}

static void take_event(void *context, const struct mp_nvtx_event *event)
{
    *(uint64_t *)context += event->time;
}

static void take_name(void *context, uint32_t tid, const char *name)
{
    (void)context, (void)tid, (void)name;
}

static void drain(void)
{
    uint64_t sum = 0;
    const struct mp_nvtx_sink sink = {&sum, take_event, take_name, NULL, false};

    mp_nvtx_drain(&sink);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void plain_pairs(void)
{
    for (int i = 0; i < PAIRS; i++) {
        nvtxRangePushA("transformer.layer");
        nvtxRangePop();
        /* As if other code ran between: NVTX's pointers are loaded each time. */
        __asm__ volatile("" ::: "memory");
    }
}

static void registered_pairs(void)
{
    for (int i = 0; i < PAIRS; i++) {
        nvtxDomainRangePushEx(domain, &attributes);
        nvtxDomainRangePop(domain);
    }
}

static void clock_pairs(void)
{
    for (int i = 0; i < PAIRS; i++) {
        (void)mp_clock_now();
        (void)mp_clock_now();
    }
}

static int compare(const void *one, const void *other)
{
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static void measure(const char *what, void (*pairs)(void))
{
    static double results[MAX_ROUNDS];

    pairs();
    for (unsigned i = 0; i < rounds; i++) {
        drain();
        const double start = now();
        pairs();
        results[i] = (now() - start) / PAIRS;
    }
    qsort(results, rounds, sizeof(results[0]), compare);
    printf("%-52s %6.1f %6.1f\n", what, results[rounds / 2], results[0]);
    fflush(stdout);
}

/* The NVTX instance of a process is without a tool for ever, so another process tries that. */
static void measure_without_tool(void)
{
    const pid_t child = fork();

    if (child == 0) {
        measure("no tool", plain_pairs);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    InitializeInjectionNvtx2_fnptr = initialize_nvtx;
}

static atomic_bool stop;

static void *write_events(void *unused)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    while (!atomic_load(&stop)) {
        drain();
        nanosleep(&pause, NULL);
    }
    return unused;
}

static void measure_with_writer(void)
{
    pthread_t writer;
    uint64_t dropped = mp_nvtx_dropped();
    static double results[MAX_ROUNDS];

    pthread_create(&writer, NULL, write_events, NULL);
    for (unsigned i = 0; i < rounds; i++) {
        const double start = now();
        plain_pairs();
        results[i] = (now() - start) / PAIRS;
    }
    atomic_store(&stop, true);
    pthread_join(writer, NULL);
    qsort(results, rounds, sizeof(results[0]), compare);
    printf("%-52s %6.1f %6.1f  (%llu dropped)\n", "recording, text copied, with the writer",
           results[rounds / 2], results[0], (unsigned long long)(mp_nvtx_dropped() - dropped));
}

/* Until the writer knows the rate of the time stamp counter, threads read the clock. */
static void learn_rate(void)
{
    const struct timespec pause = {.tv_nsec = 100000000};

    drain();
    nanosleep(&pause, NULL);
    drain();
}

static void prepare_registered(void)
{
    domain = nvtxDomainCreateA("miniprof.bench");
    attributes = (nvtxEventAttributes_t){.version = NVTX_VERSION,
                                         .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                         .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
    attributes.message.registered = nvtxDomainRegisterStringA(domain, "transformer.layer");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = (unsigned)strtoul(argv[1], NULL, 10);
    if (rounds < 1 || rounds > MAX_ROUNDS)
        return 2;
    printf("%-52s %6s %6s\n", "ns per push + pop", "median", "least");
    fflush(stdout);
    unsetenv("NVTX_INJECTION64_PATH");
    measure_without_tool();
    prepare_registered();
    measure("recording off", plain_pairs);
    mp_nvtx_set_recording(true);
    learn_rate();
    measure("recording, text copied", plain_pairs);
    measure("recording, domain and registered string", registered_pairs);
    measure_with_writer();
    measure("of which the clock, read twice", clock_pairs);
    return 0;
}
