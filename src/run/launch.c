/* Starts a program with the recorder in it. `run` and nvprof's command line share this, so that
 * both find the library and set the environment in the same way.
 */
#include "run/launch.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/preload.h"
#include "base/settings/config.h"
#include "base/text/strings.h"
#include "cli/program.h"
#include "run/startup.h"

#include "base/poison.h"

#define ATTACH_NAME "MINIPROF_ATTACH"

/* ---- The libraries ---- */

/* LD_PRELOAD cannot hold a path that contains one of its separators. */
static void find_preload(struct launch *launch)
{
    const char *slash = strrchr(launch->library, '/');
    int length = snprintf(launch->preload, sizeof launch->preload, "%.*s/" MP_PRELOAD_LIBRARY,
                          (int)(slash - launch->library), launch->library);

    if (length >= (int)sizeof launch->preload || access(launch->preload, R_OK) != 0 ||
        strpbrk(launch->preload, ": \t\n"))
        launch->preload[0] = '\0';
}

static bool found(struct launch *launch)
{
    find_preload(launch);
    return true;
}

/* Beside this command, as in the build folder, or where `make install` or a package puts it. */
bool launch_find_library(struct launch *launch, const char *given)
{
    static const char *const places[] = {"libminiprof.so", "../lib/libminiprof.so",
                                         "../lib/miniprof/libminiprof.so",
                                         "../lib64/libminiprof.so"};
    char self[PATH_MAX];
    char candidate[PATH_MAX + 32];
    ssize_t length;

    if (given)
        return realpath(given, launch->library) && found(launch);
    length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return false;
    self[length] = '\0';
    *(strrchr(self, '/') + 1) = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(candidate, sizeof candidate, "%s%s", self, places[i]);
        if (realpath(candidate, launch->library))
            return found(launch);
    }
    return false;
}

/* ---- The program's environment ---- */

/* Whether another loader than glibc's starts the program. glibc's is ld-linux*, or what has started
 * this command. */
static bool has_other_libc(const char *path)
{
    char theirs[PATH_MAX], ours[PATH_MAX];
    const char *slash;

    if (!program_interpreter(path, theirs))
        return false;
    slash = strrchr(theirs, '/');
    return strncmp(slash ? slash + 1 : theirs, "ld-linux", 8) != 0 &&
           !(program_interpreter("/proc/self/exe", ours) && strcmp(theirs, ours) == 0);
}

/* Whether the program can be started with a preloaded library: AddressSanitizer's runtime ends a
 * program in which it is not the first library, and the library is made for glibc. */
static bool bears_preload(const char *program)
{
    char path[PATH_MAX];

    return !program_find(program, path) ||
           !(program_needs(path, "libasan.so") || has_other_libc(path));
}

/* Whether the preloaded library is of use to the recorder with these settings: for waits of host
 * threads, or because CUPTI may come late. */
static bool wants_preload(const struct launch *launch)
{
    static struct mp_config config; /* 40 KiB */
    bool at_once;

    mp_config_from_environment(&config, NULL, NULL);
    at_once = !mp_config_waits(&config) || (config.attach == MP_ATTACH_INIT && getenv(ATTACH_NAME));
    if (config.waits == MP_SWITCH_OFF && at_once)
        return false;
    return *launch->preload && bears_preload(launch->program);
}

/* Appends to a list with colons in the environment, because what is there may have to be first. */
static bool append_to(const char *name, const char *item)
{
    const char *present = getenv(name);
    size_t size = (present ? strlen(present) : 0) + strlen(item) + 2;
    char *list = malloc(size);
    bool done;

    if (!list)
        return false;
    snprintf(list, size, "%s%s%s", present ? present : "", present && *present ? ":" : "", item);
    done = setenv(name, list, 1) == 0;
    free(list);
    return done;
}

/* A program that a shell starts may have AddressSanitizer's runtime, which else ends it for a
 * library in front of it. */
static bool set_preload(const char *library)
{
    return append_to("LD_PRELOAD", library) &&
           append_to("ASAN_OPTIONS", "verify_asan_link_order=0") &&
           setenv(ATTACH_NAME, "graph", 0) == 0;
}

/* Whether NCCL is to take the recorder as its profiler plugin. Another plugin that the user has set
 * stays. */
static bool wants_nccl(void)
{
    static struct mp_config config; /* 40 KiB */

    mp_config_from_environment(&config, NULL, NULL);
    return config.nccl == MP_NCCL_ON && config.nvtx == MP_SWITCH_ON;
}

/* Without a place for the file the program runs all the same. */
static void set_operators(void)
{
    static struct mp_config config; /* 40 KiB */
    struct mp_error error;

    mp_config_from_environment(&config, NULL, NULL);
    if (config.operators != MP_OPERATORS_OFF && startup_set(&error) != MP_OK)
        fprintf(stderr, "miniprof run: no folder for --operators: %s\n", error.text);
}

/* In the child: the environment that the CUDA driver, NVTX and NCCL look at. */
static int set_environment(void *context)
{
    const struct launch *launch = context;

    if (setenv("CUDA_INJECTION64_PATH", launch->library, 1) != 0 ||
        setenv("NVTX_INJECTION64_PATH", launch->library, 1) != 0 ||
        !launch->export_settings(launch->context))
        return ENOMEM;
    if (wants_nccl() && setenv("NCCL_PROFILER_PLUGIN", launch->library, 0) != 0)
        return ENOMEM;
    set_operators();
    if (wants_preload(launch) && !set_preload(launch->preload))
        return ENOMEM;
    return 0;
}

int launch_run(struct launch *launch, char **argv, struct child *child)
{
    launch->program = argv[0];
    return child_run(argv, set_environment, launch, child);
}

struct timespec launch_file_time(void)
{
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return now;
}
