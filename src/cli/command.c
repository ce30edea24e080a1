/* What all subcommands share: how they complain, how they open a trace, and how an error becomes an
 * exit code. Texts of a trace are made harmless here before a terminal sees them.
 */
#include "cli/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/data/storage.h"
#include "base/text/foreign.h"
#include "cli/terminal.h"
#include "table/table.h"

#include "base/poison.h"

void complain(const char *command, const char *format, ...)
{
    va_list arguments;
    char *line = NULL;
    size_t bytes = 0;
    FILE *out = memory_file_open(&line, &bytes);

    progress_end();
    fflush(stdout);
    va_start(arguments, format);
    if (out) {
        fprintf(out, command ? "miniprof %s: " : "miniprof: ", command);
        foreign_print(out, format, arguments);
        fclose(out);
    }
    va_end(arguments);
    if (line)
        screen_complain(line, bytes);
    else
        fputs("miniprof: out of memory\n", stderr);
    free(line);
}

void say_path(const char *path)
{
    if (isatty(STDOUT_FILENO))
        foreign_put_text(stdout, path);
    else
        fputs(path, stdout);
    putchar('\n');
}

struct mp_trace *open_trace(const char *command, const char *path)
{
    struct mp_trace *trace;
    struct mp_error error;

    if (mp_trace_open(path, &trace, &error) == MP_OK)
        return trace;
    complain(command, "%s", error.text);
    return NULL;
}

int fail_on_trace(const char *command, const char *path, const struct mp_error *error)
{
    complain(command, "'%s': %s", path, error->text);
    return error->status == MP_ERR_ARGUMENT ? EXIT_USAGE : EXIT_UNREADABLE;
}

const char *only_trace(const char *command, int count, char **arguments)
{
    if (count == 1)
        return arguments[0];
    complain(command,
             count ? "takes one trace; 'miniprof help %s' says more"
                   : "which trace? 'miniprof %s TRACE.mpt'",
             command);
    return NULL;
}

/* ---- What is printed of several traces ---- */

bool report_streams_open(const char *command, struct report_out *out, bool several)
{
    struct json_documents *documents = out->documents;

    if (!documents || !(several || documents->lines))
        return true;
    if (!json_documents_open(documents, out->file, documents->lines)) {
        complain(command, "out of memory");
        return false;
    }
    out->file = documents->file;
    return true;
}

/* Whose the rows or the document are that follow; NULL: there is one trace. `process` must outlive
 * them. */
static void report_streams_name(const struct report_out *out, const char *process)
{
    if (out->sheet) {
        out->sheet->process = process;
        out->sheet->rowless = false;
    }
    if (out->documents && out->documents->file)
        json_documents_name(out->documents, process);
}

/* `miniprof deps: no table 'x' in this report; it has latencies` */
static void complain_of_table(const char *command, const struct report_sheet *sheet)
{
    size_t named = 0;

    fprintf(stderr, "miniprof %s: no table '", command);
    foreign_put_text(stderr, sheet->wanted);
    fputs("' in this report", stderr);
    for (size_t i = 0; i < sheet->table_count; i++) {
        if (sheet->tables[i])
            fprintf(stderr, "%s %s", named++ ? "," : "; --table is one of", sheet->tables[i]);
    }
    fputs(named ? ", or not given\n" : "; it has one, without a name\n", stderr);
}

int report_streams_close(const char *command, struct report_out *out, int code)
{
    const struct report_sheet *sheet = out->sheet;

    if (out->documents && out->documents->file) {
        json_documents_close(out->documents);
        out->file = out->documents->to;
    }
    if (!sheet || sheet->headed || !sheet->wanted || code >= EXIT_USAGE)
        return code;
    complain_of_table(command, sheet);
    return EXIT_USAGE;
}

/* ---- One trace, or all as one set ---- */

int complain_of_problems(const char *command, const struct trace_set *set)
{
    int code = EXIT_FINE;

    for (size_t i = 0; i < set->problem_count; i++) {
        const struct trace_set_problem *problem = &set->problems[i];
        bool missing = problem->named && !problem->repeated;

        complain(command, "%s", problem->text);
        code = worse_code(code, missing || !set->count ? EXIT_UNREADABLE : EXIT_FINDINGS);
    }
    return code;
}

static bool open_paths(const char *command, const char *const *paths, size_t count,
                       struct trace_set *set, int *code)
{
    struct mp_error error;

    if (trace_set_open(paths, count, set, &error) != MP_OK) {
        complain(command, "%s", error.text);
        *code = EXIT_UNREADABLE;
        return false;
    }
    *code = complain_of_problems(command, set);
    if (set->count)
        return true;
    trace_set_free(set);
    return false;
}

bool open_trace_set(const char *command, int count, char **arguments, struct trace_set *set,
                    int *code)
{
    return open_paths(command, (const char *const *)arguments, (size_t)count, set, code);
}

int report_trace(const char *command, const char *path, trace_report *report, void *context)
{
    struct mp_trace *trace = open_trace(command, path);
    struct mp_error error;
    bool whole = false;
    int code;

    if (!trace)
        return EXIT_UNREADABLE;
    progress_begin(path);
    if (report(context, trace, &whole, &error) != MP_OK)
        code = fail_on_trace(command, path, &error);
    else
        code = whole ? EXIT_FINE : EXIT_FINDINGS;
    progress_end();
    mp_trace_close(trace);
    return code;
}

void allow_many_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* ---- Each trace on its own ----
 *
 * All are listed first, because rows and documents say whose they are only if there are several.
 * The worst result is the exit code.
 */

/* The files of the arguments, those of folders in their places. */
struct listing {
    const char **paths;
    size_t count, capacity;
    struct trace_set *folders; /* by argument; empty for files */
    struct trace_set labels;   /* of all of them, if there are several */
    int code;
};

static bool add_path(struct listing *listing, const char *path)
{
    if (MP_RESERVE(listing->paths, listing->count, listing->capacity) != MP_OK)
        return false;
    listing->paths[listing->count++] = path;
    return true;
}

static bool add_folder(struct listing *listing, const char *command, char **folder,
                       struct trace_set *set)
{
    int code;
    bool opened = open_trace_set(command, 1, folder, set, &code);

    listing->code = worse_code(listing->code, code);
    for (size_t i = 0; opened && i < set->count; i++) {
        if (!add_path(listing, set->processes[i].path))
            return false;
    }
    return true;
}

/* What cannot be opened has no label; its report says why. */
static void fill_labels(struct listing *listing)
{
    struct mp_error error;

    if (listing->count > 1 &&
        trace_set_open(listing->paths, listing->count, &listing->labels, &error) != MP_OK)
        listing->labels = (struct trace_set){.count = 0};
}

static bool listing_open(struct listing *listing, const char *command, int count, char **arguments)
{
    bool fine = true;

    *listing = (struct listing){.code = EXIT_FINE};
    listing->folders = calloc((size_t)count, sizeof *listing->folders);
    for (int i = 0; listing->folders && fine && i < count; i++)
        fine = trace_set_is_folder(arguments[i])
                   ? add_folder(listing, command, &arguments[i], &listing->folders[i])
                   : add_path(listing, arguments[i]);
    if (listing->folders && fine)
        return true;
    complain(command, "out of memory");
    return false;
}

static void listing_free(struct listing *listing, int count)
{
    for (int i = 0; listing->folders && i < count; i++)
        trace_set_free(&listing->folders[i]);
    trace_set_free(&listing->labels);
    free(listing->folders);
    free(listing->paths);
}

/* What a trace is called among several: `rank 3`; the path of one that is listed twice. */
static const char *label_of(const struct listing *listing, const char *path)
{
    for (size_t i = 0; i < listing->labels.count; i++) {
        if (!strcmp(listing->labels.processes[i].path, path))
            return listing->labels.processes[i].label;
    }
    return path;
}

static int report_all(struct listing *listing, const char *command, struct report_out *out,
                      job_report_first *first, trace_report *report, void *context)
{
    bool several = listing->count > 1;
    int code = listing->code;

    if (out->format != REPORT_TEXT)
        fill_labels(listing);
    if (!report_streams_open(command, out, several))
        return EXIT_UNREADABLE;
    if (first) {
        report_streams_name(out, several ? "job" : NULL);
        code = worse_code(code, first(context));
    }
    for (size_t i = 0; i < listing->count; i++) {
        const char *path = listing->paths[i];

        report_streams_name(out, several ? label_of(listing, path) : NULL);
        out->path = path;
        code = worse_code(code, report_trace(command, path, report, context));
    }
    return report_streams_close(command, out, code);
}

int each_trace(const char *command, struct report_out *out, int count, char **arguments,
               trace_report *report, void *context)
{
    return job_and_each_trace(command, out, count, arguments, NULL, report, context);
}

int job_and_each_trace(const char *command, struct report_out *out, int count, char **arguments,
                       job_report_first *first, trace_report *report, void *context)
{
    struct listing listing;
    int code = EXIT_UNREADABLE;

    if (listing_open(&listing, command, count, arguments))
        code = report_all(&listing, command, out, first, report, context);
    listing_free(&listing, count);
    return code;
}
