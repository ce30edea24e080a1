#include "report/html_report.h"

#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/deps.h"
#include "analyze/nvtx_result.h"
#include "analyze/summary.h"
#include "analyze/timeline.h"
#include "report/html_page.h"
#include "report/html_timeline.h"
#include "report/print_deps.h"
#include "report/print_info.h"
#include "report/print_nvtx.h"
#include "report/print_summary.h"

#include "base/poison.h"

/* What documents are made of. The event graph is read once, for two of them. */
struct material {
    struct mp_trace *trace;
    const struct html_report_options *options;
    struct deps deps;
    struct deps_windows windows;
    struct deps_result result;
    uint64_t *critical; /* by activity, ns */
    struct timeline timeline;
    struct html_kinds kinds;
    struct mp_buffer blob;
};

/* ---- Documents ---- */

static struct report_out json_out(FILE *out)
{
    return (struct report_out){.file = out, .format = REPORT_JSON};
}

static enum mp_status print_contents(FILE *out, struct material *material, struct mp_error *error)
{
    const struct report_out report = json_out(out);
    struct contents contents;

    MP_TRY(contents_build(material->trace, &contents, error));
    print_info(&report, material->trace, &contents);
    contents_free(&contents);
    return MP_OK;
}

static enum mp_status print_times(FILE *out, struct material *material, struct mp_error *error)
{
    const struct report_out report = json_out(out);
    const struct summary_options options = {.range = material->options->range,
                                            .style = material->options->style,
                                            .parts = SUMMARY_PARTS_BOTH};
    struct summary summary;

    MP_TRY(summary_build(material->trace, &options, &summary, error));
    print_summary(&report, material->trace, &summary, options.parts, options.range);
    summary_free(&summary);
    return MP_OK;
}

static enum mp_status print_path(FILE *out, struct material *material, struct mp_error *error)
{
    const struct report_out report = json_out(out);
    const struct deps_report deps = {.trace = material->trace,
                                     .deps = &material->deps,
                                     .windows = &material->windows,
                                     .result = &material->result,
                                     .range = material->options->range,
                                     .parts = true};

    (void)error;
    return print_deps(&report, &deps);
}

static enum mp_status print_ranges(FILE *out, struct material *material, struct mp_error *error)
{
    const struct report_out report = json_out(out);
    const struct nvtx_options options = {.range = material->options->range,
                                         .style = material->options->style};
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
static enum mp_status print_overview(FILE *out, struct material *material, struct mp_error *error)
{
    const struct timeline *timeline = &material->timeline;
    struct json_writer json;

    (void)error;
    json_begin(&json, out, 2);
    json_open_object(&json);
    json_key_text(&json, "version", MP_VERSION);
    json_key_number(&json, "range", material->options->range);
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

static enum mp_status print_timeline(FILE *out, struct material *material, struct mp_error *error)
{
    (void)error;
    html_timeline_json(out, &material->timeline, &material->kinds);
    return MP_OK;
}

/* The documents in the order in which the page offers them; `overview` and `timeline` have views of
 * their own. */
static const struct section {
    const char *id;
    const char *title;
    enum mp_status (*print)(FILE *out, struct material *material, struct mp_error *error);
} sections[] = {
    {"overview", "Overview", print_overview}, {"timeline", "Time line", print_timeline},
    {"summary", "Summary", print_times},      {"nvtx", "NVTX ranges", print_ranges},
    {"deps", "Critical path", print_path},    {"info", "Trace", print_contents},
};

static void print_note(FILE *out, const char *text)
{
    struct json_writer json;

    json_begin(&json, out, 1);
    json_open_object(&json);
    json_key_text(&json, "note", text);
    json_close_object(&json);
    json_end(&json);
}

/* Prints a document into memory: a page has all of it or a note. */
static enum mp_status add_section(struct html_page *page, const struct section *section,
                                  struct material *material)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    struct mp_error error = {.status = MP_OK};
    enum mp_status status;

    if (!memory)
        return MP_ERR_MEMORY;
    status = section->print(memory, material, &error);
    if (status) {
        rewind(memory);
        print_note(memory, error.status ? error.text : mp_status_name(status));
    }
    status = ferror(memory) ? MP_ERR_MEMORY : MP_OK;
    if (fclose(memory) != 0)
        status = MP_ERR_MEMORY;
    if (!status)
        html_page_json(page, section->id, section->title, text, bytes);
    free(text);
    return status;
}

/* ---- What they are made of ---- */

static enum mp_status find_path(struct material *material)
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

static enum mp_status load(struct material *material, struct mp_error *error)
{
    const struct html_report_options *options = material->options;
    const struct deps_options graph = {.style = options->style};
    struct timeline_options lines = {.style = options->style, .most = options->events};

    MP_TRY(deps_load(material->trace, &graph, &material->deps, error));
    MP_TRY(deps_windows_ranges(&material->deps, options->range, &material->windows, error));
    MP_TRY(find_path(material));
    lines.range = options->range ? ranges_find(&material->deps.ranges, options->range) : NULL;
    MP_TRY(timeline_build(&material->timeline, material->trace, &material->deps, &lines, error));
    MP_TRY(html_kinds_build(&material->kinds, &material->timeline));
    return html_timeline_pack(&material->blob, &material->timeline, &material->deps,
                              &material->kinds, material->critical);
}

static void unload(struct material *material)
{
    mp_buffer_free(&material->blob);
    html_kinds_free(&material->kinds);
    timeline_free(&material->timeline);
    free(material->critical);
    deps_result_free(&material->result);
    deps_windows_free(&material->windows);
    deps_free(&material->deps);
}

static enum mp_status write_page(FILE *out, struct material *material, struct mp_error *error)
{
    struct html_page page;

    MP_TRY(html_page_begin(&page, out, error));
    MP_TRY(load(material, error));
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        MP_TRY(add_section(&page, &sections[i], material));
    html_page_blob(&page, "timeline", material->blob.data, material->blob.size);
    html_page_end(&page);
    return MP_OK;
}

enum mp_status html_report_write(FILE *out, struct mp_trace *trace,
                                 const struct html_report_options *options,
                                 struct html_report_result *result, struct mp_error *error)
{
    struct material material = {.trace = trace, .options = options};
    enum mp_status status;

    *error = (struct mp_error){.status = MP_OK};
    status = write_page(out, &material, error);
    *result = (struct html_report_result){
        .events = material.timeline.event_count,
        .left_out = material.timeline.left_out_late + material.timeline.left_out_deep,
        .whole = quality_is_whole(&material.deps.quality),
    };
    unload(&material);
    if (status && !error->status)
        mp_error_set(error, status, "cannot make a page: %s", mp_status_name(status));
    return status;
}
