/*
 * selftest.h: the frame of simgpu's tests. Each test runs in a child process of its own, because
 * a process can initialise CUDA once only; the environment of a test is part of its row.
 */
#ifndef SIMGPU_SELFTEST_H
#define SIMGPU_SELFTEST_H

#include "selftest_client.h"

#include <stdio.h>
#include <stdlib.h>

/* A condition that does not hold fails the test, which ends at once. */
#define EXPECT(condition) selftest_expect((condition), #condition, __FILE__, __LINE__)
#define EXPECT_EQ(actual, expected)                                                                \
    selftest_expectEqual((long long)(actual), (long long)(expected), #actual, __FILE__, __LINE__)
#define OK(call) EXPECT_EQ((call), 0)

/* Ends a test that needs something which the headers lack. */
void selftest_skip(void);

void selftest_expect(bool condition, const char *text, const char *file, int line);
void selftest_expectEqual(long long actual, long long expected, const char *text, const char *file,
                          int line);

struct selftest {
    const char *behaviour; /* what it protects, as a sentence */
    void (*run)(void);
    const char *environment; /* "NAME=value" or NULL */
};

/* Ends with a row without a behaviour. */
extern const struct selftest record_tests[];
extern const struct selftest schedule_tests[];
extern const struct selftest overlap_tests[];
extern const struct selftest host_tests[];
extern const struct selftest client_tests[];
extern const struct selftest managed_tests[];
extern const struct selftest sample_tests[];
extern const struct selftest profiler_host_tests[];
extern const struct selftest profiler_tests[];
/* They are there if the stand-in for NCCL is. */
extern const struct selftest rank_tests[] __attribute__((weak));
extern const struct selftest told_tests[] __attribute__((weak));

/* Where libselftest_inject.so and where the samples are, from the command line. */
extern const char *selftest_libraries, *selftest_samples;

/* ---- set up by tests ---- */

struct gpu {
    CUcontext context;
    CUmodule module;
    CUfunction spin;  /* spin(us) */
    CUfunction other; /* other(ptr, n): unknown to simgpu */
};

extern struct gpu gpu;

/* cuInit, primary context, module; with client_start(kinds) before cuInit unless NULL. */
void gpu_start(const CUpti_ActivityKind *kinds);
void gpu_spin(CUstream stream, unsigned us);

#endif
