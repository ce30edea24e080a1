/* Steps that call no CUDA function: NVTX, threads, signals, processes. See programs/steps.c. */
#include "awaits.h"
#include "steps.h"

#include "common.h"
#include "gpu/threads_cpu.h"

#include <cupti.h>
#include <dlfcn.h>
#include <errno.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static nvtxRangeId_t started[10]; /* of range-start, by their numbers */

/* ---- NVTX ---- */

static void push(const char *value)
{
    nvtxRangePushA(value);
}

static void pop(const char *value)
{
    (void)value;
    nvtxRangePop();
}

static void mark(const char *value)
{
    nvtxMarkA(value);
}

/* DOMAIN:NAME of a domain that is made at its first use. */
static nvtxDomainHandle_t domain_of(const char *value, const char **name)
{
    char domain[64];

    *name = strchr(value, ':');
    snprintf(domain, sizeof(domain), "%.*s", *name ? (int)(*name - value) : 63, value);
    *name = *name ? *name + 1 : "";
    return nvtxDomainCreateA(domain);
}

static nvtxEventAttributes_t event_named(const char *name)
{
    return (nvtxEventAttributes_t){.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message.ascii = name};
}

static void push_in(const char *value)
{
    const char *name;
    nvtxDomainHandle_t domain = domain_of(value, &name);
    nvtxEventAttributes_t attributes = event_named(name);

    nvtxDomainRangePushEx(domain, &attributes);
}

/* With a registered string. */
static void push_registered(const char *value)
{
    const char *name;
    nvtxDomainHandle_t domain = domain_of(value, &name);
    nvtxEventAttributes_t attributes = event_named("");

    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = nvtxDomainRegisterStringA(domain, name);
    nvtxDomainRangePushEx(domain, &attributes);
}

static void push_wide(const char *value)
{
    wchar_t wide[64];

    mbstowcs(wide, value, 64);
    nvtxRangePushW(wide);
}

static void pop_in(const char *value)
{
    const char *name;

    nvtxDomainRangePop(domain_of(value, &name));
}

/* N:NAME */
static void start_range(const char *value)
{
    started[value[0] - '0'] = nvtxRangeStartA(value + 2);
}

static void end_range(const char *value)
{
    nvtxRangeEnd(started[number(value)]);
}

/* ---- The process ---- */

static void print(const char *value)
{
    puts(value);
    fflush(stdout);
}

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* NAME|us|us|ms: when it is, when that is told, and the CPU time of CUDA's and CUPTI's threads
 * until then; those of begin-thread count among them. */
static void stamp(const char *value)
{
    double us = now_us();
    double ms[THREADS_GROUPS];
    pid_t main_thread = getpid();

    threads_cpu_look(&main_thread, 1, ms);
    printf("%s|%.0f|", value, us);
    printf("%.0f|%.0f\n", now_us(), ms[THREADS_OTHERS]);
    fflush(stdout);
}

static void sleep_ms(const char *value)
{
    usleep((useconds_t)number(value) * 1000);
}

/* So many us go by on the software GPU's clock. */
static void pass(const char *value)
{
    uint64_t (*now)(void);
    void (*wait)(uint64_t when);

    *(void **)&now = dlsym(RTLD_DEFAULT, "simgpu_clock_ns");
    *(void **)&wait = dlsym(RTLD_DEFAULT, "simgpu_wait_until_ns");
    if (!now || !wait)
        fail("steps: not the software GPU");
    wait(now() + (uint64_t)number(value) * 1000);
}

static void *loaded; /* by load */

static void load(const char *path)
{
    loaded = dlopen(path, RTLD_NOW);
    if (!loaded)
        fail("steps: %s", dlerror());
}

/* A function without parameters of the library that was loaded last. */
static void call(const char *name)
{
    int (*function)(void);

    *(void **)&function = loaded ? dlsym(loaded, name) : NULL;
    if (!function)
        fail("steps: no function %s", name);
    function();
}

/* Of the process's CUPTI, which has to be there. */
static void print_pool_limit(const char *value)
{
    void *cupti = dlopen("libcupti.so", RTLD_NOW | RTLD_NOLOAD);
    CUptiResult (*get)(CUpti_ActivityAttribute, size_t *, void *) = NULL;
    size_t limit;
    size_t size = sizeof(limit);

    (void)value;
    if (cupti)
        *(void **)&get = dlsym(cupti, "cuptiActivityGetAttribute");
    if (!get || get(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &size, &limit) != CUPTI_SUCCESS)
        fail("steps: CUPTI does not tell its limit");
    printf("%zu\n", limit);
}

static void exit_here(const char *value)
{
    exit((int)number(value));
}

static void exit_at_once(const char *value)
{
    _exit((int)number(value));
}

static void *exit_thread(void *code)
{
    exit(*(int *)code);
}

static void exit_from_thread(const char *value)
{
    static int code;
    pthread_t thread;

    code = (int)number(value);
    if (pthread_create(&thread, NULL, exit_thread, &code) != 0)
        fail("steps: cannot create a thread");
    for (;;)
        pause();
}

static const char *last_words;

static void say_last_words(void)
{
    puts(last_words);
}

static void print_at_exit(const char *value)
{
    last_words = value;
    atexit(say_last_words);
}

/* Of the calling thread: the process goes on while it has others. */
static void end_thread(const char *value)
{
    (void)value;
    pthread_exit(NULL);
}

static pthread_t other;
static char *other_steps;
static CUcontext context; /* of the thread that made the other */

/* Steps that another thread does, comma-separated; awaited. */
static void *thread_main(void *steps)
{
    if (context)
        CU_CHECK(cuCtxSetCurrent(context));
    for (char *at = steps; at;)
        run_step(strsep(&at, ","));
    return NULL;
}

static void begin_thread(const char *value)
{
    if (cuCtxGetCurrent(&context) != CUDA_SUCCESS)
        context = NULL;
    other_steps = strdup(value);
    if (pthread_create(&other, NULL, thread_main, other_steps) != 0)
        fail("steps: cannot create a thread");
}

static void join_thread(const char *value)
{
    (void)value;
    pthread_join(other, NULL);
    free(other_steps);
}

static void name_thread(const char *value)
{
    pthread_setname_np(pthread_self(), value);
}

static void in_thread(const char *value)
{
    begin_thread(value);
    join_thread("");
}

static size_t room_kib; /* of low_thread */

/* Uses its stack up to that room, which is little for a thread but enough for a call. */
static void *low_thread(void *steps)
{
    char here;
    pthread_attr_t attributes;
    void *lowest;
    size_t bytes;
    volatile char *used;

    if (pthread_getattr_np(pthread_self(), &attributes) != 0 ||
        pthread_attr_getstack(&attributes, &lowest, &bytes) != 0)
        fail("steps: no stack");
    pthread_attr_destroy(&attributes);
    used = __builtin_alloca((size_t)(&here - (char *)lowest) - (room_kib << 10));
    *used = 0;
    return thread_main(steps);
}

/* KIB,STEPS: a thread that has so much of its stack left does these steps; awaited. */
static void in_low_thread(const char *value)
{
    char *steps = strdup(value);
    char *rest = steps;

    room_kib = (size_t)number(strsep(&rest, ","));
    if (cuCtxGetCurrent(&context) != CUDA_SUCCESS ||
        pthread_create(&other, NULL, low_thread, rest) != 0 || pthread_join(other, NULL) != 0)
        fail("steps: cannot create a thread");
    free(steps);
}

static void on_usr2(int signal_number)
{
    static const char text[] = "own USR2\n";
    ssize_t written = write(STDOUT_FILENO, text, sizeof(text) - 1);

    (void)signal_number;
    (void)written;
}

static void handle_usr2(const char *value)
{
    (void)value;
    signal(SIGUSR2, on_usr2);
}

static int code_in_handler;

static void exit_in_handler(int signal_number)
{
    (void)signal_number;
    exit(code_in_handler); /* NOLINT(bugprone-signal-handler,cert-sig30-c) */
}

/* What a handler should not do, but many do. */
static void exit_on_usr1(const char *value)
{
    code_in_handler = (int)number(value);
    signal(SIGUSR1, exit_in_handler);
}

/* Closes all sockets, none of which it has opened, and opens others in their place, with a byte
 * that waits in each of them and that nobody else may take. */
static void swap_sockets(const char *value)
{
    enum { PAIRS = 4 };
    int pairs[PAIRS][2];
    struct stat about;
    char byte = 0;

    (void)value;
    for (int file = 3; file < 64; file++)
        if (fstat(file, &about) == 0 && S_ISSOCK(about.st_mode))
            close(file);
    for (int i = 0; i < PAIRS; i++)
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]) != 0 || write(pairs[i][0], "x", 1) != 1 ||
            write(pairs[i][1], "x", 1) != 1)
            fail("steps: no sockets");
    usleep(300000);
    for (int i = 0; i < PAIRS; i++)
        if (recv(pairs[i][0], &byte, 1, MSG_DONTWAIT) != 1 ||
            recv(pairs[i][1], &byte, 1, MSG_DONTWAIT) != 1)
            fail("steps: somebody took what was for us");
}

static void abort_here(const char *value)
{
    (void)value;
    abort();
}

static void raise_signal(const char *value)
{
    kill(getpid(), (int)number(value));
    /* What ends the process comes a moment later where somebody finishes a file first. */
    sleep(120);
    fail("steps: signal %s did not end the process", value);
}

/* Of the calling thread, and of those that it makes. */
static void block_term(const char *value)
{
    sigset_t term;

    (void)value;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, NULL);
}

/* A signal that is blocked. */
static void send_signal(const char *value)
{
    kill(getpid(), (int)number(value));
}

static void wait_term(const char *value)
{
    sigset_t term;
    int got;

    (void)value;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    if (sigwait(&term, &got) != 0 || got != SIGTERM)
        fail("steps: somebody took the SIGTERM that was for us");
}

static void on_term(int signal_number)
{
    static const char text[] = "own handler\n";
    ssize_t written = write(STDOUT_FILENO, text, sizeof(text) - 1);

    (void)signal_number;
    _exit(written > 0 ? 7 : 8);
}

static void handle_term(const char *value)
{
    (void)value;
    signal(SIGTERM, on_term);
}

static void ignore_int(const char *value)
{
    (void)value;
    signal(SIGINT, SIG_IGN);
    kill(getpid(), SIGINT);
}

static void await_child(pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    printf("child: %s %d\n", WIFSIGNALED(status) ? "signal" : "exit",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    fflush(stdout);
}

/* A child that does nothing but end, by exit() with its handlers. */
static void fork_child(const char *value)
{
    pid_t child = fork();

    if (child == 0) {
        nvtxMarkA("from the child");
        exit((int)number(value));
    }
    await_child(child);
}

/* A child that ends by a signal's default action. */
static void fork_killed(const char *value)
{
    pid_t child = fork();

    if (child == 0) {
        raise((int)number(value));
        _exit(99);
    }
    await_child(child);
}

/* A child that does steps, comma-separated, and then exits. */
static void fork_run(const char *value)
{
    char *copy = strdup(value);
    pid_t child = fork();

    if (child == 0) {
        for (char *at = copy; at;)
            run_step(strsep(&at, ","));
        exit(0);
    }
    await_child(child);
    free(copy);
}

/* A child that becomes this program anew; value: its steps, comma-separated. */
static void fork_exec(const char *value)
{
    char *copy = strdup(value);
    char *argv[64] = {(char *)(uintptr_t) "steps"};
    pid_t child;
    int count = 1;

    for (char *at = copy; at && count < 63; count++)
        argv[count] = strsep(&at, ",");
    child = fork();
    if (child == 0) {
        execv("/proc/self/exe", argv);
        _exit(98);
    }
    await_child(child);
    free(copy);
}

/* ---- The table ---- */

const struct step_row host_steps[] = {
    {"push", push},
    {"pop", pop},
    {"mark", mark},
    {"push-in", push_in},
    {"push-registered", push_registered},
    {"push-wide", push_wide},
    {"pop-in", pop_in},
    {"range-start", start_range},
    {"range-end", end_range},
    {"name-thread", name_thread},
    {"thread", in_thread},
    {"begin-thread", begin_thread},
    {"join-thread", join_thread},
    {"low-thread", in_low_thread},
    {"await", await_file},
    {"written", await_written},
    {"flushing", await_flush},
    {"returned", await_returned},
    {"looked", await_look},
    {"switched", await_switches},
    {"unrecorded", await_off},
    {"profiled", await_profiled},
    {"read", await_reading},
    {"round", await_round},
    {"state", await_state},
    {"said", await_said},
    {"handle-usr2", handle_usr2},
    {"exit-on-usr1", exit_on_usr1},
    {"swap-sockets", swap_sockets},
    {"load", load},
    {"call", call},
    {"print-pool-limit", print_pool_limit},
    {"print", print},
    {"print-at-exit", print_at_exit},
    {"stamp", stamp},
    {"sleep", sleep_ms},
    {"pass", pass},
    {"exit", exit_here},
    {"_exit", exit_at_once},
    {"thread-exit", exit_from_thread},
    {"end-thread", end_thread},
    {"abort", abort_here},
    {"raise", raise_signal},
    {"block-term", block_term},
    {"send", send_signal},
    {"wait-term", wait_term},
    {"handle-term", handle_term},
    {"ignore-int", ignore_int},
    {"fork", fork_child},
    {"fork-killed", fork_killed},
    {"fork-exec", fork_exec},
    {"fork-run", fork_run},
};
const size_t host_step_count = sizeof(host_steps) / sizeof(host_steps[0]);
