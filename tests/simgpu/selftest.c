/*
 * selftest.c: runs simgpu's tests and says 'N passed, N failed', and how many were skipped if any.
 *
 *   selftest LIBRARIES SAMPLES    where libselftest_inject.so and where vecadd and inference are
 */
#include "selftest.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char module_ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                                 ".visible .entry spin(.param .u32 p_us) { ret; }\n"
                                 ".visible .entry other(.param .u64 p, .param .u32 n) { ret; }\n";

enum { PASSED = 0, FAILED = 1, SKIPPED = 77 }; /* exit codes of a test */

struct gpu gpu;
const char *selftest_libraries = ".", *selftest_samples = ".";

void selftest_expect(bool condition, const char *text, const char *file, int line)
{
    if (condition)
        return;
    printf("    %s:%d: not true: %s\n", file, line, text);
    fflush(stdout);
    _Exit(1);
}

void selftest_expectEqual(long long actual, long long expected, const char *text, const char *file,
                          int line)
{
    if (actual == expected)
        return;
    printf("    %s:%d: %s is %lld, not %lld\n", file, line, text, actual, expected);
    fflush(stdout);
    _Exit(1);
}

void selftest_skip(void)
{
    _exit(SKIPPED);
}

void gpu_start(const CUpti_ActivityKind *kinds)
{
    CUdevice device;

    if (kinds)
        client_start(kinds);
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&gpu.context, device));
    OK(cuCtxSetCurrent(gpu.context));
    OK(cuModuleLoadData(&gpu.module, module_ptx));
    OK(cuModuleGetFunction(&gpu.spin, gpu.module, "spin"));
    OK(cuModuleGetFunction(&gpu.other, gpu.module, "other"));
}

void gpu_spin(CUstream stream, unsigned us)
{
    void *arguments[] = {&us};

    OK(cuLaunchKernel(gpu.spin, 2, 1, 1, 64, 1, 1, 0, stream, arguments, NULL));
}

static int run_test(const struct selftest *test)
{
    int status = 0;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        char *environment = test->environment ? strdup(test->environment) : NULL;

        if (environment)
            putenv(environment);
        test->run();
        fflush(stdout);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return FAILED;
    if (WIFSIGNALED(status))
        printf("    killed by signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

int main(int argc, char **argv)
{
    const struct selftest *suites[] = {
        record_tests, schedule_tests,      overlap_tests,  host_tests, managed_tests, client_tests,
        sample_tests, profiler_host_tests, profiler_tests, rank_tests, told_tests};
    unsigned passed = 0, failed = 0, skipped = 0;

    if (argc == 3) {
        selftest_libraries = argv[1];
        selftest_samples = argv[2];
    }
    for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
        for (const struct selftest *test = suites[i]; test && test->behaviour; test++) {
            int code = run_test(test);

            printf("%s  %s%s%s\n",
                   code == PASSED    ? "ok  "
                   : code == SKIPPED ? "skip"
                                     : "FAIL",
                   test->behaviour, test->environment ? "  " : "",
                   test->environment ? test->environment : "");
            passed += code == PASSED;
            skipped += code == SKIPPED;
            failed += code != PASSED && code != SKIPPED;
        }
    }
    printf("%u passed, %u failed", passed, failed);
    if (skipped)
        printf(", %u skipped", skipped);
    printf("\n");
    return failed != 0;
}
