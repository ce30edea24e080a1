/* life.c: a program that does to itself what programs do to profilers: it resets devices, forks,
 * closes descriptors, changes its root, forbids itself system calls. Steps as in steps.c:
 *
 *     life init alpha=4 reset alpha=3 sync exit=0
 */
#include "../steps/awaits.h"
#include "../steps/sandbox.h"
#include "common.h"

#include <cudaProfiler.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char ptx[] = ".version 6.0\n"
                          ".target sm_50\n"
                          ".address_size 64\n"
                          ".visible .entry alpha()\n{\n    ret;\n}\n"
                          ".visible .entry beta()\n{\n    ret;\n}\n";

static CUdevice device;
static CUcontext context; /* the current one */
static CUmodule module;

static long number(const char *value)
{
    return strtol(value, NULL, 0);
}

/* ---- CUDA ---- */

static void use_context(CUcontext made)
{
    context = made;
    CU_CHECK(cuCtxSetCurrent(context));
    CU_CHECK(cuModuleLoadData(&module, ptx));
}

static void retain(const char *value)
{
    CUcontext made;

    (void)value;
    CU_CHECK(cuDevicePrimaryCtxRetain(&made, device));
    use_context(made);
}

static void init(const char *value)
{
    CU_CHECK(cuInit(0));
    CU_CHECK(cuDeviceGet(&device, 0));
    retain(value);
}

static void release_primary(const char *value)
{
    (void)value;
    CU_CHECK(cuDevicePrimaryCtxRelease(device));
}

/* What cudaDeviceReset does; a runtime call later would retain the primary context anew. */
static void reset(const char *value)
{
    (void)value;
    CU_CHECK(cuDevicePrimaryCtxReset(device));
}

static void create(const char *value)
{
    CUcontext made;

    (void)value;
#if CUDA_VERSION >= 13000
    CU_CHECK(cuCtxCreate(&made, NULL, 0, device));
#else
    CU_CHECK(cuCtxCreate(&made, 0, device));
#endif
    use_context(made);
}

static void destroy(const char *value)
{
    (void)value;
    CU_CHECK(cuCtxDestroy(context));
}

static void launch_on(const char *name, long count, CUstream stream)
{
    CUfunction kernel;

    CU_CHECK(cuModuleGetFunction(&kernel, module, name));
    for (; count > 0; count--)
        CU_CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

static void alpha(const char *value)
{
    launch_on("alpha", number(value), NULL);
}

static void beta(const char *value)
{
    launch_on("beta", number(value), NULL);
}

static void synchronize(const char *value)
{
    (void)value;
    CU_CHECK(cuCtxSynchronize());
}

/* So many streams at once, one beta on each. */
static void use_streams(const char *value)
{
    long count = number(value);
    CUstream *streams = calloc((size_t)count, sizeof(void *));

    for (long i = 0; i < count; i++) {
        CU_CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        launch_on("beta", 1, streams[i]);
    }
    CU_CHECK(cuCtxSynchronize());
    for (long i = 0; i < count; i++)
        CU_CHECK(cuStreamDestroy(streams[i]));
    free(streams);
}

/* One alpha a millisecond for so many milliseconds. */
static void beat(const char *value)
{
    for (long i = number(value); i > 0; i--) {
        launch_on("alpha", 1, NULL);
        CU_CHECK(cuCtxSynchronize());
        usleep(1000);
    }
}

/* ---- Threads ---- */

/* One alpha with an NVTX range around it; the thread then ends, or waits for all others. */
static pthread_barrier_t all_there;
static bool threads_wait;

static void *thread_main(void *argument)
{
    (void)argument;
    CU_CHECK(cuCtxSetCurrent(context));
    if (threads_wait)
        pthread_barrier_wait(&all_there);
    nvtxRangePushA("in a thread");
    launch_on("alpha", 1, NULL);
    CU_CHECK(cuStreamSynchronize(NULL));
    nvtxRangePop();
    if (threads_wait)
        pthread_barrier_wait(&all_there);
    return NULL;
}

static void run_threads(long count, bool together)
{
    pthread_t *threads = calloc((size_t)count, sizeof(*threads));
    pthread_attr_t small;

    threads_wait = together;
    pthread_barrier_init(&all_there, NULL, (unsigned)count);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    for (long i = 0; i < count; i++) {
        if (pthread_create(&threads[i], &small, thread_main, NULL) != 0)
            fail("life: cannot create thread %ld", i);
        if (!together)
            pthread_join(threads[i], NULL);
    }
    for (long i = 0; together && i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

static void threads_together(const char *value)
{
    run_threads(number(value), true);
}

static void threads_in_turn(const char *value)
{
    run_threads(number(value), false);
}

/* ---- No system calls ---- */

static sem_t quiet_done;
static sem_t never;

/* Whatever else the calling thread asks of the system ends the process with SIGSYS. */
static void forbid_system_calls(void)
{
#define ALLOW(call)                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW)
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(futex),
        ALLOW(write),
        ALLOW(exit_group),
        ALLOW(rt_sigreturn),
        BPF_STMT(BPF_RET, SECCOMP_RET_KILL_PROCESS),
    };
#undef ALLOW
    struct sock_fprog filter = {.len = sizeof(rules) / sizeof(rules[0]), .filter = rules};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        fail("life: no seccomp: %s", strerror(errno));
}

static void work_quietly(long count)
{
    CUevent event;

    CU_CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (; count > 0; count--) {
        nvtxRangePushA("quiet");
        launch_on("alpha", 1, NULL);
        CU_CHECK(cuEventRecord(event, NULL));
        CU_CHECK(cuStreamWaitEvent(NULL, event, 0));
        CU_CHECK(cuEventSynchronize(event));
        CU_CHECK(cuCtxSynchronize());
        nvtxMarkA("done");
        nvtxRangePop();
    }
}

static void *quiet_main(void *value)
{
    CU_CHECK(cuCtxSetCurrent(context));
    work_quietly(50); /* warm-up */
    forbid_system_calls();
    work_quietly(number(value));
    sem_post(&quiet_done);
    while (sem_wait(&never) == 0) /* ending would take other system calls */
        continue;
    return NULL;
}

/* The software GPU's own memory comes from a heap that has grown beforehand. */
static void grow_heap(void)
{
    void *block;

    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    block = malloc((size_t)64 << 20);
    memset(block, 1, (size_t)64 << 20);
    free(block);
}

static void seccomp(const char *value)
{
    pthread_t thread;

    grow_heap();
    sem_init(&quiet_done, 0, 0);
    sem_init(&never, 0, 0);
    if (pthread_create(&thread, NULL, quiet_main, (void *)(uintptr_t)value) != 0)
        fail("life: cannot create a thread");
    sem_wait(&quiet_done);
    CU_CHECK(cuProfilerStop()); /* on the software GPU: catches up with the other thread's time */
}

/* ---- Processes ---- */

static void await_child(pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    printf("child: %s %d\n", WIFSIGNALED(status) ? "signal" : "exit",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    fflush(stdout);
}

/* As a worker of Python's multiprocessing: uses CUDA, which tells it off, NVTX and threads, and
 * leaves by _exit. */
static void fork_worker(const char *value)
{
    pid_t child = fork();

    if (child == 0) {
        CUcontext other;
        CUresult used = cuDevicePrimaryCtxRetain(&other, device);

        nvtxRangePushA("worker");
        nvtxRangePop();
        _exit(used == CUDA_ERROR_NOT_INITIALIZED ? (int)number(value) : 99);
    }
    await_child(child);
}

/* fork in one thread while others launch: locks are in any state. */
static _Atomic bool storm_over;

static void *storm_main(void *argument)
{
    CU_CHECK(cuCtxSetCurrent(context));
    while (!storm_over) {
        nvtxRangePushA("storm");
        launch_on("alpha", 1, NULL);
        CU_CHECK(cuStreamSynchronize(NULL));
        nvtxRangePop();
    }
    return argument;
}

static void fork_storm(const char *value)
{
    pthread_t threads[3];
    int failed = 0;

    nvtxMarkA("the first"); /* NVTX's own initialisation does not survive a fork */
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, storm_main, NULL);
    for (long i = number(value); i > 0; i--) {
        int status = 0;
        pid_t child = fork();

        if (child == 0) {
            nvtxMarkA("child");
            cuCtxSynchronize();
            alarm(5); /* a lock that nobody will give back ends here */
            exit(0);
        }
        waitpid(child, &status, 0);
        failed += status != 0;
        usleep(500);
    }
    storm_over = true;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("children that failed: %d\n", failed);
}

/* As daemon(3) before there was one: fork, setsid, fork, every descriptor closed. The first process
 * waits for the last one, through a pipe that only closes with it, so that a test can. */
static void daemonize(const char *value)
{
    int ends[2];
    char byte;

    (void)value;
    if (pipe(ends) != 0)
        fail("life: no pipe");
    if (fork() != 0) {
        close(ends[1]);
        while (read(ends[0], &byte, 1) > 0)
            continue;
        _exit(0);
    }
    setsid();
    if (fork() != 0)
        _exit(0);
    for (int fd = 0; fd < 1024; fd++)
        if (fd != ends[1])
            close(fd);
}

/* Becomes the program of that path, with what stands behind it as steps. */
static _Noreturn void exec_with(const char *path, const char *steps, const char *separator)
{
    char *copy = strdup(steps);
    char *argv[64] = {strdup(path)};
    int count = 1;

    for (char *at = copy; at && count < 63; count++)
        argv[count] = strsep(&at, separator);
    execv(path, argv);
    _exit(98);
}

/* Becomes this program anew; value: its steps, comma-separated. */
static void exec_again(const char *value)
{
    exec_with("/proc/self/exe", value, ",");
}

/* PATH;STEP;STEP: becomes another program. */
static void exec_program(const char *value)
{
    char *copy = strdup(value);
    char *path = strsep(&copy, ";");

    exec_with(path, copy ? copy : "", ";");
}

static void quick_exit_here(const char *value)
{
    quick_exit((int)number(value));
}

static void exit_here(const char *value)
{
    exit((int)number(value));
}

static void exit_at_once(const char *value)
{
    _exit((int)number(value));
}

static void crash(const char *value)
{
    volatile int *nowhere = (volatile int *)(uintptr_t)number(value);

    *nowhere = 1;
}

/* ---- Files ---- */

static void change_folder(const char *value)
{
    if (chdir(value) != 0)
        fail("life: cannot change to %s", value);
}

static void change_root(const char *value)
{
    if (chroot(value) != 0 || chdir("/") != 0)
        fail("life: cannot change the root to %s", value);
}

/* No descriptor is left: the greatest number is the next free one. */
static void use_up_descriptors(const char *value)
{
    struct rlimit limit = {64, 64};

    (void)value;
    setrlimit(RLIMIT_NOFILE, &limit);
    while (open("/dev/null", O_RDONLY) >= 0)
        continue;
}

/* Closes all but the standard ones, and takes the numbers for a file of its own. */
static void close_all(const char *value)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    for (int i = 0; i < 12; i++)
        if (open(value, O_RDWR | O_CREAT | O_APPEND, 0600) < 0)
            fail("life: cannot open %s", value);
}

/* Writes to stdin's, stdout's and stderr's numbers, and says in the exit code what came of it. */
static void write_standard(const char *value)
{
    int written = 0;

    for (int fd = 0; fd < 3; fd++)
        written |= (write(fd, value, strlen(value)) > 0) << fd;
    _Exit(40 + written);
}

static void check_standard(const char *value)
{
    int open_ones = 0;

    (void)value;
    for (int fd = 0; fd < 3; fd++)
        open_ones |= (fcntl(fd, F_GETFD) >= 0) << fd;
    exit(40 + open_ones);
}

/* Loads a library, calls `use_gpu` in it and lets go of it. */
static void use_library(const char *value)
{
    void *library = dlopen(value, RTLD_NOW | RTLD_LOCAL);
    void (*use)(void);

    if (!library)
        fail("life: %s", dlerror());
    *(void **)&use = dlsym(library, "use_gpu");
    use();
    dlclose(library);
}

/* As a program that looks whether there is a CUPTI. */
static void load(const char *value)
{
    void *library = dlopen(value, RTLD_NOW | RTLD_LOCAL);

    if (!library || dlclose(library) != 0)
        fail("life: %s", dlerror());
}

static void print(const char *value)
{
    puts(value);
    fflush(stdout);
}

/* From now on the allocator of preload/hot_malloc.c allows the recorder nothing on this thread. */
static void hot(const char *value)
{
    void (*set)(int);

    *(void **)&set = dlsym(RTLD_DEFAULT, "hot_malloc_set");
    if (set)
        set((int)number(value));
}

static const struct step_row {
    const char *name;
    void (*run)(const char *value);
} step_rows[] = {
    {"init", init},
    {"retain", retain},
    {"release", release_primary},
    {"reset", reset},
    {"create", create},
    {"destroy", destroy},
    {"alpha", alpha},
    {"beta", beta},
    {"sync", synchronize},
    {"streams", use_streams},
    {"beat", beat},
    {"threads", threads_together},
    {"short-threads", threads_in_turn},
    {"seccomp", seccomp},
    {"deny", deny_call},
    {"fork-worker", fork_worker},
    {"fork-storm", fork_storm},
    {"daemon", daemonize},
    {"exec", exec_again},
    {"exec-program", exec_program},
    {"quick-exit", quick_exit_here},
    {"exit", exit_here},
    {"_exit", exit_at_once},
    {"crash", crash},
    {"chdir", change_folder},
    {"chroot", change_root},
    {"use-up-fds", use_up_descriptors},
    {"close-all", close_all},
    {"write-standard", write_standard},
    {"check-standard", check_standard},
    {"library", use_library},
    {"load", load},
    {"print", print},
    {"await", await_file},
    {"written", await_written},
    {"flushing", await_flush},
    {"returned", await_returned},
    {"switched", await_switches},
    {"unrecorded", await_off},
    {"round", await_round},
    {"state", await_state},
    {"said", await_said},
    {"hot", hot},
};

static void run_step(const char *step)
{
    size_t length = strcspn(step, "=");

    for (size_t i = 0; i < sizeof(step_rows) / sizeof(step_rows[0]); i++)
        if (strlen(step_rows[i].name) == length && strncmp(step, step_rows[i].name, length) == 0) {
            step_rows[i].run(step[length] ? step + length + 1 : "");
            return;
        }
    fail("life: no step '%s'", step);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        run_step(argv[i]);
    return 0;
}
