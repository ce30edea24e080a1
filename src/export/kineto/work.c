/* What ran on a GPU: kernels, copies, sets, and graphs that were recorded as a whole; and counters
 * below the GPUs.
 */
#include "export/kineto/state.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profile/names/names.h"
#include "reports/kernels/kernels.h"

#include "base/poison.h"

#define NAME_BYTES 96

static const struct export_place nowhere;

static const struct export_place *place_of(const struct export_row *row)
{
    return row->place ? row->place : &nowhere;
}

/* ---- Arguments ---- */

static void write_place(struct events *events, const struct export_row *row)
{
    const struct export_place *place = place_of(row);

    event_number(events, "device", place->device);
    event_number(events, "context", place->context);
    event_number(events, "stream", place->stream);
    event_number(events, "correlation", row->correlation);
}

static void write_graph(struct events *events, const struct export_row *row)
{
    if (row->graph)
        event_number(events, "graph id", row->graph);
    if (row->graph_node)
        event_number(events, "graph node id", row->graph_node);
}

/* Writes what the analyses know. */
static void write_found(struct kineto *kineto, const struct export_row *row)
{
    const uint64_t *critical = kineto->analyses->critical;

    if (row->iteration)
        event_number(&kineto->events, "iteration", row->iteration);
    if (critical && row->activity != DEPS_NONE && critical[row->activity])
        event_real(&kineto->events, "critical path (us)", (double)critical[row->activity] / 1e3);
}

static void write_bytes(struct events *events, const struct export_row *row, uint64_t bytes)
{
    event_number(events, "bytes", bytes);
    if (row->duration && row->duration <= INT64_MAX)
        event_real(events, "memory bandwidth (GB/s)", (double)bytes / (double)row->duration);
    else
        event_word(events, "memory bandwidth (GB/s)", "N/A");
}

static void write_occupancy(struct events *events, const struct launch_shape *shape,
                            const struct device_limits *limits)
{
    double blocks = (double)shape_blocks(shape) / (double)limits->multiprocessors;
    struct occupancy occupancy;

    if (!occupancy_of(shape, limits, &occupancy))
        return;
    event_real(events, "blocks per SM", blocks);
    event_real(events, "warps per SM",
               blocks * (double)shape_threads(shape) / (double)limits->warp_threads);
    event_number(events, "est. achieved occupancy %", (uint64_t)(occupancy.percent + 0.5));
    event_real(events, "waves", occupancy.waves);
    event_word(events, "occupancy limit", occupancy_limit_name(occupancy.limit));
}

static void write_shape(struct kineto *kineto, const struct export_row *row)
{
    struct events *events = &kineto->events;
    const struct launch_shape *shape = row->shape;
    struct device_limits limits;

    event_number(events, "registers per thread", shape->registers);
    event_number(events, "shared memory", (uint64_t)shape->static_shared + shape->dynamic_shared);
    event_three(events, "grid", shape->grid);
    event_three(events, "block", shape->block);
    if (shape_cluster(shape))
        event_three(events, "cluster", shape->cluster);
    if (export_rows_usable(kineto->process->rows, place_of(row), &limits))
        write_occupancy(events, shape, &limits);
}

/* ---- Events ---- */

static void begin(struct kineto *kineto, const struct export_row *row, const char *category)
{
    event_begin(&kineto->events, 'X', category);
    event_place(&kineto->events, place_of(row)->device, (int64_t)place_of(row)->stream);
    event_time(&kineto->events, row->start);
    event_duration(&kineto->events, row->duration);
}

static void write_kernel(struct kineto *kineto, const struct export_row *row)
{
    struct events *events = &kineto->events;
    int64_t priority;

    begin(kineto, row, "kernel");
    event_name(events, &row->name);
    event_args(events);
    event_number(events, "queued", 0);
    write_place(events, row);
    if (row->shape)
        write_shape(kineto, row);
    write_graph(events, row);
    if (export_rows_priority(kineto->process->rows, place_of(row)->context, place_of(row)->stream,
                             &priority))
        event_signed(events, "priority", priority);
    kineto_write_collective(kineto, row);
}

static void write_peers(struct events *events, const struct export_row *row)
{
    const struct mp_row_copy copy = export_row_copy(row);

    event_number(events, "fromDevice", copy.source_device);
    event_number(events, "inDevice", place_of(row)->device);
    event_number(events, "toDevice", copy.target_device);
    event_number(events, "fromContext", copy.source_context);
    event_number(events, "inContext", place_of(row)->context);
    event_number(events, "toContext", copy.target_context);
}

static void write_copy(struct kineto *kineto, const struct export_row *row)
{
    const struct mp_row_copy copy = export_row_copy(row);
    const char *kind = mp_enum_name("copy_kind", copy.kind);
    char name[NAME_BYTES];

    snprintf(name, sizeof name, "Memcpy %s (%s -> %s)", kind ? kind : "unknown",
             names_memory(copy.source), names_memory(copy.target));
    begin(kineto, row, "gpu_memcpy");
    event_literal_name(&kineto->events, name);
    event_args(&kineto->events);
    write_place(&kineto->events, row);
    if (copy.kind == MP_copy_kind_PtoP)
        write_peers(&kineto->events, row);
    write_bytes(&kineto->events, row, copy.bytes);
    write_graph(&kineto->events, row);
}

static void write_set(struct kineto *kineto, const struct export_row *row)
{
    const struct mp_row_set set = export_row_set(row);
    char name[NAME_BYTES];

    snprintf(name, sizeof name, "Memset (%s)", names_memory(set.memory));
    begin(kineto, row, "gpu_memset");
    event_literal_name(&kineto->events, name);
    event_args(&kineto->events);
    write_place(&kineto->events, row);
    write_bytes(&kineto->events, row, set.bytes);
    write_graph(&kineto->events, row);
}

static void write_whole_graph(struct kineto *kineto, const struct export_row *row)
{
    begin(kineto, row, "cuda_graph");
    event_name(&kineto->events, &row->name);
    event_args(&kineto->events);
    write_place(&kineto->events, row);
    write_graph(&kineto->events, row);
}

/* Writes the arrow from the launching call, if that is in the file. */
static void write_flow_end(struct kineto *kineto, const struct export_row *row)
{
    const struct deps *deps = kineto->launched.deps;
    struct events *events = &kineto->events;

    if (!row->correlation || (deps && (row->activity == DEPS_NONE ||
                                       deps->activities[row->activity].launch == DEPS_NONE)))
        return;
    event_begin(events, 'f', "ac2g");
    event_id(events, row->correlation);
    event_place(events, place_of(row)->device, (int64_t)place_of(row)->stream);
    event_time(events, row->start);
    event_literal_name(events, "ac2g");
    event_literal(events, ",\"bp\":\"e\"");
    event_end(events);
}

enum mp_status kineto_write_work(struct kineto *kineto, const struct export_row *row)
{
    MP_TRY(kineto_introduce_stream(kineto, place_of(row)->device, (int64_t)place_of(row)->stream));
    if (row->kind == EXPORT_KERNEL)
        write_kernel(kineto, row);
    else if (row->kind == EXPORT_COPY)
        write_copy(kineto, row);
    else if (row->kind == EXPORT_SET)
        write_set(kineto, row);
    else
        write_whole_graph(kineto, row);
    write_found(kineto, row);
    event_end(&kineto->events);
    write_flow_end(kineto, row);
    MP_TRY(kineto_note_step(kineto, row));
    return kineto->events.text.status;
}

/* ---- Counters ---- */

/* Metrics of single kernels (`--metrics`), and what was sampled over time. */

enum mp_status kineto_write_metric(struct kineto *kineto, const struct export_row *row)
{
    struct events *events = &kineto->events;
    union {
        uint64_t bits;
        double real;
    } value = {.bits = export_row_metric_value(row).value};
    char place[64];

    if (!isfinite(value.real))
        return MP_OK;
    snprintf(place, sizeof place, ",\"pid\":\"GPU %" PRIu64 " Counters\",\"tid\":0",
             row->place ? row->place->device : 0);
    event_begin(events, 'C', "hardware_counters");
    event_name(events, &row->name);
    event_literal(events, place);
    event_time(events, row->start);
    event_args(events);
    event_real(events, "", value.real);
    event_end(events);
    return events->text.status;
}

static enum mp_status write_sample(void *context, const struct export_sample *sample)
{
    struct events *events = context;
    const struct export_text name = {.text = sample->name, .bytes = strlen(sample->name)};
    char place[64];

    snprintf(place, sizeof place, ",\"pid\":\"GPU %" PRIu64 " Counters\",\"tid\":0",
             sample->device);
    event_begin(events, 'C', "hardware_counters");
    event_name(events, &name);
    event_literal(events, place);
    event_time(events, sample->start);
    event_args(events);
    event_real(events, "", sample->value);
    event_end(events);
    return events->text.status;
}

enum mp_status kineto_write_samples(struct kineto *kineto, struct mp_error *error)
{
    return export_samples(kineto->process->rows, write_sample, &kineto->events, error);
}
