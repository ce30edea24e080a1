/* A page of several processes: who they were and how their clocks lie, then the part of each, made
 * one behind the other, so that only one trace is open at a time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/data/memory_file.h"
#include "base/text/json_write.h"
#include "page/page.h"
#include "page/report.h"
#include "reports/common/set.h"

#include "base/poison.h"

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

static enum mp_status add_processes(struct html_page *page, const struct trace_set *set)
{
    char clocks[TRACE_SET_CLOCKS_BYTES];
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = memory_file_open(&text, &bytes);
    struct json_writer json;

    if (!memory)
        return MP_ERR_MEMORY;
    json_open_document(&json, memory, 2);
    JSON_FACTS(&json, FACT("clocks", trace_set_describe_clocks(set, clocks, sizeof clocks)),
               FACT("left_out", set->count - shown_of(set)));
    json_processes(&json, set);
    json_close_document(&json);
    if (fclose(memory) != 0) {
        free(text);
        return MP_ERR_MEMORY;
    }
    html_page_json(page, "processes", "Processes", text, bytes);
    free(text);
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
    enum mp_status status;

    if (!trace)
        return MP_ERR_IO;
    report.events = options->report.events / shown_of(set);
    report.process = number;
    snprintf(prefix, sizeof prefix, "p%zu_", number + 1);
    status = html_report_part(page, trace, &report, prefix, &result, error);
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
    MP_TRY(add_processes(&page, set));
    if (options->report.job)
        MP_TRY(html_job_add(&page, options->report.job));
    for (size_t i = 0; i < shown_of(set); i++) {
        *failed = &set->processes[i];
        MP_TRY(add_part(&page, set, i, options, error));
    }
    return html_page_end(&page, error);
}
