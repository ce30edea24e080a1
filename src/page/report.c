/* Puts the part of a page about one trace together, a page of that part alone, and a page of
 * several processes. Each document is printed into memory first, so that the page holds the whole
 * document, or a note that says why the trace has none. If there is no memory for a document, there
 * is no page. Of several processes only one trace is open at a time.
 */
#include "page/report.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text/json.h"
#include "page/documents.h"
#include "page/page.h"
#include "reports/common/quality.h"

#include "base/poison.h"

struct printing {
    const struct html_document *document;
    struct html_material *material;
};

/* A document that fails becomes a note. */
static enum mp_status print_document(FILE *out, void *context)
{
    const struct printing *printing = context;
    const struct deps *deps = &printing->material->deps;
    struct mp_error error = {.status = MP_OK};
    enum mp_status status;

    if (printing->document->needs_times && quality_gap(&deps->quality))
        status = mp_error_set(&error, MP_ERR_ARGUMENT, "%s", quality_gap(&deps->quality)->why);
    else
        status = printing->document->print(out, printing->material, &error);
    if (!status || status == MP_ERR_MEMORY)
        return status;
    rewind(out);
    html_print_note(out, error.status ? error.text : mp_status_name(status));
    return MP_OK;
}

/* ---- What they are made of ---- */

static enum mp_status find_path(struct html_material *material)
{
    MP_TRY(deps_result_init(&material->deps, &material->result));
    material->critical = calloc((size_t)material->deps.count + 1, sizeof *material->critical);
    if (!material->critical)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < material->windows.count; i++)
        deps_path(&material->deps, &material->windows.items[i], &material->result,
                  material->critical);
    return MP_OK;
}

static enum mp_status load(struct html_material *material, uint64_t events, struct mp_error *error)
{
    const struct deps_options graph = {
        .style = material->style, .fronts = true, .check = true, .peers = material->peers};
    struct timeline_options lines = {.style = material->style, .max = events};

    MP_TRY(deps_load(material->trace, &graph, &material->deps, error));
    material->deps.quality.only = material->range;
    MP_TRY(recording_cost_lay(&material->deps, material->trace));
    MP_TRY(deps_windows_ranges(&material->deps, material->range, &material->windows, error));
    MP_TRY(html_iterations_find(material, error));
    lines.range =
        material->range ? ranges_find(&material->deps.profile->ranges, material->range) : NULL;
    MP_TRY(timeline_build(&material->timeline, material->trace, &material->deps, &lines, error));
    MP_TRY(find_path(material));
    html_advise(material);
    return html_kinds_build(&material->kinds, &material->timeline);
}

static void unload(struct html_material *material)
{
    html_kinds_free(&material->kinds);
    timeline_free(&material->timeline);
    html_iterations_free(material);
    memory_free(&material->memory);
    counters_lines_free(&material->counters);
    free(material->critical);
    deps_result_free(&material->result);
    deps_windows_free(&material->windows);
    deps_free(&material->deps);
}

/* Adds a blob that was packed with `status`, and gives it back. */
static enum mp_status add_blob(struct html_page *page, const char *prefix, const char *name,
                               struct mp_buffer *blob, enum mp_status status)
{
    char id[HTML_ID_BYTES];

    snprintf(id, sizeof id, "%s%s", prefix, name);
    if (!status)
        html_page_blob(page, id, blob->data, blob->size);
    mp_buffer_free(blob);
    return status;
}

static enum mp_status add_columns(struct html_page *page, const struct html_material *material,
                                  const char *prefix)
{
    struct mp_buffer blob = {.data = NULL};
    enum mp_status status = html_timeline_pack(&blob, &material->timeline, &material->deps,
                                               &material->kinds, material->critical);

    MP_TRY(add_blob(page, prefix, "timeline", &blob, status));
    if (!material->counters.count)
        return MP_OK;
    status = html_pack_counter_lines(&blob, &material->counters, material->timeline.origin);
    return add_blob(page, prefix, "counter_lines", &blob, status);
}

static enum mp_status write_part(struct html_page *page, struct html_material *material,
                                 const struct html_report_options *options, const char *prefix,
                                 struct mp_error *error)
{
    MP_TRY(load(material, options->events, error));
    for (size_t i = 0; i < html_document_count; i++) {
        struct printing printing = {&html_documents[i], material};

        MP_TRY(html_page_print(page, prefix, html_documents[i].id, html_documents[i].title,
                               print_document, &printing));
    }
    if (options->job) {
        html_job_path(options->job, options->process, material->critical, material->deps.count);
        MP_TRY(html_job_add_peers(page, options->job, options->process, &material->timeline,
                                  &material->deps, prefix));
    }
    return add_columns(page, material, prefix);
}

/* How long kernels of NCCL in the trace waited; NULL: it is none of a job. */
static const struct peer_waits *waits_of(const struct html_report_options *options)
{
    const struct peer_waits *waits = options->job ? options->job->waits : NULL;

    return waits && waits[options->process].items ? &waits[options->process] : NULL;
}

/* Adds the documents and the blob of one trace to a page. */
static enum mp_status report_part(struct html_page *page, struct mp_trace *trace,
                                  const struct html_report_options *options, const char *prefix,
                                  struct html_report_result *result, struct mp_error *error)
{
    struct html_material material = {
        .trace = trace,
        .range = options->range,
        .style = options->style,
        .peers = waits_of(options),
    };

    *error = (struct mp_error){.status = MP_OK};
    enum mp_status status = write_part(page, &material, options, prefix, error);
    *result = (struct html_report_result){
        .events = material.timeline.event_count,
        .left_out = material.timeline.left_out_late + material.timeline.left_out_deep,
    };
    quality_describe(&material.deps.quality, result->warning, sizeof result->warning);
    unload(&material);
    if (status && !error->status)
        mp_error_set(error, status, "cannot make a page: %s", mp_status_name(status));
    return status;
}

enum mp_status html_report_write(FILE *out, struct mp_trace *trace,
                                 const struct html_report_options *options,
                                 struct html_report_result *result, struct mp_error *error)
{
    struct html_page page;

    *result = (struct html_report_result){.events = 0};
    MP_TRY(html_page_begin(&page, out, error));
    MP_TRY(report_part(&page, trace, options, "", result, error));
    return html_page_end(&page, error);
}

/* ---- Several processes ---- */

static size_t shown_of(const struct trace_set *set)
{
    return set->count < HTML_MAX_PROCESSES ? set->count : HTML_MAX_PROCESSES;
}

static void json_processes(struct json_writer *json, const struct trace_set *set)
{
    json_key_array(json, "processes");
    for (size_t i = 0; i < shown_of(set); i++) {
        const struct trace_process *process = &set->processes[i];

        json_open_object(json);
        json_process(json, process);
        JSON_FACTS(json, FACT("offset_ns", process->offset), FACT("records", process->records),
                   FLAG("whole", trace_process_is_whole(process)));
        json_close_object(json);
    }
    json_close_array(json);
}

static enum mp_status print_processes(FILE *out, void *context)
{
    const struct trace_set *set = *(const struct trace_set **)context;
    char clocks[TRACE_SET_CLOCKS_BYTES];
    struct json_writer json;

    json_open_document(&json, out, 2);
    JSON_FACTS(&json, FACT("clocks", trace_set_describe_clocks(set, clocks, sizeof clocks)),
               FACT("left_out", set->count - shown_of(set)));
    json_processes(&json, set);
    json_close_document(&json);
    return MP_OK;
}

static enum mp_status add_part(struct html_page *page, const struct trace_set *set, size_t number,
                               const struct html_set_options *options, struct mp_error *error)
{
    const struct trace_process *process = &set->processes[number];
    struct html_report_options report = options->report;
    struct html_report_result result;
    struct mp_trace *trace = options->open(options->context, process->path);
    char prefix[HTML_ID_BYTES / 2];

    if (!trace)
        return MP_ERR_IO;
    report.events = options->report.events / shown_of(set);
    report.process = number;
    snprintf(prefix, sizeof prefix, "p%zu_", number + 1);
    enum mp_status status = report_part(page, trace, &report, prefix, &result, error);
    mp_trace_close(trace);
    if (status == MP_OK)
        options->written(options->context, process, &result);
    return status;
}

enum mp_status html_set_write(FILE *out, const struct trace_set *set,
                              const struct html_set_options *options,
                              const struct trace_process **failed, struct mp_error *error)
{
    struct html_page page;

    *error = (struct mp_error){.status = MP_OK};
    *failed = set->processes;
    MP_TRY(html_page_begin(&page, out, error));
    MP_TRY(html_page_print(&page, "", "processes", "Processes", print_processes, &set));
    if (options->report.job)
        MP_TRY(html_job_add(&page, options->report.job));
    for (size_t i = 0; i < shown_of(set); i++) {
        *failed = &set->processes[i];
        MP_TRY(add_part(&page, set, i, options, error));
    }
    return html_page_end(&page, error);
}
