/* The documents of a page about one trace. Each is what a command prints with --json, made by the
 * same printer, so the page and the command cannot differ.
 */
#include "page/documents.h"

#include <stdlib.h>

#include "base/data/map.h"
#include "reports/deps/print.h"
#include "reports/nvtx/nvtx.h"
#include "reports/summary/print.h"
#include "reports/summary/summary.h"

#include "base/poison.h"

static struct report_out json_out(FILE *out)
{
    return (struct report_out){.file = out, .format = REPORT_JSON};
}

static enum mp_status print_contents(FILE *out, struct html_material *material,
                                     struct mp_error *error)
{
    const struct report_out report = json_out(out);

    return print_info(&report, material->deps.profile, error);
}

static enum mp_status print_times(FILE *out, struct html_material *material, struct mp_error *error)
{
    const struct report_out report = json_out(out);
    const struct summary_options options = {.range = material->range,
                                            .style = material->style,
                                            .parts = SUMMARY_PARTS_BOTH,
                                            .ranges = &material->deps.profile->ranges};
    struct summary summary;

    MP_TRY(summary_build(material->trace, &options, &summary, error));
    print_summary(&report, material->trace, &summary, options.parts, options.range);
    summary_free(&summary);
    return MP_OK;
}

static enum mp_status print_path(FILE *out, struct html_material *material, struct mp_error *error)
{
    const struct report_out report = json_out(out);
    struct stacks_gaps gaps;
    const struct deps_report deps = {.trace = material->trace,
                                     .deps = &material->deps,
                                     .windows = &material->windows,
                                     .result = &material->result,
                                     .gaps = &gaps,
                                     .range = material->range,
                                     .parts = true};
    enum mp_status status =
        stacks_gaps_of_paths(material->trace, &material->deps, &material->windows, &gaps, error);

    gaps.count = html_at_most(material, "deps", HTML_MAX_CALLERS, gaps.count);
    if (!status)
        status = print_deps(&report, &deps);
    stacks_gaps_free(&gaps);
    return status;
}

static enum mp_status print_ranges(FILE *out, struct html_material *material,
                                   struct mp_error *error)
{
    const struct report_out report = json_out(out);
    const struct nvtx_options options = {.range = material->range, .style = material->style};
    struct nvtx_result result;

    MP_TRY(nvtx_result_build(material->deps.profile, &options, &result, error));
    print_nvtx(&report, material->trace, &result, options.range);
    nvtx_result_free(&result);
    return MP_OK;
}

/* Busy times of one device, of all its work and by kind; null if kernels have no times. */
static enum mp_status json_device(struct json_writer *json, const struct timeline *timeline,
                                  const struct timeline_lane *lane, bool has_times)
{
    static const struct {
        const char *key;
        unsigned categories;
    } sums[] = {
        {"busy_ns", ~(1u << DEPS_HOST_FUNCTION)},
        {"kernel_busy_ns", 1u << DEPS_KERNEL | 1u << DEPS_GRAPH},
        {"copy_busy_ns", 1u << DEPS_COPY},
        {"set_busy_ns", 1u << DEPS_SET},
    };
    uint64_t busy = 0;

    json_open_object(json);
    JSON_FACTS(json, FACT("device", lane->device), FACT("name", lane->name));
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        MP_TRY(timeline_busy(timeline, lane->device, sums[i].categories, &busy));
        JSON_FACTS(json, FACT_IF(sums[i].key, has_times, busy));
    }
    json_close_object(json);
    return MP_OK;
}

/* The first lane of each device, in order; *count of them. `lanes` has room for all lanes. */
static enum mp_status find_devices(const struct timeline *timeline, uint32_t *lanes, size_t *count)
{
    struct mp_map seen = {.count = 0};
    enum mp_status status = MP_OK;

    *count = 0;
    for (uint32_t i = 0; i < timeline->lane_count && !status; i++) {
        const struct timeline_lane *lane = &timeline->lanes[i];

        if (lane->is_thread || mp_map_get(&seen, lane->device) != MP_MAP_ABSENT)
            continue;
        lanes[(*count)++] = i;
        status = mp_map_put(&seen, lane->device, i);
    }
    mp_map_free(&seen);
    return status;
}

/* Each device walks over all tracks, so the number of devices is limited. */
static enum mp_status json_devices(struct json_writer *json, struct html_material *material)
{
    const struct timeline *timeline = &material->timeline;
    uint32_t *lanes = calloc(timeline->lane_count + 1, sizeof *lanes);
    size_t count = 0;
    enum mp_status status = lanes ? find_devices(timeline, lanes, &count) : MP_ERR_MEMORY;

    json_key_array(json, "devices");
    count = html_at_most(material, "overview", HTML_MAX_DEVICES, count);
    for (size_t i = 0; i < count && !status; i++)
        status = json_device(json, timeline, &timeline->lanes[lanes[i]],
                             !quality_gap(&material->deps.quality));
    json_close_array(json);
    free(lanes);
    return status;
}

enum mp_status html_print_overview(FILE *out, struct html_material *material,
                                   struct mp_error *error)
{
    const struct timeline *timeline = &material->timeline;
    struct json_writer json;

    (void)error;
    json_open_document(&json, out, 2);
    JSON_FACTS(&json, FACT("version", MP_VERSION), FACT("range", material->range),
               FACT("span_ns", timeline->end - timeline->origin));
    enum mp_status status = json_devices(&json, material);
    json_close_document(&json);
    return status;
}

static enum mp_status print_timeline(FILE *out, struct html_material *material,
                                     struct mp_error *error)
{
    (void)error;
    html_timeline_json(out, &material->timeline, &material->kinds);
    return MP_OK;
}

const struct html_document html_documents[] = {
    {"overview", "Overview", html_print_overview, false},
    {"iters", "Iterations", html_print_iters, false},
    {"iterations", "Each iteration", html_print_iterations, false},
    {"timeline", "Time line", print_timeline, false},
    {"advise", "Advice", html_print_advise, false},
    {"layers", "Layers", html_print_layers, true},
    {"stacks", "Stacks", html_print_stacks, false},
    {"kernels", "Kernels", html_print_kernels, false},
    {"overlap", "Overlap", html_print_overlap, true},
    {"memory", "Memory", html_print_memory, false},
    {"memory_lines", "Memory over time", html_print_memory_lines, false},
    {"counter_lines", "Counters over time", html_print_counter_lines, false},
    {"summary", "Summary", print_times, false},
    {"nvtx", "NVTX ranges", print_ranges, false},
    {"deps", "Critical path", print_path, true},
    {"info", "Trace", print_contents, false},
    {"left_out", "Left out", html_print_left_out, false},
};

const size_t html_document_count = sizeof html_documents / sizeof *html_documents;
