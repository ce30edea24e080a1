/* crash.c: a program that launches `beta` three times and then does what its argument says:
 *
 *     crash segv | bus | fpe | ill | abort | stack    dies of it
 *     crash two          one thread dies of SIGSEGV, another one calls abort 300 ms later
 *     crash child        a forked child dies of SIGSEGV; ends with 0
 *     crash handled      has a handler of SIGSEGV, which ends the program with 5
 *     crash late         the same, installed when CUDA runs
 *     crash names=N      N NVTX marks of as many names of 120 characters, the last a second later,
 *                        then a launch of `alpha`, then a wait for the file `go`
 *     crash marks=N      N NVTX marks "mark" whose payloads are a random number in the upper half
 * and 0, 1, 2... in the lower, and then the same crash usr2=N       sends itself N times SIGUSR2,
 * from four threads, and waits for `go`
 */
#include "../steps/awaits.h"
#include "common.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const char ptx[] = ".version 6.0\n"
                          ".target sm_50\n"
                          ".address_size 64\n"
                          ".visible .entry alpha()\n{\n    ret;\n}\n"
                          ".visible .entry beta()\n{\n    ret;\n}\n";

static CUmodule module;

static void launch(const char *name)
{
    CUfunction kernel;

    CU_CHECK(cuModuleGetFunction(&kernel, module, name));
    CU_CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    CU_CHECK(cuCtxSynchronize());
}

static void use_cuda(void)
{
    CUdevice device;
    CUcontext context;
    int i;

    CU_CHECK(cuInit(0));
    CU_CHECK(cuDeviceGet(&device, 0));
    CU_CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CU_CHECK(cuCtxSetCurrent(context));
    CU_CHECK(cuModuleLoadData(&module, ptx));
    for (i = 0; i < 3; i++)
        launch("beta");
}

/* ---- Ends ---- */

static void segv(void)
{
    volatile int *nowhere = (volatile int *)(uintptr_t)strtoul("0", NULL, 10);

    *nowhere = 1;
}

static void bus(void)
{
    FILE *file = tmpfile();
    volatile char *page =
        file ? mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0) : MAP_FAILED;

    if (page != MAP_FAILED)
        *page = 1; /* behind the end of the file */
}

static void fpe(void)
{
#ifdef __x86_64__
    __asm__ volatile("xorl %%edx, %%edx; movl $1, %%eax; xorl %%ecx, %%ecx; divl %%ecx" ::
                         : "eax", "ecx", "edx");
#else
    raise(SIGFPE);
#endif
}

static void ill(void)
{
#ifdef __x86_64__
    __asm__ volatile("ud2");
#else
    raise(SIGILL);
#endif
}

/* Far from what the compiler could make a loop of. */
static __attribute__((noinline)) int deeper(int n) // NOLINT(misc-no-recursion)
{
    volatile char room[4096];

    room[0] = (char)n;
    return n < 0 ? room[0] : deeper(n + 1) + room[0];
}

static void stack(void)
{
    deeper(0);
}

/* While the recorder writes the file of the first crash; where that is quick, never. */
static void *abort_later(void *argument)
{
    const char *output = getenv("MINIPROF_OUTPUT");
    char part[4096];

    (void)argument;
    snprintf(part, sizeof(part), "%s.part", output ? output : "");
    while (access(part, F_OK) != 0)
        usleep(1000);
    abort();
}

static void two(void)
{
    pthread_t other;

    if (pthread_create(&other, NULL, abort_later, NULL) == 0)
        segv();
}

static void child(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        segv();
    waitpid(pid, &status, 0);
    printf("child: %s\n", WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? "died" : "lives");
}

static void on_segv(int number)
{
    (void)number;
    _exit(5);
}

static void handled(void)
{
    signal(SIGSEGV, on_segv);
    segv();
}

/* ---- Names and signals without end ---- */

static void await_go(void)
{
    puts("ready");
    fflush(stdout);
    await_file("go");
}

static void make_names(long count)
{
    char name[128];
    uint32_t number = 0;
    long i;
    int at;

    for (i = 0; i < count; i++) {
        for (at = 0; at < 120; at += 8)
            snprintf(name + at, sizeof(name) - (size_t)at, "%08x", mix(number++));
        nvtxMarkA(name);
        if (i % 1000 == 0)
            usleep(2000); /* for the writer to get on */
    }
    await_said("recording begins anew");
    await_round("");
    nvtxMarkA("last");
    launch("alpha");
    await_go();
}

static void make_marks(long count)
{
    nvtxEventAttributes_t mark = {.version = NVTX_VERSION,
                                  .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                  .payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64,
                                  .messageType = NVTX_MESSAGE_TYPE_ASCII};
    long i;

    mark.message.ascii = "mark";
    for (i = 0; i < count; i++) {
        mark.payload.ullValue = (uint64_t)mix((uint32_t)i) << 32 | (uint64_t)i;
        nvtxMarkEx(&mark);
        if (i % 1000 == 0)
            usleep(2000);
    }
    launch("alpha");
    await_go();
}

static void *signal_often(void *count)
{
    long i;

    for (i = (long)(intptr_t)count; i > 0; i--) {
        kill(getpid(), SIGUSR2);
        usleep(1000);
    }
    return NULL;
}

static void signal_many(long count)
{
    pthread_t threads[4];
    int i;

    for (i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, signal_often, (void *)(intptr_t)(count / 4)) != 0)
            fail("crash: no thread");
    for (i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    await_go();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*act)(void);
    } ends[] = {
        {"segv", segv},   {"bus", bus}, {"fpe", fpe},     {"ill", ill},         {"abort", abort},
        {"stack", stack}, {"two", two}, {"child", child}, {"handled", handled}, {"late", handled},
    };
    const char *what = argc == 2 ? argv[1] : "";
    size_t i;

    if (strcmp(what, "handled") == 0)
        signal(SIGSEGV, on_segv);
    use_cuda();
    puts("running");
    fflush(stdout);
    if (strncmp(what, "names=", 6) == 0) {
        make_names(strtol(what + 6, NULL, 10));
        return 0;
    }
    if (strncmp(what, "marks=", 6) == 0) {
        make_marks(strtol(what + 6, NULL, 10));
        return 0;
    }
    if (strncmp(what, "usr2=", 5) == 0) {
        signal_many(strtol(what + 5, NULL, 10));
        return 0;
    }
    for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (strcmp(what, ends[i].name) == 0) {
            ends[i].act();
            return 0;
        }
    fail("crash: what is '%s'?", what);
}
