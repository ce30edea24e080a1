/* Goes through the rows of traces and hands them to a format. What is missing from a trace is
 * reported on stderr, and the rest is written.
 */
#include "export/exports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/terminal.h"

#include "base/poison.h"

struct writing {
    struct export_job *job;
    FILE *out; /* NULL: into a folder */
    void *state;
    int code;
};

int export_cannot_write(struct export_job *job)
{
    job->cannot_write = true;
    return part_folder_stopped() ? EXIT_UNREADABLE : cannot_write(job->command, job->path);
}

/* Says what went wrong in a format or in reading. */
static int fail(const struct writing *writing, const char *path, enum mp_status status,
                struct mp_error *error)
{
    if (!error->status)
        mp_error_set(error, status, "cannot read on: %s", mp_status_name(status));
    return fail_on_trace(writing->job->command, path, error);
}

static int fail_on_output(const struct writing *writing, const struct export_process *process,
                          enum mp_status status, struct mp_error *error)
{
    writing->job->cannot_write = status == MP_ERR_IO;
    return fail(writing, process->who->path, status, error);
}

static int write_rows(struct writing *writing, const struct export_process *process)
{
    const struct export_format *format = writing->job->format;
    struct mp_error error = {.status = MP_OK};
    struct export_row row;
    enum mp_status status;

    while ((status = export_rows_next(process->rows, &row)) == MP_OK) {
        errno = 0;
        status = format->row(writing->state, &row);
        if (status == MP_ERR_IO || part_folder_stopped() || (writing->out && ferror(writing->out)))
            return export_cannot_write(writing->job);
        if (status != MP_OK)
            break;
    }
    return status == MP_END ? EXIT_FINE : fail(writing, process->who->path, status, &error);
}

/* What is missing from the trace. */
static void complain_of_gaps(struct writing *writing, const struct export_process *process)
{
    const struct export_analyses *analyses = export_rows_analyses(process->rows);
    const struct export_job *job = writing->job;
    char text[QUALITY_TEXT_BYTES];

    if (*quality_describe(export_rows_quality(process->rows), text, sizeof text)) {
        complain(job->command, "'%s': %s", process->who->path, text);
        writing->code = EXIT_FINDINGS;
    }
    if (job->options.analyses && !analyses->known)
        complain(job->command, "'%s': without iterations and critical paths: %s",
                 process->who->path, analyses->why_not);
}

static int write_process(struct writing *writing, struct export_process *process)
{
    const struct export_job *job = writing->job;
    struct mp_error error = {.status = MP_OK};
    enum mp_status status = export_rows_open(process->trace, &job->options, &process->rows, &error);

    if (status != MP_OK)
        return fail(writing, process->who->path, status, &error);
    if (job->format->process)
        status = job->format->process(writing->state, process, &error);
    int code =
        status ? fail_on_output(writing, process, status, &error) : write_rows(writing, process);
    if (code == EXIT_FINE && job->format->process_end) {
        status = job->format->process_end(writing->state, &error);
        code = status ? fail_on_output(writing, process, status, &error) : code;
    }
    if (!job->own_progress)
        progress_end();
    if (code == EXIT_FINE)
        complain_of_gaps(writing, process);
    export_rows_close(process->rows);
    return code;
}

static int write_processes(struct writing *writing)
{
    const struct export_job *job = writing->job;
    int code = EXIT_FINE;

    for (size_t i = 0; i < job->count && code < EXIT_USAGE; i++) {
        struct export_process process = {.options = &job->options,
                                         .set = job->set,
                                         .who = &job->processes[i],
                                         .number = i,
                                         .ranks = job->ranks,
                                         .ranks_process = job->ranks_process + (uint32_t)i,
                                         .count = job->count};

        process.trace = open_trace(job->command, process.who->path);
        if (!process.trace)
            return EXIT_UNREADABLE;
        if (!job->own_progress)
            progress_begin(process.who->path);
        code = write_process(writing, &process);
        if (!job->own_progress)
            progress_end();
        mp_trace_close(process.trace);
    }
    return code;
}

static int write_all(struct writing *writing, const char *folder)
{
    const struct export_job *job = writing->job;
    const struct export_format *format = job->format;
    struct mp_error error = {.status = MP_OK};
    enum mp_status status = MP_OK;

    for (size_t i = 0; i < job->setting_count && status == MP_OK; i++)
        status = format->set(writing->state, job->settings[i].name, job->settings[i].value, &error);
    if (status == MP_OK && format->begin)
        status = format->begin(writing->state, writing->out, folder ? folder : job->path,
                               job->count, &error);
    if (status != MP_OK)
        return fail(writing, job->path, status, &error);
    int code = write_processes(writing);
    if (code < EXIT_USAGE && format->end) {
        status = format->end(writing->state, &error);
        if (status != MP_OK)
            code = fail(writing, job->path, status, &error);
    }
    return code >= EXIT_USAGE ? code : writing->code;
}

int export_write(struct export_job *job, FILE *out, const char *folder)
{
    struct writing writing = {.job = job, .out = out, .state = calloc(1, job->format->state_bytes)};

    if (!writing.state) {
        complain(job->command, "out of memory");
        return EXIT_UNREADABLE;
    }
    int code = write_all(&writing, folder);
    if (job->format->release)
        job->format->release(writing.state);
    free(writing.state);
    return code;
}

/* ---- NCCL's operations of a job ---- */

/* They are matched before the processes are exported one by one. What is wrong with a trace is said
 * when it is exported, not here. */

static enum mp_status add_process(const struct trace_set *set, size_t process, struct ranks *ranks,
                                  size_t *added)
{
    struct mp_trace *trace;
    struct mp_error error;
    struct quality quality;
    bool has;
    enum mp_status status = mp_trace_open(set->processes[process].path, &trace, &error);

    if (status != MP_OK)
        return status;
    status = ranks_has_calls(trace, &has, &error);
    if (status == MP_OK && has) {
        status = ranks_add(ranks, trace, (uint32_t)process, ranks_rank_of(set, process), &quality,
                           &error);
        quality_free(&quality);
        *added += status == MP_OK;
    }
    mp_trace_close(trace);
    return status;
}

bool export_match(const struct trace_set *set, struct ranks *ranks)
{
    size_t added = 0;
    enum mp_status status = MP_OK;

    ranks_init(ranks);
    for (size_t i = 0; i < set->count && status != MP_ERR_MEMORY; i++)
        status = add_process(set, i, ranks, &added);
    if (status != MP_ERR_MEMORY && added > 1 && ranks_finish(ranks, set) == MP_OK)
        return true;
    ranks_free(ranks);
    return false;
}
