/* Joins the ranks of a folder for its page, and makes the documents about their job by the printers
 * of the commands.
 */
#include "page/job.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "page/documents.h"
#include "page/page.h"
#include "reports/advise/print.h"
#include "reports/deps/print.h"

#include "base/poison.h"

static enum mp_status print_path(const struct report_out *out, struct html_job *job,
                                 struct job_report *head, struct deps_result *result)
{
    const struct deps *deps = &job->study.job.deps;
    const struct deps_report report = {
        .job = head, .deps = deps, .windows = &job->windows, .result = result, .parts = true};

    for (size_t i = 0; i < job->windows.count; i++) {
        const struct deps_window *window = &job->windows.items[i];

        deps_path(deps, window, result, job->critical);
        head->window += window->end - window->begin;
    }
    return print_deps(out, &report);
}

static enum mp_status follow_path(FILE *file, void *context)
{
    struct html_job *job = context;
    const struct report_out out = {.file = file, .format = REPORT_JSON};
    struct job_report head = {.ranks = &job->ranks};
    struct job_usage usage;
    struct deps_result result;

    job->critical = calloc((size_t)job->study.job.deps.count + 1, sizeof *job->critical);
    if (!job->critical)
        return MP_ERR_MEMORY;
    MP_TRY(deps_result_init(&job->study.job.deps, &result));
    enum mp_status status = job_use(&job->study.job.deps, &job->windows, &usage);
    head.usage = &usage;
    if (status == MP_OK)
        status = print_path(&out, job, &head, &result);
    job_usage_free(&usage);
    deps_result_free(&result);
    return status;
}

static enum mp_status find_advice(FILE *file, void *context)
{
    struct html_job *job = context;
    const struct report_out out = {.file = file, .format = REPORT_JSON};
    const struct job_report head = {.answer = &job->study.answer, .ranks = &job->ranks};
    const struct advise_job_report report = {.job = &head,
                                             .advice = &job->study.advice,
                                             .iterations = job->study.iterations.count,
                                             .rank = job->study.job.deps.ranks[0]};

    if (!job->study.iterations.count) {
        html_print_note(file, job->no_iterations.text);
        return MP_OK;
    }
    print_job_advise(&out, &report);
    return MP_OK;
}

/* From the begin of each kernel of NCCL until its transfer begins. */
static enum mp_status find_peers(struct html_job *job)
{
    const struct job *of = &job->study.job;
    const struct deps *deps = &of->deps;

    job->peers = calloc((size_t)deps->count + 1, sizeof *job->peers);
    if (!job->peers)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < of->ranks->side_count; i++) {
        uint32_t arrival = of->arrivals[i];

        if (arrival == DEPS_NONE || of->until[i] <= of->arrived[i])
            continue;
        uint64_t *peers = &job->peers[of->transfers[i]];
        uint64_t begin = deps->activities[arrival].begin;
        if (of->until[i] > begin + *peers)
            *peers = of->until[i] - begin;
    }
    return MP_OK;
}

enum mp_status html_job_add(struct html_page *page, struct html_job *job)
{
    MP_TRY(find_peers(job));
    MP_TRY(html_page_print(page, "", "job", "Critical path", follow_path, job));
    return html_page_print(page, "", "job_advise", "Findings", find_advice, job);
}

static void give_own(const struct html_job *job, size_t process, const uint64_t *values,
                     uint64_t *own, size_t count)
{
    memset(own, 0, count * sizeof *own);
    for (uint32_t i = 0; i < job->study.job.deps.process_count; i++) {
        if (job_process(&job->study.job, i) == process)
            job_add_to_own(&job->study.job, i, values, own, count);
    }
}

void html_job_path(const struct html_job *job, size_t process, uint64_t *critical, size_t count)
{
    give_own(job, process, job->critical, critical, count);
}

/* ---- Waiting for peers ---- */

struct peers {
    const struct timeline *timeline;
    const struct deps *deps;
    const uint64_t *waiting; /* by activity, ns */
};

static enum mp_status print_peers(FILE *out, void *context)
{
    const struct peers *peers = context;
    const struct timeline *timeline = peers->timeline;
    const struct deps *deps = peers->deps;
    const uint64_t *waiting = peers->waiting;
    struct json_writer json;

    json_open_document(&json, out, 0);
    json_key_array(&json, "events");
    for (uint32_t i = 0; i < deps->count; i++) {
        uint32_t event = waiting[i] ? timeline_event_of(timeline, deps, i) : TIMELINE_NONE;

        if (event != TIMELINE_NONE)
            json_number(&json, event);
    }
    json_close_array(&json);
    json_key_array(&json, "waiting_ns");
    for (uint32_t i = 0; i < deps->count; i++) {
        if (waiting[i] && timeline_event_of(timeline, deps, i) != TIMELINE_NONE)
            json_number(&json, waiting[i]);
    }
    json_close_array(&json);
    json_close_document(&json);
    return MP_OK;
}

enum mp_status html_job_add_peers(struct html_page *page, const struct html_job *job,
                                  size_t process, const struct timeline *timeline,
                                  const struct deps *deps, const char *prefix)
{
    uint64_t *waiting = calloc((size_t)deps->count + 1, sizeof *waiting);
    struct peers peers = {timeline, deps, waiting};
    enum mp_status status = MP_ERR_MEMORY;

    if (waiting) {
        give_own(job, process, job->peers, waiting, deps->count);
        status = html_page_print(page, prefix, "peers", "Waiting for peers", print_peers, &peers);
    }
    free(waiting);
    return status;
}

/* ---- The ranks of a folder ---- */

/* Without iterations there are no findings, and the page says why. */
static enum mp_status find_iterations(struct job_page *page, const struct job_page_options *options)
{
    const struct iterations_options by = {.range = options->range};
    enum mp_status status =
        matched_iterations(&page->matched, &page->job.study.job, &by, &page->job.study.iterations,
                           &page->job.no_iterations);

    return status == MP_ERR_MEMORY ? status : MP_OK;
}

static enum mp_status join(struct job_page *page, const struct job_page_options *options,
                           struct mp_error *error)
{
    const struct deps_options graph = {.style = options->style, .fronts = true};
    struct html_job *job = &page->job;

    MP_TRY(matched_join(&page->matched, &graph, &job->study.job, error));
    MP_TRY(job_windows(&job->study.job, options->range, &job->windows, error));
    enum mp_status status = find_iterations(page, options);
    if (status == MP_OK && job->study.iterations.count)
        status = job_study_answer(&page->matched, &job->study);
    job->ranks = matched_report(&page->matched);
    job->waits = page->matched.peers;
    return mp_error_from(error, status, "cannot analyse the job");
}

bool job_page_open(struct job_page *page, const struct job_page_options *options, int count,
                   char **arguments, int *code)
{
    struct mp_error error;

    page->job = (struct html_job){.critical = NULL};
    if (!matched_is_job(&page->matched, options->command, count, arguments, options->one_clock)) {
        *code = worse_code(*code, page->matched.code);
        return false;
    }
    matched_complain(&page->matched);
    enum mp_status status = join(page, options, &error);
    if (status != MP_OK) {
        complain(options->command, "the page has nothing of the job: %s", error.text);
        matched_worsen(&page->matched, EXIT_FINDINGS);
    }
    *code = worse_code(*code, page->matched.code);
    return status == MP_OK;
}

void job_page_close(struct job_page *page)
{
    deps_windows_free(&page->job.windows);
    free(page->job.critical);
    free(page->job.peers);
    job_study_free(&page->job.study);
    matched_free(&page->matched);
}
