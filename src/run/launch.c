/* Starts a program with the recorder in it. */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/data/hash.h"
#include "base/data/storage.h"
#include "base/io.h"
#include "base/preload.h"
#include "base/settings/config.h"
#include "base/status.h"
#include "base/steps.h"
#include "base/text/strings.h"
#include "cli/program.h"

#include "base/poison.h"

/* ---- A program ----
 *
 * Signals are passed on to it, and its exit code or signal becomes ours.
 */

#define CODE_CANNOT_RUN 126 /* as env(1) and the shells have it */
#define CODE_NO_PROGRAM 127

static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

/* Signals are waited for, together with SIGCHLD. So there is no handler, and no state that a
 * handler would need. */
static void block_signals(sigset_t *waited, sigset_t *before)
{
    struct sigaction ordinary = {.sa_handler = SIG_DFL};

    sigaction(SIGCHLD, &ordinary, NULL); /* ignored, children would vanish without a status */
    sigemptyset(waited);
    sigaddset(waited, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        sigaddset(waited, passed_on[i]);
    sigprocmask(SIG_BLOCK, waited, before);
}

/* In the child. A failure goes through the pipe, which a successful exec closes. */
static void start_program(char **argv, int (*prepare)(void *context), void *context,
                          const sigset_t *mask, int report)
{
    int error = prepare(context);

    if (!error) {
        sigprocmask(SIG_SETMASK, mask, NULL);
        execvp(argv[0], argv);
        error = errno;
    }
    if (write(report, &error, sizeof error) != sizeof error)
        _exit(CODE_CANNOT_RUN);
    _exit(error == ENOENT ? CODE_NO_PROGRAM : CODE_CANNOT_RUN);
}

static int read_report(int report)
{
    int error = 0;
    ssize_t size;

    do {
        size = read(report, &error, sizeof error);
    } while (size < 0 && errno == EINTR);
    return size == sizeof error ? error : 0;
}

/* Passes a signal on, unless the kernel sent it: the terminal's Ctrl-C already went to the whole
 * process group. */
static void pass_on(pid_t pid, const siginfo_t *info)
{
    if (info->si_code <= 0 || info->si_signo == SIGHUP)
        kill(pid, info->si_signo);
}

static void wait_for_end(struct child *child, const sigset_t *waited)
{
    siginfo_t info;
    int status;

    for (;;) {
        pid_t ended = waitpid(child->pid, &status, WNOHANG);
        if (ended == child->pid)
            break;
        if (ended < 0 && errno != EINTR) {
            child->exit_code = CODE_CANNOT_RUN;
            return;
        }
        if (sigwaitinfo(waited, &info) > 0 && info.si_signo != SIGCHLD)
            pass_on(child->pid, &info);
    }
    child->signalled = WIFSIGNALED(status);
    child->exit_code = child->signalled ? CODE_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

int child_run(char **argv, int (*prepare)(void *context), void *context, struct child *child)
{
    sigset_t waited;
    sigset_t before;
    int report[2];

    if (pipe2(report, O_CLOEXEC) != 0)
        return -1;
    block_signals(&waited, &before);
    child->pid = fork();
    if (child->pid == 0)
        start_program(argv, prepare, context, child->mask ? child->mask : &before, report[1]);
    close(report[1]);
    if (child->pid > 0 && child->started)
        child->started(child->pid, child->context);
    child->start_errno = child->pid > 0 ? read_report(report[0]) : 0;
    close(report[0]);
    if (child->pid > 0)
        wait_for_end(child, &waited);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return child->pid > 0 ? 0 : -1;
}

void child_die_alike(const struct child *child)
{
    int number = child->exit_code - CODE_SIGNAL;
    struct sigaction ordinary = {.sa_handler = SIG_DFL};
    sigset_t only;

    if (!child->signalled)
        return;
    fflush(NULL);
    prctl(PR_SET_DUMPABLE, 0);
    sigaction(number, &ordinary, NULL);
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
}

/* ---- What Python imports ----
 *
 * What a Python program imports when it starts (MINIPROF_OPERATORS): the text of
 * tools/python/startup/sitecustomize.py. It is one file for all programs of a user, since each
 * version has the same text for all. The folder is named after the text, so versions do not disturb
 * each other.
 */

#define NAME "sitecustomize.py"

extern const unsigned char startup_frame[];
extern const size_t startup_frame_bytes;

/* $XDG_CACHE_HOME/miniprof/startup-0123456789abcdef */
static bool find_folder(const char *text, size_t bytes, char *folder, size_t size)
{
    char costs[PATH_MAX];

    if (!mp_costs_path(costs, sizeof costs))
        return false;
    char *slash = strrchr(costs, '/');
    *slash = '\0';
    int length = snprintf(folder, size, "%s/startup-%016" PRIx64, costs, mp_hash64(text, bytes, 0));
    return length > 0 && (size_t)length < size && !strchr(folder, ':');
}

/* With those around it. */
static bool make_folder(char *folder)
{
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0700);
        *slash = '/';
    }
    return mkdir(folder, 0700) == 0 || errno == EEXIST;
}

static bool write_whole(int fd, const char *text, size_t bytes)
{
    bool done = write(fd, text, bytes) == (ssize_t)bytes;

    return close(fd) == 0 && done;
}

/* ---- Who can change it ----
 *
 * Python runs the file, so nobody but the user and root may be able to change it, or to put another
 * one in its place. The folder's name is no secret. */

/* Whether others can neither change this folder or link nor put another one in its place, provided
 * that they cannot change the folder around it. In a folder such as /tmp only the owner moves. */
static bool is_safe(const char *path)
{
    struct stat about;

    return lstat(path, &about) == 0 && (about.st_uid == geteuid() || about.st_uid == 0) &&
           (S_ISLNK(about.st_mode) || !(about.st_mode & (S_IWGRP | S_IWOTH)) ||
            about.st_mode & S_ISVTX);
}

/* Of all folders around it. */
static bool is_safe_below_root(const char *folder)
{
    char path[PATH_MAX];
    bool safe = true;

    snprintf(path, sizeof path, "%s", folder);
    for (char *slash = strchr(path + 1, '/'); slash && safe; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        safe = is_safe(path);
        *slash = '/';
    }
    return safe;
}

/* Of the links on the way, and of what they lead to. */
static bool is_private(const char *folder)
{
    char real[PATH_MAX];
    struct stat about;

    return lstat(folder, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
           !(about.st_mode & (S_IWGRP | S_IWOTH)) && realpath(folder, real) &&
           is_safe_below_root(folder) && is_safe_below_root(real);
}

/* Whether it is the user's file, with this text: not that of somebody who could change the folder
 * before. */
static bool is_right(const char *path, const char *text, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char *present = fd < 0 ? NULL : malloc(bytes);
    struct stat about;
    bool right =
        present && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
        !(about.st_mode & (S_IWGRP | S_IWOTH)) && (uint64_t)about.st_size == bytes &&
        mp_read_exact(fd, present, bytes, NULL) == MP_OK && memcmp(present, text, bytes) == 0;

    free(present);
    if (fd >= 0)
        close(fd);
    return right;
}

/* Another process may do the same at the same time. */
static bool make_file(const char *text, size_t bytes, const char *folder)
{
    char path[PATH_MAX + sizeof NAME + 1];
    char own[sizeof path + 16];
    int fd;

    snprintf(path, sizeof path, "%s/" NAME, folder);
    if (is_right(path, text, bytes))
        return true;
    snprintf(own, sizeof own, "%s.%d", path, (int)getpid());
    unlink(own);
    if (mp_create_exclusive(own, &fd, NULL) != MP_OK)
        return false;
    if (write_whole(fd, text, bytes) && rename(own, path) == 0)
        return true;
    unlink(own);
    return false;
}

static enum mp_status write_file(char *folder, size_t size, struct mp_error *error)
{
    size_t bytes;
    char *text = mp_frame_unpack(startup_frame, startup_frame_bytes, &bytes);
    bool has_place = text && find_folder(text, bytes, folder, size) && make_folder(folder);
    bool safe = has_place && is_private(folder);
    bool done = safe && make_file(text, bytes, folder);

    free(text);
    if (has_place && !safe)
        return mp_error_set(error, MP_ERR_IO, "others can change '%s', or it is a link", folder);
    if (!done)
        return mp_error_set(error, MP_ERR_IO, "neither XDG_CACHE_HOME nor HOME can be used");
    return MP_OK;
}

/* Writes the file, unless it is there with this text, and puts its folder in front of PYTHONPATH.
 * MP_ERR_IO: there is no place for it, or only one that other users can change, so that their code
 * would run. MP_ERR_MEMORY. */
static enum mp_status startup_set(struct mp_error *error)
{
    const char *present = getenv("PYTHONPATH");
    char folder[PATH_MAX];

    MP_TRY(write_file(folder, sizeof folder, error));
    size_t size = strlen(folder) + (present ? strlen(present) : 0) + 2;
    char *list = malloc(size);
    if (!list)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory");
    snprintf(list, size, "%s%s%s", folder, present && *present ? ":" : "", present ? present : "");
    bool done = setenv("PYTHONPATH", list, 1) == 0;
    free(list);
    return done ? MP_OK : mp_error_set(error, MP_ERR_MEMORY, "no memory");
}

/* ---- The recorder in it ----
 *
 * `run` and nvprof's command line share this, so that both find the library and set the environment
 * in the same way.
 */

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

/* Next to this command, as in the build folder, or where `make install` or a package puts it. */
bool launch_find_library(struct launch *launch, const char *given)
{
    static const char *const places[] = {"libminiprof.so", "../lib/libminiprof.so",
                                         "../lib/miniprof/libminiprof.so",
                                         "../lib64/libminiprof.so"};
    char self[PATH_MAX];
    char candidate[PATH_MAX + 32];

    if (given)
        return realpath(given, launch->library) && found(launch);
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
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

    if (!program_interpreter(path, theirs))
        return false;
    const char *slash = strrchr(theirs, '/');
    return strncmp(slash ? slash + 1 : theirs, "ld-linux", 8) != 0 &&
           !(program_interpreter("/proc/self/exe", ours) && strcmp(theirs, ours) == 0);
}

/* Whether the program can be started with a preloaded library: AddressSanitizer's runtime ends a
 * program in which it is not the first library, and the library is made for glibc. */
bool launch_bears_preload(const struct launch *launch, const char *program)
{
    char path[PATH_MAX];

    return *launch->preload && (!program_find(program, path) ||
                                !(program_needs(path, "libasan.so") || has_other_libc(path)));
}

/* Whether CUPTI is there as soon as CUDA is. */
static bool begins_at_once(const struct mp_config *config)
{
    return !mp_config_waits(config) || (config->attach == MP_ATTACH_INIT && getenv(ATTACH_NAME));
}

/* Whether the preloaded library is of use to the recorder: for waits of host threads, because CUPTI
 * may come late, or for steps. */
static bool wants_preload(const struct launch *launch, const struct mp_config *config)
{
    return (config->waits != MP_SWITCH_OFF || !begins_at_once(config) || launch->compares) &&
           launch_bears_preload(launch, launch->program);
}

/* Appends to a list with colons in the environment, because what is there may have to be first. */
static bool append_to(const char *name, const char *item)
{
    const char *present = getenv(name);
    size_t size = (present ? strlen(present) : 0) + strlen(item) + 2;
    char *list = malloc(size);

    if (!list)
        return false;
    snprintf(list, size, "%s%s%s", present ? present : "", present && *present ? ":" : "", item);
    bool done = setenv(name, list, 1) == 0;
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
static bool wants_nccl(const struct mp_config *config)
{
    return config->nccl == MP_NCCL_ON && config->nvtx == MP_SWITCH_ON;
}

/* Without a place for the file the program runs all the same. */
static void set_operators(const struct mp_config *config)
{
    struct mp_error error;

    if (config->operators != MP_OPERATORS_OFF && startup_set(&error) != MP_OK)
        fprintf(stderr, "miniprof run: no folder for --operators: %s\n", error.text);
}

/* Marks of steps. NVTX knows one tool, so the preloaded library passes its calls on. */
static bool set_steps(const struct launch *launch)
{
    return setenv(STEPS_VARIABLE, launch->steps, 1) == 0 &&
           (!launch->compares || setenv(STEPS_ALL, "1", 1) == 0) &&
           setenv("NVTX_INJECTION64_PATH", launch->preload, 1) == 0 &&
           (launch->bare || setenv(STEPS_NVTX, launch->library, 1) == 0);
}

/* Steps are of use where some are made before CUPTI comes, or by a run without it. */
static bool wants_steps(const struct launch *launch, const struct mp_config *config)
{
    return launch->steps && (launch->compares || !begins_at_once(config));
}

/* In the child: the program as it runs without the recorder, but for marks of its steps. */
static int set_bare(const struct launch *launch)
{
    return unsetenv("CUDA_INJECTION64_PATH") == 0 && set_preload(launch->preload) &&
                   set_steps(launch)
               ? 0
               : ENOMEM;
}

/* In the child: the environment that the CUDA driver, NVTX and NCCL look at. */
static int set_environment(void *context)
{
    static struct mp_config config; /* 40 KiB */
    const struct launch *launch = context;

    if (launch->bare)
        return set_bare(launch);
    if (setenv("CUDA_INJECTION64_PATH", launch->library, 1) != 0 ||
        setenv("NVTX_INJECTION64_PATH", launch->library, 1) != 0 ||
        !launch->export_settings(launch->context) ||
        (launch->output && setenv("MINIPROF_OUTPUT", launch->output, 1) != 0))
        return ENOMEM;
    mp_config_from_environment(&config, NULL, NULL);
    if (wants_nccl(&config) && setenv("NCCL_PROFILER_PLUGIN", launch->library, 0) != 0)
        return ENOMEM;
    set_operators(&config);
    if (!wants_preload(launch, &config))
        return 0;
    bool steps = wants_steps(launch, &config); /* set_preload may set ATTACH_NAME */
    return set_preload(launch->preload) && (!steps || set_steps(launch)) ? 0 : ENOMEM;
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
