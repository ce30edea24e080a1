/* What nvprof prints of traces, new ones and those that --import-profile names. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "export/nvvp/nvvp.h"
#include "nvprof/nvprof.h"
#include "reports/common/quality.h"
#include "reports/deps/deps.h"
#include "reports/deps/print.h"
#include "reports/memory/memory.h"
#include "reports/memory/print.h"
#include "reports/metrics/metrics.h"
#include "reports/metrics/print.h"
#include "reports/nvtx/nvtx.h"
#include "reports/summary/print.h"
#include "reports/summary/summary.h"
#include "reports/trace/trace.h"

#include "base/poison.h"

/* ---- Reports ----
 *
 * The reports of one process, in nvprof's order. All results are computed before anything is
 * printed, so that the head can say what is missing. Only the traces are printed as they are read.
 */

/* Which sections there are to be. */
struct sections {
    unsigned summary; /* enum summary_parts */
    bool traces;
    bool results; /* NVTX and unified memory: what nvprof prints beside the summary without being
                     asked */
    bool dependencies;
    bool dependency_trace;
    bool allocations;
};

/* The computed results; zeroed, it holds nothing. */
struct results {
    struct summary summary;
    struct profile profile;
    struct nvtx_result nvtx;
    struct unified unified;
    struct allocations allocations;
    struct metrics_result metrics;
    struct deps deps;
    struct deps_windows windows;
    struct deps_result path;
    uint64_t *critical;            /* ns, by activity; owned */
    const struct quality *quality; /* of the one that read most */
};

struct report {
    struct report_out out;
    struct mp_trace *trace;
    const struct nvprof_values *values;
    struct sections sections;
    enum names_style style;
    char context_name[PATH_MAX];
    char stream_name[PATH_MAX];
    char process_name[PATH_MAX];
    struct names_patterns patterns;
    struct results results;
    bool begun; /* a section was printed that does not end with an empty line */
};

/* ---- What is asked for ---- */

bool nvprof_reports(const struct nvprof_values *values)
{
    return !values->export_file || nvprof_wants_reports(values) || values->dependencies;
}

static struct sections choose_sections(const struct nvprof_values *values)
{
    bool summary = values->summary || (!values->export_file && !nvprof_wants_reports(values));
    struct sections sections = {
        .results = summary,
        .traces = values->gpu_trace || values->api_trace,
        .dependencies = values->dependencies,
        .dependency_trace = values->dependency_trace,
        .allocations = values->track_allocations == 0,
    };

    if (summary)
        sections.summary = SUMMARY_PARTS_BOTH;
    if (values->gpu_summary)
        sections.summary |= SUMMARY_PART_GPU;
    if (values->api_summary)
        sections.summary |= SUMMARY_PART_API;
    if (values->per_gpu_summary)
        sections.summary |= SUMMARY_PART_PER_GPU;
    return sections;
}

static enum mp_status fill_name(const char *pattern, const char *pid, bool naming, char *buffer,
                                const char **name, struct mp_error *error)
{
    *name = NULL;
    if (!pattern)
        return MP_OK;
    MP_TRY(nvprof_pattern_expand(pattern, pid, naming, buffer, PATH_MAX, error));
    *name = buffer;
    return MP_OK;
}

static enum mp_status fill_names(struct report *report, struct mp_error *error)
{
    const struct nvprof_values *values = report->values;
    struct names_patterns *patterns = &report->patterns;
    const char *pid = mp_trace_property(report->trace, "pid");

    if (!pid)
        pid = "0";
    MP_TRY(fill_name(values->context_name, pid, true, report->context_name, &patterns->context,
                     error));
    MP_TRY(
        fill_name(values->stream_name, pid, true, report->stream_name, &patterns->stream, error));
    return fill_name(values->process_name, pid, false, report->process_name, &patterns->process,
                     error);
}

/* ---- Working it out ---- */

static enum mp_status build_dependencies(struct report *report, struct mp_error *error)
{
    struct results *results = &report->results;
    struct deps_options options = {.style = report->style, .suffixes = true};

    MP_TRY(deps_load(report->trace, &options, &results->deps, error));
    results->quality = &results->deps.quality;
    MP_TRY(deps_windows_ranges(&results->deps, 0, &results->windows, error));
    results->critical = calloc((size_t)results->deps.count + 1, sizeof *results->critical);
    if (!results->critical || deps_result_init(&results->deps, &results->path) != MP_OK)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < results->windows.count; i++)
        deps_path(&results->deps, &results->windows.items[i], &results->path, results->critical);
    return MP_OK;
}

static enum mp_status build_summary(struct report *report, struct mp_error *error)
{
    struct summary_options options = {.style = report->style, .parts = report->sections.summary};

    MP_TRY(summary_build(report->trace, &options, &report->results.summary, error));
    report->results.quality = &report->results.summary.quality;
    return MP_OK;
}

static enum mp_status build_results(struct report *report, struct mp_error *error)
{
    struct nvtx_options nvtx = {.style = report->style};
    struct unified_options unified = {.range = 0};

    MP_TRY(profile_load(&report->results.profile, report->trace, DEFINITIONS_USUAL, error));
    MP_TRY(nvtx_result_build(&report->results.profile, &nvtx, &report->results.nvtx, error));
    return unified_build(report->trace, &unified, &report->results.unified, error);
}

static enum mp_status build_metrics(struct report *report, struct mp_error *error)
{
    struct metrics_options options = {.style = report->style};

    MP_TRY(metrics_build(report->trace, &options, &report->results.metrics, error));
    report->results.quality = &report->results.metrics.quality;
    return MP_OK;
}

static enum mp_status report_build(struct report *report, struct mp_error *error)
{
    const struct sections *sections = &report->sections;
    const struct allocations_options allocations = {.range = 0};

    MP_TRY(build_metrics(report, error));
    if (sections->dependencies || sections->dependency_trace)
        MP_TRY(build_dependencies(report, error));
    if (sections->summary)
        MP_TRY(build_summary(report, error));
    if (sections->results)
        MP_TRY(build_results(report, error));
    if (sections->allocations)
        MP_TRY(allocations_build(report->trace, &allocations, &report->results.allocations, error));
    return MP_OK;
}

static void results_free(struct results *results)
{
    free(results->critical);
    deps_result_free(&results->path);
    deps_windows_free(&results->windows);
    deps_free(&results->deps);
    metrics_free(&results->metrics);
    allocations_free(&results->allocations);
    unified_free(&results->unified);
    nvtx_result_free(&results->nvtx);
    profile_free(&results->profile);
    summary_free(&results->summary);
}

/* ---- Printing it ---- */

/* nvprof's sections have an empty line between them. */
static void begin_section(struct report *report)
{
    if (report->begun)
        fputc('\n', report->out.file);
    report->begun = true;
}

static void print_line(const struct report *report, const char *text)
{
    print_prefix(&report->out, report->trace);
    fprintf(report->out.file, "%s\n", text);
}

static void print_top(struct report *report)
{
    if (report->patterns.process) {
        print_prefix(&report->out, report->trace);
        fputs("Process name: ", report->out.file);
        foreign_put_text(report->out.file, report->patterns.process);
        fputc('\n', report->out.file);
    }
    print_head(&report->out, report->trace, report->results.quality, 0, 0);
}

static enum mp_status print_trace_section(struct report *report, struct mp_error *error)
{
    struct traces_options options = {
        .gpu = report->values->gpu_trace,
        .api = report->values->api_trace,
        .style = report->style,
        .patterns = &report->patterns,
        .reported = report->results.quality,
    };
    struct quality quality;

    begin_section(report);
    enum mp_status status = print_traces(&report->out, report->trace, &options, &quality, error);
    quality_free(&quality);
    return status;
}

/* Nothing of these is recorded. */
static void print_openacc(struct report *report)
{
    const struct nvprof_values *values = report->values;

    if (values->openacc_constructs || values->openacc_summary || values->openacc_trace) {
        begin_section(report);
        print_line(report, "OpenACC result:");
        fputs("No OpenACC activities were profiled.\n", report->out.file);
    }
    if (values->openmp_summary) {
        begin_section(report);
        print_line(report, "OpenMP result:");
        fputs("No OpenMP activities were profiled.\n", report->out.file);
    }
}

/* Waiting between threads is not recorded; nvprof printed the same warning. */
static void warn_of_threads(struct report *report)
{
    const struct deps *deps = &report->results.deps;
    uint32_t calling = 0;

    for (uint32_t i = 0; i < deps->thread_count; i++)
        calling += deps->lanes[i].count != 0;
    if (calling < 2 || report->out.format != REPORT_TEXT)
        return;
    print_line(report, "Warning: several threads call CUDA. What they wait for outside CUDA is "
                       "not recorded,");
    fputs("         so the analysis does not see one thread wait for another there.\n",
          report->out.file);
}

static enum mp_status print_dependency_section(struct report *report, bool each,
                                               struct mp_error *error)
{
    struct deps_report deps = {
        .trace = report->trace,
        .deps = &report->results.deps,
        .windows = &report->results.windows,
        .result = &report->results.path,
        .critical = each ? report->results.critical : NULL,
        .section = true,
    };

    begin_section(report);
    warn_of_threads(report);
    enum mp_status status = print_deps(&report->out, &deps);
    return status == MP_OK ? MP_OK : mp_error_set(error, status, "out of memory");
}

static void print_results(struct report *report)
{
    const struct results *results = &report->results;

    if (results->nvtx.range_count) {
        begin_section(report);
        print_nvtx_result(&report->out, report->trace, &results->nvtx);
        report->begun = false; /* an empty line ends each range */
    }
    print_openacc(report);
    if (results->unified.present) {
        begin_section(report);
        print_unified(&report->out, report->trace, &results->unified);
    }
}

static void print_metric_section(struct report *report)
{
    if (!report->results.metrics.asked)
        return;
    begin_section(report);
    print_metrics(&report->out, report->trace, &report->results.metrics);
}

static enum mp_status print_sections(struct report *report, struct mp_error *error)
{
    const struct sections *sections = &report->sections;

    if (sections->summary) {
        begin_section(report);
        print_summary_sections(&report->out, report->trace, &report->results.summary,
                               sections->summary);
    }
    if (sections->traces)
        MP_TRY(print_trace_section(report, error));
    print_results(report);
    if (sections->dependencies)
        MP_TRY(print_dependency_section(report, false, error));
    if (sections->dependency_trace)
        MP_TRY(print_dependency_section(report, true, error));
    print_metric_section(report);
    if (sections->allocations && report->results.allocations.row_count) {
        begin_section(report);
        print_allocations(&report->out, report->trace, &report->results.allocations);
    }
    return MP_OK;
}

enum mp_status nvprof_report(FILE *file, struct mp_trace *trace, const struct nvprof_values *values,
                             bool imported, struct mp_error *error)
{
    static const enum report_units units[] = {REPORT_UNITS_AUTO, REPORT_UNITS_COLUMN,
                                              REPORT_UNITS_NS,   REPORT_UNITS_US,
                                              REPORT_UNITS_MS,   REPORT_UNITS_S};
    struct report *report = calloc(1, sizeof *report);

    if (!report)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    report->out = (struct report_out){.file = file,
                                      .format = values->csv ? REPORT_CSV : REPORT_TEXT,
                                      .units = units[values->units],
                                      .imported = imported,
                                      .nvprof = true};
    report->trace = trace;
    report->values = values;
    report->sections = choose_sections(values);
    report->style = values->demangling == 0 ? NAMES_NVPROF : NAMES_MANGLED;
    enum mp_status status = fill_names(report, error);
    if (status == MP_OK)
        status = report_build(report, error);
    if (status == MP_OK) {
        print_top(report);
        status = print_sections(report, error);
    }
    results_free(&report->results);
    free(report);
    return status;
}

/* ---- Imported traces ----
 *
 * nvprof -i: reads .nvvp files, ours and nvprof's own, and reports on them as on a fresh session.
 */

/* ---- Files ---- */

static bool is_same_file(const char *left, const char *right)
{
    struct stat a;
    struct stat b;

    return stat(left, &a) == 0 && stat(right, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* nvprof prints a file only once if it is named twice. */
static bool is_repeated(const struct option_texts *imports, size_t position)
{
    for (size_t i = 0; i < position; i++) {
        if (is_same_file(imports->items[i], imports->items[position]))
            return true;
    }
    return false;
}

/* An unlinked file in TMPDIR; -1 with errno. */
static int open_unlinked(void)
{
    const char *folder = getenv("TMPDIR");
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/miniprof-XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

struct imported {
    struct mp_trace *trace;
    int converted;         /* a trace made of a file of nvprof's; -1: none */
    char source[PATH_MAX]; /* of the trace */
};

/* A file in nvprof's format is converted to ours first. */
static enum mp_status convert(struct imported *imported, const char *path, struct mp_error *error)
{
    imported->converted = open_unlinked();
    if (imported->converted < 0)
        return mp_error_set(error, MP_ERR_IO,
                            "cannot make a temporary file: %m; TMPDIR names a folder for it");
    snprintf(imported->source, sizeof imported->source, "/proc/self/fd/%d", imported->converted);
    return nvvp_read(path, imported->converted, error);
}

static enum mp_status open_file(struct imported *imported, const char *path, struct mp_error *error)
{
    *imported = (struct imported){.converted = -1};
    if (nvvp_is(path))
        MP_TRY(convert(imported, path, error));
    else if (!mp_text_copy(imported->source, sizeof imported->source, path))
        return mp_error_set(error, MP_ERR_LIMIT, "the file's name is too long");
    return mp_trace_open(imported->source, &imported->trace, error);
}

static void close_file(struct imported *imported)
{
    mp_trace_close(imported->trace);
    if (imported->converted >= 0)
        close(imported->converted);
}

/* ---- What is made of them ---- */

struct importing {
    const struct nvprof_values *values;
    struct nvprof_log log;
    struct nvprof_written written;
};

/* Whether `path` is a file of -i other than `current`, which may be NULL. Writing there would
 * destroy the file before it is read, or it would be read again. */
static bool is_another_import(const struct nvprof_values *values, const char *path,
                              const char *current)
{
    for (size_t i = 0; i < values->imports.count; i++) {
        const char *import = values->imports.items[i];

        if (is_same_file(import, path) && !(current && is_same_file(import, current)))
            return true;
    }
    return false;
}

static enum mp_status export_again(struct importing *importing, const struct imported *imported,
                                   const char *current, struct mp_error *error)
{
    const struct nvprof_values *values = importing->values;
    const char *pid = mp_trace_property(imported->trace, "pid");
    struct nvprof_folder folder;
    char path[PATH_MAX];

    if (!pid)
        pid = "0";
    MP_TRY(nvprof_export_path(values, pid, path, error));
    if (is_another_import(values, path, current))
        return mp_error_set(error, MP_ERR_IO,
                            "'%s' is to be imported: give --export-profile another name", path);
    MP_TRY(nvprof_folder_make(&folder, error));
    enum mp_status status = nvprof_export(values, imported->trace, imported->source, pid, &folder,
                                          &importing->written, path, error);
    nvprof_folder_remove(&folder);
    if (status == MP_OK && importing->log.file)
        fprintf(importing->log.file, "======== Generated result file: %s\n", path);
    return status;
}

static void say_unreadable(FILE *log, const char *path, const struct mp_error *error)
{
    if (strstr(error->text, path))
        nvprof_error(log, "%s", error->text);
    else
        nvprof_error(log, "'%s': %s", path, error->text);
}

/* Returns the exit code. */
static int take_file(struct importing *importing, const char *path)
{
    const struct nvprof_values *values = importing->values;
    FILE *log = importing->log.file;
    struct imported imported;
    struct mp_error error;
    enum mp_status status = open_file(&imported, path, &error);
    int code = NVPROF_EXIT_FINE;

    if (status == MP_OK && log && nvprof_reports(values))
        status = nvprof_report(log, imported.trace, values, true, &error);
    if (status != MP_OK) {
        say_unreadable(log, path, &error);
        code = NVPROF_EXIT_IMPORT;
    } else if (values->export_file && export_again(importing, &imported, path, &error) != MP_OK) {
        nvprof_error(log, "%s", error.text);
        code = NVPROF_EXIT_INTERNAL;
    }
    close_file(&imported);
    return code;
}

static int take_files(struct importing *importing)
{
    const struct option_texts *imports = &importing->values->imports;
    int code = NVPROF_EXIT_FINE;

    for (size_t i = 0; i < imports->count; i++) {
        int one =
            is_repeated(imports, i) ? NVPROF_EXIT_FINE : take_file(importing, imports->items[i]);
        if (one > code)
            code = one;
    }
    return code;
}

/* The log is opened before the files, because -f would empty a file that is both. */
static enum mp_status open_log(struct importing *importing, struct mp_error *error)
{
    const struct nvprof_values *values = importing->values;
    char path[PATH_MAX];

    if (values->log_file && values->force &&
        nvprof_pattern_expand(values->log_file, "0", false, path, sizeof path, error) == MP_OK &&
        is_another_import(values, path, NULL))
        return mp_error_set(error, MP_ERR_IO,
                            "'%s' is to be imported: give --log-file another name", path);
    return nvprof_log_open(&importing->log, values, "0", NULL, error);
}

int nvprof_import(const struct nvprof_values *values)
{
    struct importing importing = {.values = values};
    struct mp_error error;

    if (open_log(&importing, &error) != MP_OK) {
        nvprof_error(stderr, "%s", error.text);
        return NVPROF_EXIT_INTERNAL;
    }
    int code = take_files(&importing);
    nvprof_written_free(&importing.written);
    if (!nvprof_log_close(&importing.log) && code == NVPROF_EXIT_FINE)
        code = NVPROF_EXIT_INTERNAL;
    return code;
}
