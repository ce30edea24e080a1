/* The documents of a page about a job, made by the printers of the commands.
 */
#include "page/page.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/memory_file.h"
#include "page/documents.h"
#include "reports/advise/print.h"
#include "reports/deps/print.h"

#include "base/poison.h"

static enum mp_status print_path(const struct report_out *out, struct html_job *job,
                                 struct job_report *head, struct deps_result *result)
{
    const struct deps *deps = &job->job.deps;
    const struct deps_report report = {
        .job = head, .deps = deps, .windows = &job->windows, .result = result, .parts = true};

    for (size_t i = 0; i < job->windows.count; i++) {
        const struct deps_window *window = &job->windows.items[i];

        deps_path(deps, window, result, job->critical);
        head->window += window->end - window->begin;
    }
    return print_deps(out, &report);
}

static enum mp_status follow_path(const struct report_out *out, struct html_job *job,
                                  const struct job_report *head)
{
    struct job_report own = *head;
    struct job_usage usage;
    struct deps_result result;
    enum mp_status status;

    job->critical = calloc((size_t)job->job.deps.count + 1, sizeof *job->critical);
    if (!job->critical)
        return MP_ERR_MEMORY;
    MP_TRY(deps_result_init(&job->job.deps, &result));
    status = job_use(&job->job.deps, &job->windows, &usage);
    own.usage = &usage;
    if (status == MP_OK)
        status = print_path(out, job, &own, &result);
    job_usage_free(&usage);
    deps_result_free(&result);
    return status;
}

static enum mp_status find_advice(const struct report_out *out, struct html_job *job,
                                  const struct job_report *head)
{
    struct advice advice;
    const struct advise_job_report report = {.job = head,
                                             .advice = &advice,
                                             .iterations = job->iterations.count,
                                             .rank = job->job.deps.ranks[0]};

    if (!job->iterations.count) {
        html_print_note(out->file, job->no_iterations.text);
        return MP_OK;
    }
    MP_TRY(job_advise(&job->job, &job->iterations, &advice));
    print_job_advise(out, &report);
    advise_free(&advice);
    return MP_OK;
}

static enum mp_status add(struct html_page *page, struct html_job *job, const char *id,
                          const char *title,
                          enum mp_status (*print)(const struct report_out *, struct html_job *,
                                                  const struct job_report *))
{
    const struct job_report head = {.ranks = &job->ranks};
    char *text = NULL;
    size_t bytes = 0;
    const struct report_out out = {.file = memory_file_open(&text, &bytes), .format = REPORT_JSON};
    enum mp_status status;

    if (!out.file)
        return MP_ERR_MEMORY;
    status = print(&out, job, &head);
    if (fclose(out.file) != 0)
        status = MP_ERR_MEMORY;
    if (status == MP_OK)
        html_page_json(page, id, title, text, bytes);
    free(text);
    return status;
}

/* From the begin of each kernel of NCCL until its transfer begins. */
static enum mp_status find_peers(struct html_job *job)
{
    const struct job *of = &job->job;
    const struct deps *deps = &of->deps;

    job->peers = calloc((size_t)deps->count + 1, sizeof *job->peers);
    if (!job->peers)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < of->ranks->side_count; i++) {
        uint32_t arrival = of->arrivals[i];
        uint64_t begin, *peers;

        if (arrival == DEPS_NONE || of->until[i] <= of->arrived[i])
            continue;
        peers = &job->peers[of->transfers[i]];
        begin = deps->activities[arrival].begin;
        if (of->until[i] > begin + *peers)
            *peers = of->until[i] - begin;
    }
    return MP_OK;
}

enum mp_status html_job_add(struct html_page *page, struct html_job *job)
{
    MP_TRY(find_peers(job));
    MP_TRY(add(page, job, "job", "Critical path", follow_path));
    return add(page, job, "job_advise", "Findings", find_advice);
}

static void give_own(const struct html_job *job, size_t process, const uint64_t *values,
                     uint64_t *own, size_t count)
{
    memset(own, 0, count * sizeof *own);
    for (uint32_t i = 0; i < job->job.deps.process_count; i++) {
        if (job_process(&job->job, i) == process)
            job_add_to_own(&job->job, i, values, own, count);
    }
}

void html_job_path(const struct html_job *job, size_t process, uint64_t *critical, size_t count)
{
    give_own(job, process, job->critical, critical, count);
}

/* ---- Waiting for peers ---- */

static void print_peers(FILE *out, const struct timeline *timeline, const struct deps *deps,
                        const uint64_t *peers)
{
    struct json_writer json;

    json_open_document(&json, out, 0);
    json_key_array(&json, "events");
    for (uint32_t i = 0; i < deps->count; i++) {
        uint32_t event = peers[i] ? timeline_event_of(timeline, deps, i) : TIMELINE_NONE;

        if (event != TIMELINE_NONE)
            json_number(&json, event);
    }
    json_close_array(&json);
    json_key_array(&json, "waiting_ns");
    for (uint32_t i = 0; i < deps->count; i++) {
        if (peers[i] && timeline_event_of(timeline, deps, i) != TIMELINE_NONE)
            json_number(&json, peers[i]);
    }
    json_close_array(&json);
    json_close_document(&json);
}

static enum mp_status add_peers(struct html_page *page, const struct timeline *timeline,
                                const struct deps *deps, const uint64_t *peers, const char *prefix)
{
    char id[HTML_ID_BYTES];
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = memory_file_open(&text, &bytes);

    if (!memory)
        return MP_ERR_MEMORY;
    print_peers(memory, timeline, deps, peers);
    if (fclose(memory) != 0) {
        free(text);
        return MP_ERR_MEMORY;
    }
    snprintf(id, sizeof id, "%speers", prefix);
    html_page_json(page, id, "Waiting for peers", text, bytes);
    free(text);
    return MP_OK;
}

enum mp_status html_job_add_peers(struct html_page *page, const struct html_job *job,
                                  size_t process, const struct timeline *timeline,
                                  const struct deps *deps, const char *prefix)
{
    uint64_t *peers = calloc((size_t)deps->count + 1, sizeof *peers);
    enum mp_status status = MP_ERR_MEMORY;

    if (peers) {
        give_own(job, process, job->peers, peers, deps->count);
        status = add_peers(page, timeline, deps, peers, prefix);
    }
    free(peers);
    return status;
}
