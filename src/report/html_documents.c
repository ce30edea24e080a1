#include "report/html_documents.h"

#include "analyze/contents.h"
#include "analyze/nvtx_result.h"
#include "analyze/summary.h"
#include "report/html_analyses.h"
#include "report/print_deps.h"
#include "report/print_info.h"
#include "report/print_nvtx.h"
#include "report/print_summary.h"

#include "base/poison.h"

static struct report_out json_out(FILE *out)
{
    return (struct report_out){.file = out, .format = REPORT_JSON};
}

static enum mp_status print_contents(FILE *out, struct html_material *material,
                                     struct mp_error *error)
{
    const struct report_out report = json_out(out);
    struct contents contents;

    MP_TRY(contents_build(material->trace, &contents, error));
    print_info(&report, material->trace, &contents);
    contents_free(&contents);
    return MP_OK;
}

static enum mp_status print_times(FILE *out, struct html_material *material, struct mp_error *error)
{
    const struct report_out report = json_out(out);
    const struct summary_options options = {
        .range = material->range, .style = material->style, .parts = SUMMARY_PARTS_BOTH};
    struct summary summary;

    MP_TRY(summary_build(material->trace, &options, &summary, error));
    print_summary(&report, material->trace, &summary, options.parts, options.range);
    summary_free(&summary);
    return MP_OK;
}

static enum mp_status print_path(FILE *out, struct html_material *material, struct mp_error *error)
{
    const struct report_out report = json_out(out);
    const struct deps_report deps = {.trace = material->trace,
                                     .deps = &material->deps,
                                     .windows = &material->windows,
                                     .result = &material->result,
                                     .range = material->range,
                                     .parts = true};

    (void)error;
    return print_deps(&report, &deps);
}

static enum mp_status print_ranges(FILE *out, struct html_material *material,
                                   struct mp_error *error)
{
    const struct report_out report = json_out(out);
    const struct nvtx_options options = {.range = material->range, .style = material->style};
    struct nvtx_result result;

    MP_TRY(nvtx_result_build(material->trace, &options, &result, error));
    print_nvtx(&report, material->trace, &result, options.range);
    nvtx_result_free(&result);
    return MP_OK;
}

/* Busy times of one device, of all its work and by kind. */
static enum mp_status json_device(struct json_writer *json, const struct timeline *timeline,
                                  const struct timeline_lane *lane)
{
    static const struct {
        const char *key;
        unsigned categories;
    } sums[] = {
        {"busy_ns", UINT32_MAX},
        {"kernel_busy_ns", 1u << DEPS_KERNEL | 1u << DEPS_GRAPH},
        {"copy_busy_ns", 1u << DEPS_COPY},
        {"set_busy_ns", 1u << DEPS_SET},
    };
    uint64_t busy = 0;

    json_open_object(json);
    json_key_number(json, "device", lane->device);
    json_key_text(json, "name", lane->name);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        MP_TRY(timeline_busy(timeline, lane->device, sums[i].categories, &busy));
        json_key_number(json, sums[i].key, busy);
    }
    json_close_object(json);
    return MP_OK;
}

static bool is_first_of_device(const struct timeline *timeline, size_t lane)
{
    for (size_t i = 0; i < lane; i++) {
        if (!timeline->lanes[i].is_thread &&
            timeline->lanes[i].device == timeline->lanes[lane].device)
            return false;
    }
    return !timeline->lanes[lane].is_thread;
}

/* What the page's first view needs and no command says. */
static enum mp_status print_overview(FILE *out, struct html_material *material,
                                     struct mp_error *error)
{
    const struct timeline *timeline = &material->timeline;
    struct json_writer json;

    (void)error;
    json_begin(&json, out, 2);
    json_open_object(&json);
    json_key_text(&json, "version", MP_VERSION);
    json_key_number(&json, "range", material->range);
    json_key_number(&json, "span_ns", timeline->end - timeline->origin);
    json_key(&json, "devices");
    json_open_array(&json);
    for (size_t i = 0; i < timeline->lane_count; i++) {
        if (is_first_of_device(timeline, i))
            MP_TRY(json_device(&json, timeline, &timeline->lanes[i]));
    }
    json_close_array(&json);
    json_close_object(&json);
    json_end(&json);
    return MP_OK;
}

static enum mp_status print_timeline(FILE *out, struct html_material *material,
                                     struct mp_error *error)
{
    (void)error;
    html_timeline_json(out, &material->timeline, &material->kinds);
    return MP_OK;
}

void html_print_note(FILE *out, const char *text)
{
    struct json_writer json;

    json_begin(&json, out, 1);
    json_open_object(&json);
    json_key_text(&json, "note", text);
    json_close_object(&json);
    json_end(&json);
}

const struct html_document html_documents[] = {
    {"overview", "Overview", print_overview},
    {"iters", "Iterations", html_print_iters},
    {"iterations", "Each iteration", html_print_iterations},
    {"timeline", "Time line", print_timeline},
    {"advise", "Advice", html_print_advise},
    {"layers", "Layers", html_print_layers},
    {"kernels", "Kernels", html_print_kernels},
    {"overlap", "Overlap", html_print_overlap},
    {"memory", "Memory", html_print_memory},
    {"memory_lines", "Memory over time", html_print_memory_lines},
    {"summary", "Summary", print_times},
    {"nvtx", "NVTX ranges", print_ranges},
    {"deps", "Critical path", print_path},
    {"info", "Trace", print_contents},
    {"left_out", "Left out", html_print_left_out},
};

const size_t html_document_count = sizeof html_documents / sizeof *html_documents;
