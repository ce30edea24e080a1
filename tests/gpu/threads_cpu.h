/* CPU time of this process's threads, by whose work they do. Linux: /proc/self/task. */
#ifndef TESTS_GPU_THREADS_CPU_H
#define TESTS_GPU_THREADS_CPU_H

#include <stddef.h>
#include <sys/types.h>

/* A thread that has no name of its own has that of the thread which made it. */
enum threads_group {
    THREADS_APPLICATION, /* those that are named by id */
    THREADS_MINIPROF,    /* name begins with "miniprof" */
    THREADS_FLUSH,       /* name ends with "-flush": inside of CUPTI, for the profiler */
    THREADS_OTHERS,      /* CUDA's and CUPTI's */
    THREADS_GROUPS
};

/* User and system time of each group since its threads began, ms, in steps of the kernel's clock
 * tick; a thread that has ended counts no more. `application` has `count` thread ids. */
void threads_cpu_look(const pid_t *application, size_t count, double ms[THREADS_GROUPS]);

#endif
