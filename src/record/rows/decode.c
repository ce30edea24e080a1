/* One function for each kind of CUPTI's records; decode_record picks it. A record is read in place,
 * through the views of layout.h.
 */
#include "record/rows/decode.h"

#include <string.h>

#include "base/process.h"
#include "record/core/call_log.h"
#include "record/counters/profiled.h"
#include "record/rows/quality.h"
#include "record/rows/stack_rows.h"

#include "base/poison.h"

#define OBJECT_THREAD 2          /* CUPTI_ACTIVITY_OBJECT_THREAD */
#define NO_DEVICE     UINT32_MAX /* CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID */

static void use_call(void *context, const struct record_call *call);

void decoder_open(struct decoder *decoder, const struct cupti_api *cupti, const struct api_set *api,
                  struct capture *capture, struct dictionary *dictionary, struct mp_writer *writer)
{
    memset(decoder, 0, sizeof(*decoder));
    decoder->latest = UINT64_MAX;
    decoder->process = mp_process_id();
    decoder->cupti = cupti;
    decoder->api = api;
    decoder->capture = capture;
    decoder->dictionary = dictionary;
    decoder->writer = writer;
    nested_open(&decoder->nested, use_call, decoder);
}

void decoder_close(struct decoder *decoder)
{
    nested_close(&decoder->nested);
}

static void check_times(struct decoder *decoder, uint64_t start, uint64_t end)
{
    if (__builtin_expect(!start || !end, 0))
        decoder->counts.zero_times++;
    else if (__builtin_expect(end < start, 0))
        decoder->counts.reversed_times++;
}

/* How far a time may be outside of the recording before it counts as another clock's. CUPTI's own
 * clock, the time of day, is years away. The cycle counter that torch.profiler uses (clients.h) is
 * off by the machine's uptime. */
#define FOREIGN_NS (UINT64_C(600) * 1000000000u)

/* With room to spare, since they are there to detect other clocks. */
void decode_limit_times(struct decoder *decoder, uint64_t begin, uint64_t passed)
{
    decoder->earliest = begin > FOREIGN_NS ? begin - FOREIGN_NS : 1;
    decoder->latest = begin + passed + FOREIGN_NS;
}

/* Whether the time is of another clock. After a clock was registered again, CUPTI gives the first
 * kernels times of its clock (clock_again in quirks.def). Work that ran before has times of the
 * other client's clock. Such times do not lie on the trace's axis and cannot be converted. */
static bool is_foreign(struct decoder *decoder, uint64_t time)
{
    return __builtin_expect(time && (time < decoder->earliest || time > decoder->latest), 0);
}

static bool is_device_launched(const struct decoder *decoder, const struct record_kernel *record)
{
    return decoder->cupti->version >= MP_CUPTI_SINCE_DEVICE_KERNELS &&
           ((const struct record_kernel_10 *)(const void *)record)->device_launched;
}

void decode_earlier(struct decoder *decoder, uint64_t correlation, uint64_t end)
{
    uint64_t range;
    uint64_t ns = capture_note_earlier(decoder->capture, correlation, end, &range);

    if (ns && decoder->quality)
        quality_change(decoder->quality, decoder->dictionary, QUALITY_earlier_work_ns, range,
                       (int64_t)ns);
}

/* Whether device work is kept, with its correlation id in 64 bits. */
static bool keep_work(struct decoder *decoder, uint32_t correlation, uint64_t start, uint64_t end,
                      uint64_t *extended)
{
    *extended = decode_correlation(decoder, correlation);
    if (decoder->matching) /* it has come, whatever becomes of it */
        matching_record(decoder->matching, *extended);
    if (!capture_keeps_work(decoder->capture, *extended, start)) {
        decoder->counts.outside++;
        if (*extended)
            decode_earlier(decoder, *extended, end);
        return false;
    }
    if (is_foreign(decoder, start) || is_foreign(decoder, end)) {
        decoder->counts.foreign_times++;
        if (decoder->lag) /* the record has come, whatever its time */
            lag_restart(decoder->lag);
        return false;
    }
    check_times(decoder, start, end);
    decoder->counts.work++;
    if (*extended > decoder->worked)
        decoder->worked = *extended;
    if (decoder->lag)
        lag_work(decoder->lag, end);
    return true;
}

static bool keep_time(struct decoder *decoder, uint64_t time)
{
    if (capture_keeps_time(decoder->capture, time))
        return true;
    decoder->counts.outside++;
    return false;
}

static void decode_kernel(struct decoder *decoder, const struct record_kernel *record)
{
    struct dictionary *dictionary = decoder->dictionary;
    uint64_t start = record->start;
    uint64_t end = record->end;
    enum profiled_answer profiled = PROFILED_NOT;
    uint64_t correlation;

    if (__builtin_expect(decoder->profiled != NULL, 0))
        profiled = profiled_times(decoder->profiled,
                                  decode_correlation(decoder, record->correlation), &start, &end);
    if (profiled == PROFILED_AGAIN ||
        !keep_work(decoder, record->correlation, start, end, &correlation))
        return;
    if (profiled == PROFILED_FIRST && start)
        decoder->profiled->rows_filled++;
    decoder->counts.device_launches += is_device_launched(decoder, record);
    mp_append_kernel(
        decoder->writer,
        &(struct mp_row_kernel){
            .stream =
                dictionary_stream(dictionary, record->device, record->context, record->stream),
            .shape = dictionary_shape(dictionary, record,
                                      overlaps_has(decoder->overlaps, record->correlation)),
            .node = dictionary_node(dictionary, record->graph, record->graph_node, correlation),
            .start = start,
            .duration = end - start,
            .correlation = correlation,
        });
}

static void decode_copy(struct decoder *decoder, const struct record_copy *record)
{
    struct dictionary *dictionary = decoder->dictionary;
    uint64_t correlation;
    bool counted = decoder->cupti->version >= MP_CUPTI_SINCE_COPY_COUNT;

    if (!keep_work(decoder, record->correlation, record->start, record->end, &correlation))
        return;
    mp_append_copy(
        decoder->writer,
        &(struct mp_row_copy){
            .stream =
                dictionary_stream(dictionary, record->device, record->context, record->stream),
            .kind = record->copy_kind,
            .source = record->source_kind,
            .target = record->target_kind,
            .flags = record->flags,
            .bytes = record->bytes,
            .node = dictionary_node(dictionary, record->graph, record->graph_node, correlation),
            .start = record->start,
            .duration = record->end - record->start,
            .correlation = correlation,
            .count = counted && record->count ? record->count : 1,
        });
}

static void decode_peer_copy(struct decoder *decoder, const struct record_peer_copy *record)
{
    struct dictionary *dictionary = decoder->dictionary;
    uint64_t correlation;

    if (!keep_work(decoder, record->correlation, record->start, record->end, &correlation))
        return;
    mp_append_copy(
        decoder->writer,
        &(struct mp_row_copy){
            .stream =
                dictionary_stream(dictionary, record->device, record->context, record->stream),
            .kind = record->copy_kind,
            .source = record->source_kind,
            .target = record->target_kind,
            .flags = record->flags,
            .bytes = record->bytes,
            .node = dictionary_node(dictionary, record->graph, record->graph_node, correlation),
            .start = record->start,
            .duration = record->end - record->start,
            .correlation = correlation,
            .source_device = record->source_device,
            .source_context = record->source_context,
            .target_device = record->target_device,
            .target_context = record->target_context,
            .count = 1,
        });
}

static void decode_set(struct decoder *decoder, const struct record_set *record)
{
    struct dictionary *dictionary = decoder->dictionary;
    uint64_t correlation;

    if (!keep_work(decoder, record->correlation, record->start, record->end, &correlation))
        return;
    mp_append_set(decoder->writer, &(struct mp_row_set){
                                       .stream = dictionary_stream(dictionary, record->device,
                                                                   record->context, record->stream),
                                       .bytes = record->bytes,
                                       .value = record->value,
                                       .memory = record->memory_kind,
                                       .flags = record->flags,
                                       .node = dictionary_node(dictionary, record->graph,
                                                               record->graph_node, correlation),
                                       .start = record->start,
                                       .duration = record->end - record->start,
                                       .correlation = correlation,
                                   });
}

static void decode_graph(struct decoder *decoder, const struct record_graph *record)
{
    uint64_t correlation;

    if (!keep_work(decoder, record->correlation, record->start, record->end, &correlation))
        return;
    mp_append_graph(decoder->writer,
                    &(struct mp_row_graph){
                        .stream = dictionary_stream(decoder->dictionary, record->device,
                                                    record->context, record->stream),
                        .graph = record->graph,
                        .start = record->start,
                        .duration = record->end - record->start,
                        .correlation = correlation,
                    });
}

/* It has no correlation id. */
static void decode_device_graph(struct decoder *decoder, const struct record_device_graph *record)
{
    uint64_t correlation;

    if (!keep_work(decoder, 0, record->start, record->end, &correlation))
        return;
    decoder->counts.device_launches++;
    mp_append_graph(decoder->writer,
                    &(struct mp_row_graph){
                        .stream = dictionary_stream(decoder->dictionary, record->device,
                                                    record->context, (uint32_t)record->stream),
                        .graph = record->graph,
                        .start = record->start,
                        .duration = record->end - record->start,
                    });
}

/* What is the same in both records of host functions. */
struct host_function {
    uint32_t device, context, stream;
    uint32_t process, thread, correlation, graph;
    uint64_t node, start, end;
};

/* The layout of these records is known from documents only (layout.h). One that is not what it
 * should be counts as unknown. */
static bool is_plausible(const struct decoder *decoder, const struct host_function *function)
{
    return (decoder->process < 0 || function->process == (uint32_t)decoder->process) &&
           function->thread && function->correlation && function->start &&
           function->end >= function->start;
}

static void decode_host_function(struct decoder *decoder, const struct host_function *function)
{
    struct dictionary *dictionary = decoder->dictionary;

    if (!is_plausible(decoder, function)) {
        decoder->counts.unknown++;
        return;
    }
    uint64_t correlation = decode_correlation(decoder, function->correlation);
    if (!capture_keeps_work(decoder->capture, correlation, function->start)) {
        decoder->counts.outside++;
        return;
    }
    mp_append_host_function(
        decoder->writer,
        &(struct mp_row_host_function){
            .stream = dictionary_stream(dictionary, function->device, function->context,
                                        function->stream),
            .node = dictionary_node(dictionary, function->graph, function->node, correlation),
            .thread = dictionary_thread(dictionary, function->thread),
            .start = function->start,
            .duration = function->end - function->start,
            .correlation = correlation,
        });
}

static void decode_host_launch(struct decoder *decoder, const struct record_host_launch *record)
{
    decode_host_function(decoder, &(struct host_function){
                                      .device = record->device,
                                      .context = record->context,
                                      .stream = record->stream,
                                      .process = record->process,
                                      .thread = record->thread,
                                      .correlation = record->correlation,
                                      .start = record->start,
                                      .end = record->end,
                                  });
}

static void decode_host_node(struct decoder *decoder, const struct record_host_node *record)
{
    decode_host_function(decoder, &(struct host_function){
                                      .device = record->device,
                                      .context = record->context,
                                      .stream = record->stream,
                                      .process = record->process,
                                      .thread = record->thread,
                                      .correlation = record->correlation,
                                      .graph = record->graph,
                                      .node = record->graph_node,
                                      .start = record->start,
                                      .end = record->end,
                                  });
}

void decode_launch(struct decoder *decoder, unsigned api, uint32_t cbid, uint64_t start,
                   uint64_t correlation)
{
    if (!decoder->lag || !api_set_launches(decoder->api, api, cbid))
        return;
    if (correlation > decoder->launched)
        decoder->launched = correlation;
    if (decoder->matching && !api_set_launches_graph(decoder->api, api, cbid) &&
        correlation > decoder->lag->captured)
        matching_launch(decoder->matching, correlation);
    lag_launch(decoder->lag, api_set_launches_graph(decoder->api, api, cbid), start, correlation);
}

/* Whether callbacks log the call that begins at `start`. */
static bool is_after_calls(const struct decoder *decoder, uint64_t start)
{
    uint64_t end =
        decoder->calls_end ? atomic_load_explicit(decoder->calls_end, memory_order_relaxed) : 0;

    return end && start >= end;
}

/* Appends a call that nested.c lets through. */
static void use_call(void *context, const struct record_call *record)
{
    struct decoder *decoder = context;
    struct dictionary *dictionary = decoder->dictionary;
    unsigned api = record->kind == CUPTI_ACTIVITY_KIND_RUNTIME ? MP_api_runtime : MP_api_driver;

    if (is_after_calls(decoder, record->start) || !keep_time(decoder, record->start))
        return;
    check_times(decoder, record->start, record->end);
    uint64_t correlation = decode_correlation(decoder, record->correlation);
    if (!record->result)
        decode_launch(decoder, api, record->cbid, record->start, correlation);
    mp_append_call(decoder->writer,
                   &(struct mp_row_call){
                       .thread = dictionary_thread(dictionary, record->thread),
                       .function = dictionary_function(dictionary, api, record->cbid),
                       .start = record->start,
                       .duration = record->end - record->start,
                       .correlation = correlation,
                       .result = record->result,
                       .stack = stack_rows_of_call(decoder->stack_rows, record->correlation),
                   });
}

static void decode_runtime_call(struct decoder *decoder, const struct record_call *record)
{
    if (api_set_wants(decoder->api, MP_api_runtime, record->cbid))
        nested_runtime_call(&decoder->nested, record);
    else
        decoder->counts.outside++;
}

/* Whether the recorder made the call in a callback: such a call has the correlation id of the call
 * around it. */
static bool is_ours(const struct decoder *decoder, const struct record_call *record)
{
    return record->cbid < API_CBIDS &&
           (decoder->api->flags[MP_api_driver][record->cbid] & API_OURS_TOO) &&
           decoder->own_calls && own_calls_has(decoder->own_calls, record->correlation);
}

static void decode_driver_call(struct decoder *decoder, const struct record_call *record)
{
    if (api_set_wants(decoder->api, MP_api_driver, record->cbid) && !is_ours(decoder, record))
        nested_driver_call(&decoder->nested, record);
    else
        decoder->counts.outside++;
}

static void decode_memory(struct decoder *decoder, const struct record_memory *record)
{
    if (!keep_time(decoder, record->time))
        return;
    mp_append_memory(decoder->writer,
                     &(struct mp_row_memory){
                         .operation = record->operation,
                         .kind = record->memory_kind,
                         .device = record->device,
                         .context = record->context,
                         .stream = record->stream,
                         .asynchronous = record->asynchronous,
                         .bytes = record->bytes,
                         .address = record->address,
                         .time = record->time,
                         .correlation = decode_correlation(decoder, record->correlation),
                         .pool_type = record->pool_type,
                         .pool = record->pool_type ? record->pool_address : 0,
                         .pool_used = record->pool_type ? record->pool_used : 0,
                         .pool_size = record->pool_type == 1 ? record->pool_size : 0,
                         .pc = record->program_counter,
                     });
}

static void decode_pool(struct decoder *decoder, const struct record_pool *record)
{
    if (!keep_time(decoder, record->time))
        return;
    mp_append_pool(decoder->writer,
                   &(struct mp_row_pool){
                       .operation = record->operation,
                       .type = record->pool_type,
                       .device = record->device,
                       .pool = record->address,
                       .time = record->time,
                       .size = record->size,
                       .bytes_kept = record->bytes_kept,
                       .release_threshold = record->threshold,
                       .correlation = decode_correlation(decoder, record->correlation),
                   });
}

/* Counters of something that happens at a moment: CUPTI's end has no meaning then. */
static bool is_moment(uint32_t counter)
{
    return counter == MP_unified_kind_cpu_page_fault || counter == MP_unified_kind_thrashing ||
           counter == MP_unified_kind_remote_map;
}

/* Whether the counter's source is a device; has_target likewise. Only the counter's meaning tells.
 * The id does not: the CPU has the number of CUPTI's header, or 0 like a device (CUDA 13.0, H200),
 * and unused ids are not set. */
static bool has_source(uint32_t counter)
{
    return counter != MP_unified_kind_bytes_HtoD && counter != MP_unified_kind_cpu_page_fault;
}

static bool has_target(uint32_t counter)
{
    return counter == MP_unified_kind_bytes_HtoD || counter == MP_unified_kind_bytes_DtoD ||
           counter == MP_unified_kind_remote_map;
}

static void decode_unified(struct decoder *decoder, const struct record_unified *record)
{
    uint64_t end = is_moment(record->counter) ? record->start : record->end;

    if (!keep_time(decoder, record->start))
        return;
    check_times(decoder, record->start, end);
    mp_append_unified(decoder->writer,
                      &(struct mp_row_unified){
                          .kind = record->counter,
                          .source = has_source(record->counter) ? record->source : NO_DEVICE,
                          .target = has_target(record->counter) ? record->target : NO_DEVICE,
                          .stream = record->stream,
                          .value = record->value,
                          .address = record->address,
                          .flags = record->flags,
                          .start = record->start,
                          .duration = end - record->start,
                      });
}

static void decode_overhead(struct decoder *decoder, const struct record_overhead *record)
{
    bool has_id = decoder->cupti->version >= MP_CUPTI_SINCE_OVERHEAD_IDS;

    if (!keep_time(decoder, record->start))
        return;
    mp_append_overhead(
        decoder->writer,
        &(struct mp_row_overhead){
            .thread = record->object_kind == OBJECT_THREAD
                          ? dictionary_thread(decoder->dictionary, record->object[1])
                          : 0,
            .kind = record->overhead_kind,
            .start = record->start,
            .duration = record->end - record->start,
            .correlation = has_id ? decode_correlation(decoder, record->correlation) : 0,
        });
}

static void decode_jit(struct decoder *decoder, const struct record_jit *record)
{
    if (!keep_time(decoder, record->start))
        return;
    mp_append_jit(decoder->writer,
                  &(struct mp_row_jit){
                      .kind = record->entry,
                      .operation = record->operation,
                      .device = record->device,
                      .start = record->start,
                      .duration = record->end - record->start,
                      .correlation = decode_correlation(decoder, record->correlation),
                      .unit = record->unit,
                      .cache_bytes = record->cache_bytes,
                  });
}

/* CUPTI's buffers and records are aligned to 8 bytes; the casts go through void for -Wcast-align.
 */
static void decode_record(struct decoder *decoder, const void *record)
{
    const struct record_any *any = record;

    decoder->counts.records++;
    switch ((int)any->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
        decode_kernel(decoder, record);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        decode_copy(decoder, record);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        decode_peer_copy(decoder, record);
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        decode_set(decoder, record);
        break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
        decode_runtime_call(decoder, record);
        break;
    case CUPTI_ACTIVITY_KIND_DRIVER:
        decode_driver_call(decoder, record);
        break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        decode_graph(decoder, record);
        break;
    case MP_CUPTI_KIND_DEVICE_GRAPH_TRACE:
        decode_device_graph(decoder, record);
        break;
    case MP_CUPTI_KIND_HOST_LAUNCH:
        decode_host_launch(decoder, record);
        break;
    case MP_CUPTI_KIND_GRAPH_HOST_NODE:
        decode_host_node(decoder, record);
        break;
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        decode_memory(decoder, record);
        break;
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
        decode_pool(decoder, record);
        break;
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
        decode_unified(decoder, record);
        break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        decode_overhead(decoder, record);
        break;
    case MP_CUPTI_KIND_JIT:
        decode_jit(decoder, record);
        break;
    case CUPTI_ACTIVITY_KIND_DEVICE:
        dictionary_device(decoder->dictionary, record);
        break;
    case CUPTI_ACTIVITY_KIND_CONTEXT:
        dictionary_context(decoder->dictionary, record, decoder->cupti->version);
        break;
    case CUPTI_ACTIVITY_KIND_STREAM:
        dictionary_stream_info(decoder->dictionary, record);
        break;
    default:
        decoder->counts.unknown++;
        break;
    }
}

void decode_buffer(struct decoder *decoder, uint8_t *data, size_t valid_bytes)
{
    CUpti_Activity *record = NULL;

    while (cupti_next(decoder->cupti, data, valid_bytes, &record))
        decode_record(decoder, record);
}
