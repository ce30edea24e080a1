/* Runs the analyses of a trace one after the other and keeps what their reports begin with. What
 * they need while they run is given back before the digest is handed over.
 */
#include "reports/digest/digest.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/identity.h"
#include "profile/ranges.h"
#include "reports/deps/deps.h"
#include "reports/summary/summary.h"

#include "base/poison.h"

/* What the analyses found; zeroed, it holds nothing. */
struct digest_material {
    struct mp_trace *trace;
    const struct digest_options *options;
    struct trace_study trace_study;
    struct advice advice;
    struct summary summary;
};

/* Sets *copy to a copy of `text` that the digest owns; NULL stays NULL. MP_ERR_MEMORY. */
static inline enum mp_status digest_copy(struct digest *digest, const char *text, const char **copy)
{
    *copy = text ? mp_arena_copy(&digest->text, text, strlen(text)) : NULL;
    return text && !*copy ? MP_ERR_MEMORY : MP_OK;
}

/* ---- What was recorded, and how whole it is ----
 *
 * The header of the trace, its capture ranges and its counters.
 */

static uint64_t number_of(const struct mp_trace *trace, const char *key, uint64_t unknown)
{
    property_number(trace, key, UINT64_MAX, &unknown);
    return unknown;
}

/* NULL also for an empty one. */
static enum mp_status copy_property(struct digest *digest, const struct mp_trace *trace,
                                    const char *key, const char **copy)
{
    const char *text = mp_trace_property(trace, key);

    return digest_copy(digest, text && *text ? text : NULL, copy);
}

/* ---- Devices ---- */

static bool has_device(const struct digest_recording *recording, uint64_t ordinal)
{
    for (size_t i = 0; i < recording->device_count; i++) {
        if (recording->devices[i].ordinal == ordinal)
            return true;
    }
    return false;
}

static enum mp_status add_device(struct digest *digest, const struct definitions *definitions,
                                 uint64_t ordinal)
{
    struct digest_recording *recording = &digest->recording;
    const struct definition_device *device = dense_at(&definitions->devices, ordinal);

    if (has_device(recording, ordinal))
        return MP_OK;
    if (recording->device_count == DIGEST_DEVICES) {
        recording->devices_left++;
        return MP_OK;
    }
    struct digest_device *into = &recording->devices[recording->device_count++];
    into->ordinal = ordinal;
    if (!device || !device->defined)
        return MP_OK;
    return digest_copy(digest, definitions_text(definitions, device->name), &into->name);
}

/* Those whose streams have work. */
static enum mp_status take_devices(const struct digest_material *material, struct digest *digest)
{
    const struct deps *deps = &material->trace_study.deps;
    struct digest_recording *recording = &digest->recording;

    for (uint32_t i = deps->thread_count; i < deps->lane_count; i++) {
        if (deps->lanes[i].count)
            MP_TRY(add_device(digest, &deps->profile->definitions, deps->lanes[i].device));
    }
    qsort(recording->devices, recording->device_count, sizeof *recording->devices, mp_compare_u64);
    return MP_OK;
}

/* ---- The recording ---- */

static void take_ranges(const struct digest_material *material, struct digest_recording *recording)
{
    const struct capture_ranges *ranges = &material->trace_study.deps.profile->ranges;

    recording->ranges = ranges_count(ranges);
    recording->range = material->options->iterations.range;
    for (size_t i = 0; i < recording->ranges; i++) {
        const struct capture_range *range = dense_at(&ranges->items, i);

        if (recording->range && range->id != recording->range)
            continue;
        if (range->end_time != UINT64_MAX && range->end_time >= range->begin_time)
            recording->in_ranges += range->end_time - range->begin_time;
    }
}

static enum mp_status take_flight(const struct mp_trace *trace, struct digest *digest)
{
    struct digest_flight *flight = &digest->recording.flight;

    MP_TRY(copy_property(digest, trace, "flight_reason", &flight->reason));
    if (!flight->reason)
        return MP_OK;
    flight->from = number_of(trace, "flight_from_ns", 0);
    flight->until = number_of(trace, "flight_until_ns", 0);
    flight->trigger = number_of(trace, "flight_trigger_ns", 0);
    flight->took = number_of(trace, "flight_step_ns", 0);
    flight->limit = number_of(trace, "flight_step_limit_ns", 0);
    return copy_property(digest, trace, "MINIPROF_STEP", &flight->step);
}

static enum mp_status take_header(const struct mp_trace *trace, struct digest *digest)
{
    struct digest_recording *recording = &digest->recording;

    recording->pid = number_of(trace, "pid", UINT64_MAX);
    recording->rank = number_of(trace, "rank", UINT64_MAX);
    recording->driver = number_of(trace, "driver_version", 0);
    recording->cupti = number_of(trace, "cupti_version", 0);
    recording->start = number_of(trace, "start_realtime_ns", 0);
    MP_TRY(copy_property(digest, trace, "argv", &recording->program));
    if (!recording->program)
        MP_TRY(copy_property(digest, trace, "executable", &recording->program));
    MP_TRY(copy_property(digest, trace, "hostname", &recording->host));
    MP_TRY(copy_property(digest, trace, "MINIPROF_CAPTURE", &recording->capture));
    MP_TRY(copy_property(digest, trace, "miniprof", &recording->recorder));
    return take_flight(trace, digest);
}

static enum mp_status take_recording(const struct digest_material *material, struct digest *digest)
{
    const struct profile *profile = material->trace_study.deps.profile;
    struct digest_recording *recording = &digest->recording;

    recording->records = profile->records;
    recording->bytes = profile->bytes;
    recording->span = profile->last_time - profile->first_time;
    recording->framework = material->advice.framework;
    recording->framework_percent = material->advice.framework_percent;
    take_ranges(material, recording);
    MP_TRY(take_header(material->trace, digest));
    return take_devices(material, digest);
}

/* ---- Quality ---- */

/* The pass over the file has checked all of it; the graph knows which rows it had to leave out. */
static void take_quality(const struct digest_material *material, struct digest *digest)
{
    const struct quality *file = &material->trace_study.deps.profile->quality;
    const struct quality *rows = &material->trace_study.deps.quality;
    const struct mp_damage *damage = &file->damage;
    struct digest_quality *quality = &digest->quality;

    quality_describe(rows, quality->warning, sizeof quality->warning);
    if (!*quality->warning)
        quality_describe(file, quality->warning, sizeof quality->warning);
    quality->whole = !*quality->warning;
    quality->gap = quality_gap(rows) ? quality_gap(rows) : quality_gap(file);
    quality->damaged = damage->bytes_skipped || damage->chunks_damaged || damage->rows_damaged ||
                       damage->chunks_missing || damage->truncated || damage->no_index;
    quality->dropped = rows->dropped;
    quality->unanswered = rows->unanswered;
    quality->profiled = rows->profiled;
    quality->baseline_steps = rows->baseline_steps;
    quality->baseline_unrecorded = rows->baseline_unrecorded;
    quality->callbacks_taken = rows->callbacks_taken != 0;
    quality->device_graphs = rows->device_launches ? 0 : rows->device_graphs;
    quality->conditional_graphs = rows->conditional_graphs;
}

/* ---- Iterations and their latency ----
 *
 * How iterations were found, how long they take, and the parts that their mean latency consists of.
 * The numbers are those of `iters`.
 */

/* Every part is a quantity of the iterations, but for copies: what is busy without kernels. */
static const enum iteration_quantity quantities[DIGEST_PARTS] = {
    [DIGEST_KERNELS] = ITERATION_KERNEL,       [DIGEST_COPIES] = ITERATION_BUSY,
    [DIGEST_OTHERS] = ITERATION_OTHERS,        [DIGEST_LAUNCH] = ITERATION_IDLE_LAUNCH,
    [DIGEST_QUEUED] = ITERATION_IDLE_QUEUED,   [DIGEST_COPY] = ITERATION_IDLE_COPY,
    [DIGEST_HOST] = ITERATION_IDLE_HOST,       [DIGEST_SYNC] = ITERATION_IDLE_SYNC,
    [DIGEST_PEER] = ITERATION_IDLE_PEER,       [DIGEST_RECORDING] = ITERATION_IDLE_RECORDING,
    [DIGEST_UNKNOWN] = ITERATION_IDLE_UNKNOWN,
};

const char *digest_part_key(enum digest_part part)
{
    return part == DIGEST_COPIES ? "copies_alone_ns" : iteration_quantity_key(quantities[part]);
}

static void take_parts(const struct iterations_summary *summary, struct digest *digest)
{
    digest->busy = summary->statistics[ITERATION_BUSY].mean;
    for (int i = 0; i < DIGEST_PARTS; i++)
        digest->parts[i] = summary->statistics[quantities[i]].mean;
    digest->parts[DIGEST_COPIES] -= digest->parts[DIGEST_KERNELS];
}

static enum mp_status take_found(const struct iterations *found, struct digest *digest)
{
    struct digest_iterations *iterations = &digest->iterations;

    iterations->way = found->way;
    iterations->asked_for = !found->found;
    iterations->graph = found->graph;
    iterations->period = found->period;
    iterations->count = found->count;
    iterations->threads = found->threads;
    iterations->coverage = found->coverage;
    MP_TRY(digest_copy(digest, found->name, &iterations->name));
    return digest_copy(digest, *found->why_whole ? found->why_whole : NULL, &iterations->why_whole);
}

static enum mp_status take_iterations(const struct digest_material *material, struct digest *digest)
{
    const struct deps *deps = &material->trace_study.deps;
    const struct iterations_summary *summary = &material->trace_study.study.summary;

    digest->no_work = deps->count == deps->host_count;
    digest->gpu_off = digest->no_work && !material->summary.recorded[SUMMARY_GPU];
    digest->no_calls = deps->no_calls;
    digest->knows_peers = deps->peers != NULL;
    digest->latency = summary->statistics[ITERATION_LATENCY];
    digest->headline = summary->headline;
    digest->iterations.outliers = summary->outlier_count;
    digest->iterations.at_once = summary->at_once;
    digest->iterations.throughput = summary->throughput;
    take_parts(summary, digest);
    return take_found(&material->trace_study.study.iterations, digest);
}

/* ---- Commands that look further ----
 *
 * Always those that show all findings and all events, and those that the findings ask for.
 */

/* ---- Lines for a shell ---- */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr("_-./:=@%+,", c);
}

static bool needs_quotes(const char *word)
{
    for (; *word; word++) {
        if (!is_plain(*word))
            return true;
    }
    return false;
}

static void put_word(struct mp_buffer *line, const char *word)
{
    if (!needs_quotes(word)) {
        mp_buffer_append_text(line, word);
        return;
    }
    mp_buffer_append_text(line, "'");
    for (; *word; word++) {
        if (*word == '\'')
            mp_buffer_append_text(line, "'\\''");
        else
            mp_buffer_append_byte(line, (uint8_t)*word);
    }
    mp_buffer_append_text(line, "'");
}

/* A path that is no option. */
static void put_path(struct mp_buffer *line, const char *path)
{
    mp_buffer_append_text(line, path[0] == '-' ? " ./" : " ");
    put_word(line, path);
}

/* The page next to the trace. */
static void put_page(struct mp_buffer *line, const char *path)
{
    size_t length = strlen(path);
    bool ends = length > 4 && !strcmp(path + length - 4, ".mpt");
    struct mp_buffer page = {.size = 0};

    mp_buffer_append(&page, path, ends ? length - 4 : length);
    mp_buffer_append_text(&page, ".html");
    if (!mp_buffer_append_byte(&page, '\0'))
        put_path(line, (const char *)page.data);
    else
        line->status = page.status;
    mp_buffer_free(&page);
}

/* ---- Commands ---- */

enum command_form {
    WITH_TRACE,
    WITH_RANGE,      /* and with the capture range, if one was asked for */
    WITH_ITERATIONS, /* and with the way of the iterations, if one was asked for */
    WITH_PAGE
};

struct command {
    const char *why;
    const char *words;
    enum command_form form;
    bool always; /* also the way that is found by itself */
};

static const struct command all_findings = {"every finding", "advise", WITH_ITERATIONS, false};
static const struct command percentiles = {"every percentile", "iters", WITH_ITERATIONS, false};
static const struct command slowest_iteration = {"slowest iteration", "deps --slowest=1",
                                                 WITH_ITERATIONS, true};
static const struct command path = {"the critical path", "deps", WITH_RANGE, false};
static const struct command churn = {"who allocates", "memory", WITH_ITERATIONS, true};
static const struct command overlap = {"what overlaps", "overlap", WITH_RANGE, false};
static const struct command layers = {"layer by layer", "layers", WITH_RANGE, false};
static const struct command kernels = {"kernel by kernel", "kernels", WITH_RANGE, false};
static const struct command metrics = {"the counters", "metrics", WITH_RANGE, false};
static const struct command page = {"the time line", "html", WITH_PAGE, false};
static const struct command contents = {"what is in it", "info", WITH_TRACE, false};
static const struct command calls = {"what was called", "summary", WITH_RANGE, false};

static void put_command(struct mp_buffer *line, const struct command *command,
                        const struct digest_options *options)
{
    mp_buffer_append_format(line, "miniprof %s", command->words);
    if (command->form != WITH_TRACE && options->iterations.range)
        mp_buffer_append_format(line, " --range=%" PRIu64, options->iterations.range);
    if (command->form == WITH_ITERATIONS && (options->by || command->always)) {
        mp_buffer_append_text(line, " --iterations=");
        put_word(line, options->by ? options->by : "auto");
    }
    if (command->form == WITH_PAGE) {
        mp_buffer_append_text(line, " -o");
        put_page(line, options->path);
    }
    put_path(line, options->path);
    mp_buffer_append_byte(line, '\0');
}

static enum mp_status add(const struct digest_material *material, struct digest *digest,
                          const struct command *command)
{
    struct digest_command *into = &digest->commands[digest->command_count];
    struct mp_buffer line = {.size = 0};

    put_command(&line, command, material->options);
    enum mp_status status =
        line.status ? line.status : digest_copy(digest, (const char *)line.data, &into->line);
    mp_buffer_free(&line);
    if (status)
        return status;
    into->why = command->why;
    digest->command_count++;
    return MP_OK;
}

/* What the first finding is about; NULL: the other commands show it. */
static const struct command *of_finding(const struct digest *digest)
{
    if (digest->quality.profiled)
        return &metrics;
    if (!digest->finding_count)
        return &kernels;
    switch (digest->findings[0].rule) {
    case ADVISE_PAGEABLE_COPIES:
    case ADVISE_SYNCHRONOUS_COPIES:
    case ADVISE_EXPOSED_COPIES:
    case ADVISE_CONSTANT_COPIES:
    case ADVISE_UNUSED_STREAMS:
    case ADVISE_FULL_PCIE:
        return &overlap;
    case ADVISE_ALLOCATION:
    case ADVISE_POOL_RELEASE:
        return &churn;
    case ADVISE_SLOW_LAYER:
    case ADVISE_REFORMAT_LAYERS:
        return &layers;
    case ADVISE_LAUNCH_BOUND:
    case ADVISE_NEEDLESS_WAIT:
    case ADVISE_SMALL_KERNELS:
    case ADVISE_HOST_BOUND:
    case ADVISE_TAIL:
    case ADVISE_PAGE_FAULTS:
    case ADVISE_LAYOUT_CHANGES:
    case ADVISE_UNFUSED_POINTWISE:
    case ADVISE_LOW_PRECISION:
    case ADVISE_SPLIT_K:
    case ADVISE_REPEATED_CASTS:
    case ADVISE_SMALL_GRIDS:
    case ADVISE_MEMORY_BOUND:
    case ADVISE_IDLE_TENSOR_CORES:
    case ADVISE_FEW_SMS:
    case ADVISE_LOW_CLOCKS:
    case ADVISE_NCCL_WAITING:
    case ADVISE_GRAPH_INSTANTIATION:
    case ADVISE_CODE_LOADING:
    case ADVISE_BLOCKED_CALLS:
    case ADVISE_LATE_RANK: /* these are of jobs */
    case ADVISE_SLOWED_GPU:
    case ADVISE_SLOWER_CLOCKS:
    case ADVISE_UNEVEN_STAGES:
    case ADVISE_BUBBLES:
    case ADVISE_TRANSFERS:
    case ADVISE_RULES:
    default:
        return NULL;
    }
}

/* After all others. */
static enum mp_status take_commands(const struct digest_material *material, struct digest *digest)
{
    const struct command *special = of_finding(digest);
    bool loop = digest->iterations.count > 1;

    if (digest->no_work) {
        MP_TRY(add(material, digest, &contents));
        return digest->recording.records ? add(material, digest, &calls) : MP_OK;
    }
    if (digest->findings_all)
        MP_TRY(add(material, digest, &all_findings));
    if (loop)
        MP_TRY(add(material, digest, &percentiles));
    if (!digest->quality.gap)
        MP_TRY(add(material, digest, loop ? &slowest_iteration : &path));
    if (special)
        MP_TRY(add(material, digest, special));
    return add(material, digest, &page);
}

#define TEXT_BYTES 4096 /* of a block: a digest has 2 to 3 KB of text */

/* ---- The analyses ---- */

static void material_free(struct digest_material *material)
{
    summary_free(&material->summary);
    advise_free(&material->advice);
    trace_study_free(&material->trace_study);
}

static enum mp_status analyse(struct digest_material *material, struct mp_error *error)
{
    const struct digest_options *options = material->options;
    const struct trace_study_options wanted = {
        .graph = {.style = options->style, .fronts = true, .check = true, .peers = options->peers},
        .iterations = options->iterations,
    };
    const struct advise_input input = {&material->trace_study.deps, &material->trace_study.study};
    struct summary_options names = {.range = options->iterations.range,
                                    .style = options->style,
                                    .parts = SUMMARY_PART_GPU,
                                    .no_kernel_time = true};

    MP_TRY(trace_study_load(material->trace, &wanted, &material->trace_study, error));
    MP_TRY(advise_build(&input, &material->advice, error));
    names.ranges = &material->trace_study.deps.profile->ranges;
    return summary_build(material->trace, &names, &material->summary, error);
}

/* ---- Findings, names by time ---- */

/* The names in a finding's lines belong to the graph, which goes. */
static enum mp_status own_names(struct digest *digest, struct advise_finding *finding)
{
    for (size_t i = 0; i < finding->line_count; i++)
        MP_TRY(digest_copy(digest, finding->lines[i].name, &finding->lines[i].name));
    return MP_OK;
}

static enum mp_status take_findings(const struct digest_material *material, struct digest *digest)
{
    const struct advice *advice = &material->advice;

    digest->step = advice->step;
    digest->basis = advice->basis;
    digest->without_recording = advice->without_recording;
    digest->one_rank = advice->reasons[ADVISE_LATE_RANK] == ADVISE_ONE_RANK;
    digest->findings_all = advice->count;
    digest->finding_count = advice->count < DIGEST_FINDINGS ? advice->count : DIGEST_FINDINGS;
    for (size_t i = 0; i < digest->finding_count; i++) {
        digest->findings[i] = advice->findings[i];
        MP_TRY(own_names(digest, &digest->findings[i]));
    }
    return MP_OK;
}

static enum mp_status take_hot(const struct digest_material *material, struct digest *digest)
{
    const struct summary_group *group = &material->summary.groups[SUMMARY_GPU];

    digest->hot_all = group->row_count;
    digest->hot_count = group->row_count < DIGEST_HOT ? group->row_count : DIGEST_HOT;
    for (size_t i = 0; i < digest->hot_count; i++) {
        const struct summary_row *row = &group->rows[i];

        digest->hot[i] = (struct digest_hot){.calls = row->tally.calls,
                                             .total = row->tally.total,
                                             .mean = row->mean,
                                             .percent = row->percent};
        MP_TRY(digest_copy(digest, row->name, &digest->hot[i].name));
    }
    return MP_OK;
}

/* ---- All of it ---- */

static enum mp_status keep(const struct digest_material *material, struct digest *digest)
{
    MP_TRY(digest_copy(digest, material->options->path, &digest->path));
    MP_TRY(take_recording(material, digest));
    take_quality(material, digest);
    MP_TRY(take_iterations(material, digest));
    digest->baseline_asked = material->trace_study.baseline.asked;
    digest->recording_cost = material->trace_study.recording_cost;
    MP_TRY(digest_copy(digest, digest->recording_cost.name, &digest->recording_cost.name));
    MP_TRY(take_findings(material, digest));
    MP_TRY(take_hot(material, digest));
    return take_commands(material, digest);
}

enum mp_status digest_build(struct mp_trace *trace, const struct digest_options *options,
                            struct digest *digest, struct mp_error *error)
{
    struct digest_material material = {.trace = trace, .options = options};

    *digest = (struct digest){.path = NULL};
    mp_arena_init(&digest->text, TEXT_BYTES);
    enum mp_status status = analyse(&material, error);
    if (!status) {
        status = keep(&material, digest);
        if (status)
            mp_error_set(error, status, "no digest: %s", mp_status_name(status));
    }
    material_free(&material);
    return status;
}

void digest_free(struct digest *digest)
{
    mp_arena_free(&digest->text);
    *digest = (struct digest){.path = NULL};
}

/* ---- Several ---- */

/* What is compared first: 0 no GPU work, 1 no iterations, 2 iterations. */
static unsigned worth_of(const struct digest *digest)
{
    if (digest->no_work)
        return 0;
    return digest->iterations.way == ITERATIONS_WHOLE ? 1 : 2;
}

size_t digest_slowest(const struct digest *digests, size_t count)
{
    size_t slowest = 0;

    for (size_t i = 1; i < count; i++) {
        unsigned worth = worth_of(&digests[i]);
        unsigned best = worth_of(&digests[slowest]);

        if (worth > best ||
            (worth == best && digests[i].latency.p50 > digests[slowest].latency.p50))
            slowest = i;
    }
    return slowest;
}
