/* nvprof's command line. It decides what is asked for (help, import, metrics list, a session) and
 * calls the file that does it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/program.h"
#include "nvprof/nvprof.h"
#include "run/query.h"

#include "base/poison.h"

/* ---- Help ---- */

#define WIDEST 44 /* what an option takes, on its line */

/* The sentences come from the documentation, so backticks are removed. */
static void print_option(const struct nvprof_option *option)
{
    char text[512];
    size_t used = 0;

    for (const char *c = option->doc; *c && used + 1 < sizeof text; c++) {
        if (*c != '`')
            text[used++] = *c;
    }
    text[used] = '\0';
    options_print(option->letter, option->name,
                  option->takes && strlen(option->takes) > WIDEST ? "WORD,..." : option->takes,
                  text);
}

static int print_help(void)
{
    printf("Usage: nvprof [options] PROGRAM [argument...]\n"
           "       nvprof [options] -i FILE\n\n"
           "nvprof's command line, by miniprof: miniprof [options] PROGRAM is the same.\n\n"
           "Options, each as --name VALUE or --name=VALUE:\n");
    for (size_t i = 0; i < nvprof_option_count; i++) {
        if (nvprof_options[i].state != NVPROF_REFUSED || nvprof_options[i].plain)
            print_option(&nvprof_options[i]);
    }
    printf("\nNot done here, with what does it:\n");
    for (size_t i = 0; i < nvprof_option_count; i++) {
        if (nvprof_options[i].state == NVPROF_REFUSED && !nvprof_options[i].plain)
            print_option(&nvprof_options[i]);
    }
    printf("\nExit code: 0; 3 no program, 4 a file or variable is missing, 5 a wrong option,\n"
           "9 the program failed, 13 it is not there, 20 a file cannot be imported,\n"
           "23 there is no driver.\n");
    return NVPROF_EXIT_FINE;
}

/* ---- A trace where nvprof expects a program ---- */

static bool is_trace(const char *path)
{
    struct mp_trace *trace;
    struct mp_error error;
    struct stat found;

    if (stat(path, &found) != 0 || !S_ISREG(found.st_mode) ||
        mp_trace_open(path, &trace, &error) != MP_OK)
        return false;
    mp_trace_close(trace);
    return true;
}

/* "a trace", "a folder"; NULL: the file is something else. */
static const char *kind_of(const char *path)
{
    struct stat found;

    if (stat(path, &found) == 0 && S_ISDIR(found.st_mode))
        return "a folder";
    return is_trace(path) ? "a trace" : NULL;
}

/* A report's options before a trace are not nvprof's command line. True after a complaint. */
static bool complain_of_trace(const char *word, char **argv)
{
    const char *kind = kind_of(word);
    char words[1024];
    size_t used = 0;

    if (!kind)
        return false;
    words[0] = '\0';
    for (size_t i = 1; argv[i] && used < sizeof words; i++)
        used += (size_t)snprintf(words + used, sizeof words - used, " %s", argv[i]);
    complain(NULL, "'%s' is %s, not a program; a command comes first: 'miniprof summary%s'", word,
             kind, words);
    return true;
}

/* After an option that nvprof lacks we cannot tell values from the program. Words after a program
 * are the program's own. */
static bool complain_of_any_trace(char **argv)
{
    char program[PATH_MAX];

    for (size_t i = 1; argv[i]; i++) {
        if (argv[i][0] == '-')
            continue;
        if (!is_trace(argv[i]) && program_find(argv[i], program))
            break;
        if (complain_of_trace(argv[i], argv))
            return true;
    }
    return false;
}

/* ---- What the options ask for ---- */

static int wrong_option(const struct mp_error *error)
{
    if (error->status != MP_ERR_UNSUPPORTED) {
        nvprof_error(stderr, "%s", error->text);
        return NVPROF_EXIT_OPTION;
    }
    nvprof_error(stderr, "Encountered invalid option : %s", error->text);
    fprintf(stderr, "======== Use \"nvprof --help\" to get more information.\n");
    return NVPROF_EXIT_OPTION;
}

/* Returns false, after a message, if a name needs a variable that is not set. */
static bool have_variables(const struct nvprof_values *values)
{
    const char *const patterns[] = {values->export_file, values->log_file, values->process_name,
                                    values->context_name, values->stream_name};
    char name[256];

    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        if (!patterns[i] || !nvprof_pattern_missing(patterns[i], name, sizeof name))
            continue;
        nvprof_error(stderr, "cannot find environment variable \"%s\"", name);
        return false;
    }
    return true;
}

/* Prints the notes of options that work differently here than one may expect. */
static void print_option_notes(const struct nvprof_values *values)
{
    for (size_t i = 0; i < nvprof_option_count; i++) {
        const struct nvprof_option *option = &nvprof_options[i];
        const char *value = values->given[i];
        const char *note = value ? nvprof_note(option, value) : NULL;

        if (note)
            nvprof_warning(stderr, "--%s%s%s: %s", option->name, *value ? " " : "", value, note);
    }
    if (values->metrics.several_scopes)
        nvprof_warning(stderr, "--kernels, --devices: the last scope holds for all metrics");
}

/* An answer goes to stdout, unless --log-file names another place. */
static int query(const struct nvprof_values *values)
{
    struct report_out out = {.file = stdout, .format = values->csv ? REPORT_CSV : REPORT_TEXT};
    struct nvprof_log log = {.file = NULL};
    struct mp_error error;
    int code = NVPROF_EXIT_FINE;

    if (values->log_file && nvprof_log_open(&log, values, "0", NULL, &error) != MP_OK) {
        nvprof_error(stderr, "%s", error.text);
        return NVPROF_EXIT_INTERNAL;
    }
    if (log.file)
        out.file = log.file;
    if (values->query_metrics)
        code = metrics_query(&out, false, values->devices);
    if (values->query_events && code == NVPROF_EXIT_FINE)
        code = metrics_query(&out, true, values->devices);
    if (!nvprof_log_close(&log) && code == NVPROF_EXIT_FINE)
        code = NVPROF_EXIT_INTERNAL;
    return code;
}

static int act(const struct nvprof_values *values, char **argv)
{
    if (values->imports.count && *argv) {
        nvprof_error(stderr, "Cannot run an application and import a profile at the same time.");
        return NVPROF_EXIT_OPTION;
    }
    if (values->export_file && values->log_file && !strcmp(values->export_file, values->log_file)) {
        nvprof_error(stderr, "--export-profile and --log-file name the same file");
        return NVPROF_EXIT_OPTION;
    }
    if (!have_variables(values))
        return NVPROF_EXIT_INTERNAL;
    if (!values->quiet)
        print_option_notes(values);
    if (values->query_metrics || values->query_events)
        return query(values);
    if (values->imports.count)
        return nvprof_import(values);
    if (!*argv) {
        nvprof_error(stderr, "no application specified.");
        return NVPROF_EXIT_NO_PROGRAM;
    }
    return nvprof_session(values, argv);
}

int cmd_nvprof(int argc, char **argv)
{
    struct nvprof_values *values = calloc(1, sizeof *values);
    struct mp_error error;
    int first = 0;
    int code;

    if (!values) {
        nvprof_error(stderr, "out of memory");
        return NVPROF_EXIT_INTERNAL;
    }
    nvprof_values_init(values);
    if (nvprof_parse(argc, argv, values, &first, &error) != MP_OK) {
        code = error.status == MP_ERR_UNSUPPORTED && complain_of_any_trace(argv)
                   ? EXIT_USAGE
                   : wrong_option(&error);
    } else if (values->help) {
        code = print_help();
    } else if (values->version) {
        printf("nvprof's command line, by miniprof %s\n", MP_VERSION);
        code = NVPROF_EXIT_FINE;
    } else if (first > 1 && argv[first] && !values->imports.count &&
               complain_of_trace(argv[first], argv)) {
        code = EXIT_USAGE;
    } else {
        code = act(values, argv + first);
    }
    free(values);
    return code;
}
