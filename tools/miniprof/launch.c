#include "launch.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/poison.h"

/* Beside this command, as in the build folder, or where `make install` puts it. */
bool launch_find_library(struct launch *launch, const char *given)
{
    static const char *const places[] = {"libminiprof.so", "../lib/libminiprof.so",
                                         "../lib64/libminiprof.so"};
    char self[PATH_MAX];
    char candidate[PATH_MAX + 32];
    ssize_t length;

    if (given)
        return realpath(given, launch->library) != NULL;
    length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return false;
    self[length] = '\0';
    *(strrchr(self, '/') + 1) = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(candidate, sizeof candidate, "%s%s", self, places[i]);
        if (realpath(candidate, launch->library))
            return true;
    }
    return false;
}

/* In the child: the environment that the CUDA driver and NVTX look at. */
static int set_environment(void *context)
{
    const struct launch *launch = context;

    if (setenv("CUDA_INJECTION64_PATH", launch->library, 1) != 0 ||
        setenv("NVTX_INJECTION64_PATH", launch->library, 1) != 0 ||
        !launch->export_settings(launch->context))
        return ENOMEM;
    return 0;
}

int launch_run(const struct launch *launch, char **argv, struct child *child)
{
    return child_run(argv, set_environment, (void *)(uintptr_t)launch, child);
}

struct timespec launch_file_time(void)
{
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return now;
}
