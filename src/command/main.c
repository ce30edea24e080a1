/* miniprof: reads the traces that libminiprof.so writes. The table of its commands is below; each
 * has a file command.c in the folder of its question. Any other command line is taken as nvprof's.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/settings/config.h"
#include "base/text/strings.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/program.h"
#include "command/completions.h"
#include "export/gzip.h"
#include "export/nvvp/nvvp.h"
#include "nvprof/nvprof.h"

#include "base/poison.h"

/* ---- Version ----
 *
 * The commit is in build_id.c, which the Makefile writes, so that a new commit leaves all other
 * objects as they are.
 */

extern const char build_package[]; /* orders as dpkg does: tools/packages/version */
extern const char build_commit[];  /* "-": not built from a repository */

/* One fact a line on stdout: version, package and commit, libraries, CUPTI's versions. The first
 * line is `miniprof VERSION`, for scripts. */
static void print_version(void)
{
    const char *sqlite = nvvp_library();
    const char *zlib = gzip_library();

    printf("miniprof %s\n", MP_VERSION);
    printf("package  %s\n", build_package);
    printf("commit   %s\n", build_commit[0] == '-' ? "unknown" : build_commit);
    printf("zstd     %s\n", ZSTD_versionString());
    printf("SQLite   %s\n", sqlite ? sqlite : "none: without nvprof's files (.nvvp)");
    printf("zlib     %s\n", zlib ? zlib : "none: without compressed exports (.json.gz)");
    printf("CUPTI    of CUDA " MP_CUPTI_MIN_CUDA " to 13.x; faults known up to " //
           MP_CUPTI_NEWEST_CUDA "\n");
}

/* ---- The commands ---- */

static const struct command commands[] = {
    {"run", cmd_run, "profile a program, then print the summary"},
    {"ctl", cmd_ctl, "begin or end recording in a process, or print its state"},
    {"top", cmd_top, "what a process that is being recorded does now"},
    {"report", cmd_report, "one screen: the latency, where it goes, what to change"},
    {"summary", cmd_summary, "where the time goes, by name: nvprof's table"},
    {"gpu-trace", cmd_gpu_trace, "every kernel and copy in order of time: nvprof's table"},
    {"api-trace", cmd_api_trace, "every CUDA call and NVTX event in order of time"},
    {"iters", cmd_iters, "how long an iteration takes, and where its time goes"},
    {"diff", cmd_diff, "what changed from one trace, or set of runs, to another"},
    {"advise", cmd_advise, "what to change next, and what it would gain"},
    {"nvtx", cmd_nvtx, "what NVTX ranges launched, by thread, domain and name"},
    {"layers", cmd_layers, "which layer costs what: device time by the ranges that launched it"},
    {"stacks", cmd_stacks, "which line of the program costs what: by the stacks of its calls"},
    {"deps", cmd_deps, "the critical path, who waits for whom, and what-if"},
    {"kernels", cmd_kernels, "each kernel with occupancy, waves, resources, tensor cores"},
    {"overlap", cmd_overlap, "which copies, kernels and streams ran at the same time"},
    {"counters", cmd_counters, "the GPU's counters over time, by kernel, layer and iteration"},
    {"ranks", cmd_ranks, "who waits for whom across the ranks of a job"},
    {"memory", cmd_memory, "where memory goes: peaks, what is not freed, churn"},
    {"metrics", cmd_metrics, "hardware metrics of each kernel; --query lists those of the GPU"},
    {"html", cmd_html, "a page to look at: overview, time line, tables"},
    {"export", cmd_export, "the trace in the format of another tool"},
    {"fleet", cmd_fleet, "many traces in one folder, for SQL over all of them"},
    {"info", cmd_info, "what is inside a trace: tables, sizes, ranges, quality"},
    {"check", cmd_check, "verify every checksum of a trace"},
    {"dump", cmd_dump, "the rows of a trace"},
    {"calibrate", cmd_calibrate, "measure what recording costs on this machine"},
    {"nvprof", cmd_nvprof, "nvprof's command line; its name can be left out"},
};

#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static int print_commands(void)
{
    view_open_lines();
    printf("Usage: miniprof COMMAND [options] ...\n"
           "       miniprof [nvprof options] PROGRAM [argument...]\n\n"
           "Profiles CUDA programs that do inference, and explains their traces.\n\n"
           "Commands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("  %-10s%s\n", commands[i].name, commands[i].purpose);
    printf("  %-10s%s\n"
           "\n  miniprof help COMMAND or miniprof COMMAND --help says more; miniprof --version\n",
           "help", "this list, or the help of a command");
    return EXIT_FINE;
}

static bool is_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (!strcmp(commands[i].name, name))
            return true;
    }
    return false;
}

static void complain_of_command(const char *name)
{
    struct mp_meant meant = {.typed = name};

    for (size_t i = 0; i < COMMAND_COUNT; i++)
        mp_meant_offer(&meant, commands[i].name);
    if (mp_meant_name(&meant))
        complain(NULL, "unknown command '%s'; did you mean '%s'? 'miniprof help' lists them", name,
                 mp_meant_name(&meant));
    else
        complain(NULL, "unknown command '%s'; 'miniprof help' lists them", name);
}

static int run_command(const char *name, int argc, char **argv)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (!strcmp(commands[i].name, name))
            return commands[i].run(argc, argv);
    }
    complain_of_command(name);
    return EXIT_USAGE;
}

static int help(int argc, char **argv)
{
    char option[] = "--help";
    char *arguments[] = {NULL, option, NULL};

    if (argc < 2)
        return print_commands();
    arguments[0] = argv[1];
    return run_command(argv[1], 2, arguments);
}

/* Whether the name is the first word of an nvprof command line: one of nvprof's options, or a
 * program to run. A path cannot be a mistyped command. */
static bool is_nvprof(const char *name)
{
    char path[PATH_MAX];

    return name[0] == '-' || strchr(name, '/') || program_find(name, path);
}

/* Whether the name is a file or a folder to report on, and not a program to run. */
static bool is_trace(const char *name)
{
    char path[PATH_MAX];
    struct mp_trace *trace;
    struct mp_error error;

    if (access(name, F_OK) != 0)
        return false;
    if (!program_find(name, path))
        return true;
    if (!strchr(name, '/') || mp_trace_open(name, &trace, &error) != MP_OK)
        return false;
    mp_trace_close(trace); /* with permission to run it, as on some file systems every file */
    return true;
}

/* `miniprof TRACE summary`: true after a complaint. */
static bool complain_of_order(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (!is_command(argv[i]) || access(argv[i], F_OK) == 0)
            continue;
        complain(NULL, "the command comes before the trace: 'miniprof %s %s'", argv[i], argv[1]);
        return true;
    }
    return false;
}

static int dispatch(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;

    if (!name) {
        complain(NULL, "which command? 'miniprof help' lists them");
        return EXIT_USAGE;
    }
    if (!strcmp(name, "help"))
        return help(argc - 1, argv + 1);
    if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        return print_commands();
    if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
        print_version();
        return EXIT_FINE;
    }
    if (!strcmp(name, "completions"))
        return completions(argc - 1, argv + 1, commands, COMMAND_COUNT);
    if (!is_command(name) && is_command("report") && is_trace(name))
        return complain_of_order(argc, argv) ? EXIT_USAGE : run_command("report", argc, argv);
    if (!is_command(name) && is_nvprof(name))
        return cmd_nvprof(argc, argv);
    return run_command(name, argc - 1, argv + 1);
}

/* If the command is called by a link named nvprof, nvprof's scripts run unchanged. */
static bool called_nvprof(int argc, char **argv)
{
    const char *name = argc ? argv[0] : "";
    const char *slash = strrchr(name, '/');

    return !strcmp(slash ? slash + 1 : name, "nvprof");
}

/* If stdin, stdout or stderr is closed, a file that we open must not take its number. So the number
 * is occupied: stdout then cannot be written, and programs that we run still find it closed. */
static void occupy_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", (fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    }
}

int main(int argc, char **argv)
{
    bool written;

    occupy_standard_files();
    mp_time_limits_read(NULL); /* run with a mistake in it, the recorder says so */
    /* nvprof's reports go to stderr. Without this each cell of a table would be a system call. */
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
    int code = called_nvprof(argc, argv) ? cmd_nvprof(argc, argv) : dispatch(argc, argv);
    code = view_close(code, &written);

    /* If the output did not reach its reader, the command has failed. */
    if (!written && code < EXIT_USAGE) {
        fprintf(stderr, "miniprof: cannot write the output: %m\n");
        code = EXIT_UNREADABLE;
    }
    return code;
}
