/* Runs a program as nvprof does, with the recorder's settings in its environment, and reports on
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text/strings.h"
#include "cli/command.h"
#include "cli/program.h"
#include "nvprof/nvprof.h"
#include "run/run.h"

#include "base/poison.h"

/* ---- The recorder's settings ----
 *
 * Turns nvprof's options into the recorder's settings, as environment variables of the program. An
 * option that nvprof applies to reports only is not passed on.
 */

static bool set(const char *setting, const char *value, bool overwrite)
{
    char name[64];

    snprintf(name, sizeof name, "MINIPROF_%s", setting);
    return setenv(name, value, overwrite) == 0;
}

/* The setting's word for an option's word: that in the same position. */
static void translate(const struct nvprof_option *option, const char *value, char *text,
                      size_t size)
{
    int position = nvprof_word_position(option->takes, value, strlen(value));
    const char *cursor = option->settings;
    const char *word = value;
    size_t bytes = strlen(value);

    for (int i = 0; cursor && i <= position; i++)
        nvprof_next_word(&cursor, &word, &bytes);
    snprintf(text, size, "%.*s", (int)bytes, word);
}

/* A given option overrides the environment; the environment overrides nvprof's defaults. */
static bool set_option(const struct nvprof_option *option, const char *given)
{
    char word[32];

    if (!option->setting || (!given && !option->preset))
        return true;
    translate(option, given ? given : option->preset, word, sizeof word);
    return set(option->setting, word, given != NULL);
}

static bool set_metrics(const struct nvprof_metrics *metrics)
{
    if (!*metrics->names)
        return true;
    return set("METRICS", metrics->names, true) &&
           set("KERNELS", metrics->kernels ? metrics->kernels : "", true) &&
           set("DEVICES", metrics->devices ? metrics->devices : "", true);
}

static bool set_trace(unsigned trace)
{
    if (!trace)
        return true;
    if (!(trace & NVPROF_TRACE_API) && !set("API", "none", true))
        return false;
    return trace & NVPROF_TRACE_GPU || set("GPU", "off", true);
}

bool nvprof_set_environment(const struct nvprof_values *values, const char *output)
{
    bool good = true;

    for (size_t i = 0; good && i < nvprof_option_count; i++)
        good = set_option(&nvprof_options[i], values->given[i]);
    return good && set("OUTPUT", output, true) &&
           set("CHILDREN", values->child_processes ? "on" : "off", values->child_processes) &&
           set("ARGV", "on", false) &&
           set("LOG", values->quiet ? "none" : "quiet", values->quiet) &&
           set_metrics(&values->metrics) && set_trace(values->trace);
}

/* ---- The session ----
 *
 * A session: the program runs with the recorder in it, and its traces go to a folder of our own.
 * The traces are opened and the folder is removed before the reports are printed. So if something
 * ends us later, nothing is left behind. Until then signals are blocked.
 */

#define PID_BYTES 24

struct session {
    const struct nvprof_values *values;
    char **argv;
    char *name; /* of the program, as it was given */
    char program[PATH_MAX];
    struct launch launch;
    struct nvprof_folder folder;
    char output[PATH_MAX]; /* pattern of the traces, in the folder */
    struct nvprof_log log;
    struct nvprof_written written;
    int gate[2];         /* a pipe: the program begins after our first line is printed */
    char pid[PID_BYTES]; /* of the program */
    bool timed_out;
    bool kept;   /* a file of -o could not be written: the traces stay in the folder */
    bool failed; /* something could not be printed or written */
};

/* One process's trace. */
struct nvprof_process {
    struct mp_trace *trace;
    char pid[PID_BYTES];
    char exported[PATH_MAX]; /* empty: not */
};

struct nvprof_processes {
    struct nvprof_process *items; /* owned */
    size_t count;
};

/* ---- Before ---- */

static enum mp_status open_log(struct session *session, struct mp_error *error)
{
    return nvprof_log_open(&session->log, session->values, session->pid, NULL, error);
}

/* Checks before the run for what would otherwise fail after it, possibly hours later. */

static bool can_write_into_folder(const char *pattern)
{
    const char *slash = strrchr(pattern, '/');
    char folder[PATH_MAX];
    char path[PATH_MAX];
    struct mp_error error;

    snprintf(folder, sizeof folder, "%.*s/.", slash ? (int)(slash - pattern) : 1,
             slash ? pattern : ".");
    if (nvprof_pattern_has_pid(folder))
        return true; /* nobody knows yet */
    if (nvprof_pattern_expand(folder, "", false, path, sizeof path, &error) != MP_OK) {
        nvprof_error(stderr, "%s", error.text);
        return false;
    }
    if (access(path, W_OK | X_OK) == 0)
        return true;
    nvprof_error(stderr, "cannot create files in '%.*s': %s", (int)strlen(path) - 2, path,
                 strerror(errno));
    return false;
}

static int check_target(const char *path, bool overwrite)
{
    struct stat info;

    if (stat(path, &info) != 0) {
        if (errno == ENOENT)
            return NVPROF_EXIT_FINE;
        nvprof_error(stderr, "cannot create '%s': %s", path, strerror(errno));
    } else if (!overwrite) {
        nvprof_error(stderr, "'%s' exists already; -f overwrites it", path);
    } else if (S_ISDIR(info.st_mode)) {
        nvprof_error(stderr, "cannot create '%s': it is a directory", path);
    } else if (access(path, W_OK) != 0) {
        nvprof_error(stderr, "cannot write '%s': %s", path, strerror(errno));
    } else {
        return NVPROF_EXIT_FINE;
    }
    return NVPROF_EXIT_INTERNAL;
}

static int check_export(const struct nvprof_values *values)
{
    char path[PATH_MAX];
    struct mp_error error;

    if (!can_write_into_folder(values->export_file))
        return NVPROF_EXIT_INTERNAL;
    if (nvprof_pattern_has_pid(values->export_file))
        return NVPROF_EXIT_FINE;
    if (values->child_processes) {
        nvprof_error(stderr, "--profile-child-processes needs a file for each process: give "
                             "--export-profile a name with %%p");
        return NVPROF_EXIT_OPTION;
    }
    if (nvprof_export_path(values, "", path, &error) != MP_OK) {
        nvprof_error(stderr, "%s", error.text);
        return NVPROF_EXIT_INTERNAL;
    }
    return check_target(path, values->force);
}

static int check_files(struct session *session)
{
    const struct nvprof_values *values = session->values;
    struct mp_error error;
    int code = values->export_file ? check_export(values) : NVPROF_EXIT_FINE;

    if (code != NVPROF_EXIT_FINE || (values->log_file && nvprof_pattern_has_pid(values->log_file)))
        return code; /* such a log is opened when there is a process */
    if (open_log(session, &error) != MP_OK) {
        nvprof_error(stderr, "%s", error.text);
        return NVPROF_EXIT_INTERNAL;
    }
    return NVPROF_EXIT_FINE;
}

/* The folder's name may have percent signs, which the pattern doubles. */
static bool make_output(struct session *session)
{
    size_t used = 0;

    for (const char *c = session->folder.path; *c; c++) {
        if (used + 16 > sizeof session->output)
            return false;
        session->output[used++] = *c;
        if (*c == '%')
            session->output[used++] = '%';
    }
    snprintf(session->output + used, sizeof session->output - used, "/%%p.mpt");
    return true;
}

static int prepare(struct session *session)
{
    struct mp_error error;

    if (!launch_find_library(&session->launch, NULL)) {
        nvprof_error(stderr, "cannot find libminiprof.so beside this command or in ../lib");
        return NVPROF_EXIT_INTERNAL;
    }
    if (nvprof_folder_make(&session->folder, &error) != MP_OK) {
        nvprof_error(stderr, "%s", error.text);
        return NVPROF_EXIT_INTERNAL;
    }
    return make_output(session) ? NVPROF_EXIT_FINE : NVPROF_EXIT_INTERNAL;
}

/* ---- The program ---- */

/* In the child. Waits until all other processes have closed the other end of the pipe. */
static bool export_settings(const void *context)
{
    const struct session *session = context;
    char nothing;

    close(session->gate[1]);
    while (read(session->gate[0], &nothing, 1) < 0 && errno == EINTR) {
    }
    return nvprof_set_environment(session->values, session->output);
}

static void print_command(FILE *file, const char *pid, const char *name, char **arguments)
{
    if (!file)
        return;
    fprintf(file, "==%s== NVPROF is profiling process %s, command: %s", pid, pid, name);
    for (; *arguments; arguments++)
        fprintf(file, " %s", *arguments);
    fputc('\n', file);
    fflush(file);
}

static void started(pid_t pid, void *context)
{
    struct session *session = context;
    struct mp_error error;

    snprintf(session->pid, sizeof session->pid, "%jd", (intmax_t)pid);
    if (!session->log.file && open_log(session, &error) != MP_OK) {
        nvprof_error(stderr, "%s", error.text);
        session->log.file = stderr;
    }
    print_command(session->log.file, session->pid, session->name, session->argv + 1);
    close(session->gate[1]);
}

static double seconds_now(void)
{
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Sets *child, and session->timed_out. */
static int session_run(struct session *session, const sigset_t *mask, struct child *child)
{
    double begin = seconds_now();

    *child = (struct child){.started = started, .context = session, .mask = mask};
    session->launch.export_settings = export_settings;
    session->launch.context = session;
    /* Those in PATH are found once more, and see the name that was given. */
    if (mp_text_starts_with(session->program, "./"))
        session->argv[0] = session->program;
    if (pipe2(session->gate, O_CLOEXEC) != 0)
        return -1;
    int result = launch_run(&session->launch, session->argv, child);
    close(session->gate[0]);
    if (result != 0)
        close(session->gate[1]);
    session->timed_out = session->values->timeout && child->exit_code == CODE_SIGNAL + SIGTERM &&
                         seconds_now() - begin >= (double)session->values->timeout;
    return result;
}

/* ---- What it wrote ---- */

static void set_pid(struct nvprof_process *profile, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;

    snprintf(profile->pid, sizeof profile->pid, "%.*s", (int)strcspn(file, "."), file);
}

/* False when the trace is not written. */
static bool export_profile(struct session *session, struct nvprof_process *profile,
                           const char *path)
{
    struct mp_error error;

    if (nvprof_export(session->values, profile->trace, path, profile->pid, &session->folder,
                      &session->written, profile->exported, &error) == MP_OK)
        return true;
    profile->exported[0] = '\0';
    session->kept = true;
    nvprof_error(session->log.file, "%s", error.text);
    nvprof_line(session->log.file, profile->pid, "The trace is left in %s", path);
    return false;
}

/* Keeps traces that cannot be read here but may still be useful to somebody. */
static void keep_unreadable(struct session *session, const struct nvprof_process *profile,
                            const char *path)
{
    struct stat info;

    session->failed = true;
    if (stat(path, &info) != 0 || !info.st_size)
        return;
    session->kept = true;
    nvprof_line(session->log.file, profile->pid, "What was recorded is left in %s", path);
}

static void add_profile(struct session *session, struct nvprof_processes *profiles,
                        const char *path)
{
    struct nvprof_process *profile = &profiles->items[profiles->count];
    struct mp_error error;

    set_pid(profile, path);
    if (mp_trace_open(path, &profile->trace, &error) != MP_OK) {
        nvprof_error(session->log.file, "%s", error.text);
        keep_unreadable(session, profile, path);
        return;
    }
    profiles->count++;
    if (!session->values->export_file || export_profile(session, profile, path))
        unlink(path); /* it is open, and the folder may have to stay for another */
}

static int compare_pids(const void *left, const void *right)
{
    return strverscmp(((const struct nvprof_process *)left)->pid,
                      ((const struct nvprof_process *)right)->pid);
}

static enum mp_status open_profiles(struct session *session, const struct written_traces *traces,
                                    struct nvprof_processes *profiles)
{
    profiles->items = calloc(traces->other_count + 1, sizeof *profiles->items);
    if (!profiles->items)
        return MP_ERR_MEMORY;
    allow_many_files(); /* each trace is open until its report is printed */
    if (traces->own_exists)
        add_profile(session, profiles, traces->own);
    for (size_t i = 0; i < traces->other_count; i++)
        add_profile(session, profiles, traces->others[i]);
    qsort(profiles->items, profiles->count, sizeof *profiles->items, compare_pids);
    return MP_OK;
}

static enum mp_status collect(struct session *session, const struct child *child,
                              const struct timespec *since, struct nvprof_processes *profiles,
                              struct mp_error *error)
{
    struct written_traces traces;
    enum mp_status status = written_traces_find(&traces, session->output, child->pid, since, error);

    if (status == MP_OK && open_profiles(session, &traces, profiles) != MP_OK)
        status = mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    written_traces_free(&traces);
    return status;
}

static void print_profile(struct session *session, const struct nvprof_process *profile)
{
    struct nvprof_log log;
    struct mp_error error;

    if (nvprof_log_open(&log, session->values, profile->pid, &session->log, &error) != MP_OK) {
        nvprof_error(session->log.file, "%s", error.text);
        session->failed = true;
        log = (struct nvprof_log){.file = session->log.file};
    }
    if (log.file && nvprof_reports(session->values) &&
        nvprof_report(log.file, profile->trace, session->values, false, &error) != MP_OK) {
        nvprof_error(log.file, "%s", error.text);
        session->failed = true;
    }
    if (*profile->exported)
        nvprof_line(log.file, profile->pid, "Generated result file: %s", profile->exported);
    if (!nvprof_log_close(&log))
        session->failed = true;
}

static void print_profiles(struct session *session, const struct nvprof_processes *profiles)
{
    for (size_t i = 0; i < profiles->count; i++)
        print_profile(session, &profiles->items[i]);
    if (profiles->count)
        return;
    nvprof_warning(session->log.file, "No profile data collected.");
    if (session->log.file)
        fprintf(session->log.file,
                "                  The program made no CUDA calls, or its messages above say why "
                "there is no data.\n");
}

static void profiles_free(struct nvprof_processes *profiles)
{
    for (size_t i = 0; i < profiles->count; i++)
        mp_trace_close(profiles->items[i].trace);
    free(profiles->items);
}

/* ---- How it ended ---- */

static int verdict(const struct session *session, const struct child *child)
{
    if (session->timed_out) {
        nvprof_line(session->log.file, session->pid,
                    "Warning: the program was ended by --timeout after %" PRIu64 " s",
                    session->values->timeout);
        return NVPROF_EXIT_FINE;
    }
    if (!child->exit_code)
        return session->failed || session->kept ? NVPROF_EXIT_INTERNAL : NVPROF_EXIT_FINE;
    if (child->exit_code > CODE_SIGNAL && child->signalled)
        nvprof_error(session->log.file, "Application received signal %d", child->exit_code);
    else
        nvprof_error(session->log.file, "Application returned non-zero code %d", child->exit_code);
    return NVPROF_EXIT_PROGRAM_FAILED;
}

static int not_found(const char *name, int reason)
{
    if (reason == ENOENT)
        nvprof_error(stderr, "application not found.");
    else
        nvprof_error(stderr, "cannot run '%s': %s", name, strerror(reason));
    return NVPROF_EXIT_NOT_FOUND;
}

/* From the program's start to the end of the folder. Signals are blocked here, but not for the
 * program, which gets `mask`. */
static int profile(struct session *session, const sigset_t *mask, struct child *child,
                   struct nvprof_processes *profiles)
{
    struct timespec since = launch_file_time();
    struct mp_error error;

    if (session_run(session, mask, child) != 0) {
        nvprof_error(stderr, "cannot make a process: %s", strerror(errno));
        return NVPROF_EXIT_INTERNAL;
    }
    if (child->start_errno)
        return not_found(session->name, child->start_errno);
    if (collect(session, child, &since, profiles, &error) != MP_OK) {
        nvprof_error(session->log.file, "%s", error.text);
        return NVPROF_EXIT_INTERNAL;
    }
    return NVPROF_EXIT_FINE;
}

static void block_signals(sigset_t *before)
{
    sigset_t blocked;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGQUIT);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGHUP);
    sigaddset(&blocked, SIGPIPE); /* nobody may read our lines any more */
    sigprocmask(SIG_BLOCK, &blocked, before);
}

static int run_session(struct session *session)
{
    struct nvprof_processes profiles = {.items = NULL};
    struct child child;
    sigset_t before;

    block_signals(&before);
    int code = prepare(session);
    if (code == NVPROF_EXIT_FINE)
        code = profile(session, &before, &child, &profiles);
    if (!session->kept)
        nvprof_folder_remove(&session->folder);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (code == NVPROF_EXIT_FINE) {
        print_profiles(session, &profiles);
        code = verdict(session, &child);
    }
    profiles_free(&profiles);
    return code;
}

int nvprof_session(const struct nvprof_values *values, char **argv)
{
    struct session *session = calloc(1, sizeof *session);
    int code;

    if (!session) {
        nvprof_error(stderr, "out of memory");
        return NVPROF_EXIT_INTERNAL;
    }
    session->values = values;
    session->argv = argv;
    session->name = argv[0];
    if (!program_find(argv[0], session->program)) {
        code = not_found(argv[0], errno);
    } else {
        code = check_files(session);
        if (code == NVPROF_EXIT_FINE)
            code = run_session(session);
    }
    nvprof_written_free(&session->written);
    if (!nvprof_log_close(&session->log) && code == NVPROF_EXIT_FINE)
        code = NVPROF_EXIT_INTERNAL;
    free(session);
    return code;
}
