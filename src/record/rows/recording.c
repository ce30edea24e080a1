/* The writer's rounds: takes what comes in the one order in which it has a meaning, and gathers the
 * counters of the trace from all modules.
 */
#include "record/rows/recording.h"

#include "base/log.h"
#include "base/settings/config.h"
#include "record/core/clock.h"
#include "record/core/work.h"
#include "record/cupti/clients.h"
#include "record/cupti/contexts.h"
#include "record/cupti/cupti_api.h"
#include "record/nvtx/nvtx.h"
#include "record/rows/call_rows.h"
#include "record/stacks/stacks.h"
#include "record/waits/waits.h"

#include "base/poison.h"

/* An upper bound of a record's size: so a count of records that is derived from bytes is a lower
 * bound. */
#define RECORD_BYTES_AT_MOST 256u

static void append_range_row(struct recording *recording, uint64_t kind, uint64_t reason,
                             uint64_t time, uint64_t correlation)
{
    if (recording->flight) {
        flight_note_range(recording->flight, recording->capture.count,
                          kind == MP_capture_kind_begin, (uint8_t)reason, time, correlation);
        return;
    }
    mp_append_capture(recording->writer, &(struct mp_row_capture){
                                             .range = recording->capture.count,
                                             .kind = kind,
                                             .time = time,
                                             .correlation = correlation,
                                             .reason = reason,
                                         });
}

/* A launch outside of all ranges is no loss. */
static void use_match(void *context, uint64_t correlation, int change)
{
    struct recording *recording = context;
    uint64_t range = capture_number_of(&recording->capture, correlation);

    if (range && !recording->flight)
        quality_change(&recording->quality, &recording->dictionary, QUALITY_unanswered_launches,
                       range, change);
}

enum mp_status recording_open(struct recording *recording, struct mp_writer *writer,
                              const struct cupti_api *cupti, const struct api_set *api,
                              uint32_t capture_mode, bool at_once)
{
    recording->writer = writer;
    recording->begin_time = mp_clock_now();
    recording->begin_ms = mp_monotonic_ms();
    if (dictionary_open(&recording->dictionary, writer, api) != MP_OK)
        return MP_ERR_MEMORY;
    recording->dictionary.edges = recording->edges;
    recording->edges->max = &recording->decoder.correlation;
    paths_open(&recording->paths, recording->paths_wanted);
    carried_open(&recording->carried, &recording->capture, &recording->dictionary);
    recording->collectives.dictionary = &recording->dictionary;
    recording->collectives.capture = &recording->capture;
    recording->paths.collectives = &recording->collectives;
    decoder_open(&recording->decoder, cupti, api, &recording->capture, &recording->dictionary,
                 writer);
    if (recording->gpu && recording->gpu->core.wanted.stacks)
        recording->stack_rows.stacks = recording->stacks;
    recording->stack_rows.dictionary = &recording->dictionary;
    recording->decoder.stack_rows = &recording->stack_rows;
    recording->paths.stack_rows = &recording->stack_rows;
    recording->decoder.quality = recording->flight ? NULL : &recording->quality;
    if (recording->gpu) {
        recording->decoder.overlaps = &recording->gpu->overlaps;
        recording->decoder.calls_end = &recording->gpu->cupti_state.calls_end;
    }
    recording->decoder.own_calls = recording->logs ? &recording->logs->own : NULL;
    recording->decoder.profiled = recording->metrics ? recording->profiled : NULL;
    recording->profiled->correlation = &recording->decoder.correlation;
    lag_open(&recording->lag);
    /* With metrics each launch waits until its kernel has ended. */
    if (recording->follows && !recording->metrics) {
        recording->decoder.lag = &recording->lag;
        matching_open(&recording->matching, use_match, recording);
        recording->decoder.matching = &recording->matching;
    }
    if (capture_open(&recording->capture, capture_mode, at_once) == CAPTURE_BEGIN)
        append_range_row(recording, MP_capture_kind_begin, MP_capture_reason_start_of_process,
                         recording->begin_time, 0);
    return MP_OK;
}

void recording_close(struct recording *recording)
{
    decoder_close(&recording->decoder);
    dictionary_close(&recording->dictionary);
    edges_close(recording->edges);
    paths_close(&recording->paths);
    carried_close(&recording->carried);
    profiled_close(recording->profiled);
    host_rows_close(&recording->host_rows);
    stack_rows_close(&recording->stack_rows);
    matching_close(&recording->matching);
    payloads_close(&recording->payloads);
    collectives_close(&recording->collectives);
}

/* ---- Marks and buffers ---- */

static void cut_file(struct recording *recording)
{
    /* Resets the counters that are no losses and belong to the part that is cut away. */
    recording->quality.values[QUALITY_profiled_kernels] = recording->profiled->rows_filled;
    recording->lag.max = 0;
    recording->quality.values[QUALITY_gpu_behind_ms] = 0;
    recording->quality.values[QUALITY_unanswered_launches] = 0;
    matching_restart(&recording->matching);
    mp_writer_cut(recording->writer);
    dictionary_restart(&recording->dictionary);
    payloads_restart(&recording->payloads, &recording->dictionary);
    collectives_restart(&recording->collectives);
    paths_restart(&recording->paths);
    stack_rows_restart(&recording->stack_rows);
    carried_restart(&recording->carried);
    quality_restart(&recording->quality);
    profiled_restart(recording->profiled);
    if (recording->samples)
        samples_restart(recording->samples);
}

static void apply_mark(struct recording *recording, const struct work *mark)
{
    uint64_t correlation = decode_correlation(&recording->decoder, mark->correlation);

    /* If the id is unknown: everything met so far was launched before. */
    if (!correlation && mark->kind == WORK_START)
        correlation = recording->decoder.correlation;
    enum capture_step step = mark->kind == WORK_START
                                 ? capture_start(&recording->capture, mark->time, correlation,
                                                 mark->reason == MP_capture_reason_profiler_api)
                                 : capture_stop(&recording->capture, mark->time, correlation);
    if (step == CAPTURE_NOTHING)
        return;
    if (step == CAPTURE_CUT)
        cut_file(recording);
    if (step != CAPTURE_END) {
        lag_restart(&recording->lag);
        if (recording->gpu)
            clock_renewal_restart(&recording->gpu->clock_renewal, recording->decoder.counts.work);
    }
    append_range_row(recording, step == CAPTURE_END ? MP_capture_kind_end : MP_capture_kind_begin,
                     mark->reason, mark->time, correlation);
}

/* Notes which of the launches met so far may have no record (cupti/launch_matching.h). The order of
 * the reads matters: `captured_until` is set before `stream_captures` falls to 0. Without CUPTI's
 * callbacks nobody says which launches were captured. */
static void note_captures(struct recording *recording)
{
    const struct gpu *gpu = recording->gpu;

    if (!gpu)
        return;
    recording->lag.silent_graphs =
        atomic_load(&gpu->cuda.device_graphs) || atomic_load(&gpu->cuda.conditional_graphs);
    if (contexts_may_be_captured(gpu) ||
        (atomic_load(&gpu->cupti_state.callbacks_taken) && atomic_load(&gpu->cuda.graph_met))) {
        recording->lag.captured = UINT64_MAX;
        return;
    }
    uint32_t until = atomic_load(&gpu->cuda.captured_until);
    if (until != recording->captured_until || recording->lag.captured == UINT64_MAX)
        recording->lag.captured = decode_nearest(&recording->decoder, until);
    recording->captured_until = until;
}

static void recording_take_work(struct recording *recording)
{
    struct work item;

    while (work_take(recording->queue, &item)) {
        if (item.kind == WORK_LAST) {
            capture_limit(&recording->capture, item.time);
            recording->untimed_before_end = recording->decoder.counts.zero_times;
            continue;
        }
        if (item.kind == WORK_EARLIER) {
            decode_earlier(&recording->decoder, 0, item.time);
            continue;
        }
        if (item.kind != WORK_BUFFER) {
            apply_mark(recording, &item);
            continue;
        }
        profiled_collect(recording->profiled); /* records of kernels may be in the buffer */
        decode_limit_times(&recording->decoder, recording->begin_time,
                           (uint64_t)(mp_monotonic_ms() - recording->begin_ms) * 1000000u);
        note_captures(recording);
        decode_buffer(&recording->decoder, item.data, item.bytes);
        buffer_release(recording->pool, item.data);
        if (recording->rest)
            recording->rest(recording->rest_context);
    }
}

/* ---- Calls that callbacks saw ---- */

static void append_call(struct recording *recording, uint32_t tid, const struct call_entry *entry)
{
    struct dictionary *dictionary = &recording->dictionary;
    struct decoder *decoder = &recording->decoder;
    uint64_t correlation = decode_correlation(decoder, entry->correlation);

    if (!entry->result && api_set_launches(decoder->api, entry->detail, entry->cbid)) {
        note_captures(recording);
        decode_launch(decoder, entry->detail, entry->cbid, entry->start, correlation);
    }
    mp_append_call(recording->writer,
                   &(struct mp_row_call){
                       .thread = dictionary_thread(dictionary, tid),
                       .function = dictionary_function(dictionary, entry->detail, entry->cbid),
                       .start = entry->start,
                       .duration = entry->end - entry->start,
                       .correlation = correlation,
                       .result = entry->result,
                       .stack = stack_rows_of_call(&recording->stack_rows, entry->correlation),
                   });
}

static void use_entry(void *context, uint32_t tid, const struct call_entry *entry)
{
    struct recording *recording = context;

    if (work_waiting(recording->queue))
        recording_take_work(recording);
    if (entry->kind >= CALL_ENTRY_HOST_FUNCTION && entry->kind <= CALL_ENTRY_GRAPH_LAUNCH) {
        host_rows_take(recording, tid, entry);
        return;
    }
    if (entry->kind == CALL_ENTRY_STEP) {
        call_rows_step(recording, tid, entry);
        return;
    }
    if (!capture_keeps_time(&recording->capture, entry->start))
        return;
    if (recording->gpu)
        clients_note(recording->gpu, entry);
    if (!call_rows_append(recording, tid, entry))
        append_call(recording, tid, entry);
}

/* ---- Waits ---- */

static void take_waits(struct recording *recording)
{
    struct mp_preload_wait wait;

    while (waits_take(recording->waits, &wait)) {
        if (work_waiting(recording->queue))
            recording_take_work(recording);
        if (capture_keeps_span(&recording->capture, wait.begin, wait.end))
            call_rows_wait(recording, &wait);
    }
}

/* ---- Samples of threads in gaps ---- */

_Static_assert((int)GAP_GIL_FREE == MP_gil_free && (int)GAP_GIL_HELD == MP_gil_held,
               "one enumeration");

static void use_gap_sample(void *context, const struct gap_sample *sample)
{
    struct recording *recording = context;

    if (work_waiting(recording->queue))
        recording_take_work(recording);
    if (capture_keeps_time(&recording->capture, sample->time))
        mp_append_host_sample(recording->writer,
                              &(struct mp_row_host_sample){
                                  .thread = dictionary_thread(&recording->dictionary, sample->tid),
                                  .time = sample->time,
                                  .computing = sample->computing,
                                  .stack = stack_rows_of_sample(&recording->stack_rows,
                                                                &recording->stacks->gaps, sample),
                                  .gil = sample->gil,
                              });
}

static void take_gap_samples(struct recording *recording)
{
    if (recording->stack_rows.stacks)
        gaps_drain(recording->stacks, &recording->gpu->core, use_gap_sample, recording);
}

/* ---- NVTX ---- */

static void use_event(void *context, const struct mp_nvtx_event *event)
{
    struct recording *recording = context;
    struct dictionary *dictionary = &recording->dictionary;
    uint64_t time;
    bool cut;

    if (work_waiting(recording->queue))
        recording_take_work(recording);
    if (event->kind == MP_NVTX_CATEGORY) {
        payloads_name_category(&recording->payloads, dictionary, event);
        return;
    }
    collectives_take(&recording->collectives, event);
    if (event->kind == MP_NVTX_NOTE)
        return;
    struct open_thread *thread = carried_take(&recording->carried, event);
    paths_take(&recording->paths, thread, event);
    if (event->kind == MP_NVTX_ORIGIN)
        return;
    recording->nvtx_events++;
    if (!carried_keeps(&recording->carried, thread, event, &time, &cut))
        return;
    struct payload_mark mark = payloads_mark(&recording->payloads, dictionary, event);
    mp_append_nvtx(recording->writer, &(struct mp_row_nvtx){
                                          .thread = dictionary_thread(dictionary, event->tid),
                                          .kind = event->kind,
                                          .domain = dictionary_string(dictionary, event->domain),
                                          .name = dictionary_string(dictionary, event->name),
                                          .time = time,
                                          .range = event->range,
                                          .category = event->category,
                                          .color = event->color,
                                          .payload_type = event->payload_type,
                                          .payload = event->payload,
                                          .cut = cut,
                                          .payload_schema = mark.schema,
                                          .extended = mark.number,
                                      });
    payloads_append(&recording->payloads, dictionary, event, mark);
}

static void use_thread_end(void *context, uint32_t tid)
{
    struct recording *recording = context;

    open_ranges_end_thread(&recording->carried.open, tid);
    collectives_end_thread(&recording->collectives, tid);
}

static void use_thread_name(void *context, uint32_t tid, const char *name)
{
    struct recording *recording = context;

    dictionary_name_thread(&recording->dictionary, tid, name);
}

/* ---- Kernels that were profiled ---- */

static void take_profiled(struct recording *recording)
{
    struct profiled_launch *launch;

    while ((launch = profiled_next(recording->profiled))) {
        if (work_waiting(recording->queue))
            recording_take_work(recording);
        profiled_append(recording->profiled, recording, launch);
    }
}

/* ---- Samples of counters ---- */

static void take_samples(struct recording *recording)
{
    struct sample_batch *batch;

    if (!recording->samples)
        return;
    sample_rows_define(recording->samples, recording);
    while ((batch = samples_take(recording->samples))) {
        if (work_waiting(recording->queue))
            recording_take_work(recording);
        sample_rows_append(recording->samples, recording, batch);
    }
}

/* ---- Rounds ---- */

static void take_nvtx(struct recording *recording)
{
    const struct mp_nvtx_sink sink = {
        .context = recording,
        .event = use_event,
        .thread_name = use_thread_name,
        .thread_end = use_thread_end,
        .plain = recording->gpu && recording->gpu->core.config.operators != MP_OPERATORS_OFF,
    };

    edges_ripen(recording->edges);
    carried_begin_drain(&recording->carried);
    mp_nvtx_drain(&sink);
    carried_end_drain(&recording->carried);
    paths_settle(&recording->paths, recording->edges, &recording->dictionary);
}

void recording_round(struct recording *recording)
{
    recording_take_work(recording);
    edges_take(recording->edges);
    take_profiled(recording);
    call_logs_drain(recording->logs, use_entry, recording);
    host_rows_settle(recording, false);
    take_waits(recording);
    take_gap_samples(recording);
    take_samples(recording);
    take_nvtx(recording);
}

void recording_take(struct recording *recording)
{
    uint32_t done = atomic_load(&recording->gpu->flusher.done);

    recording_round(recording);
    atomic_store(&recording->gpu->flusher.taken, done);
}

void recording_take_next(struct recording *recording)
{
    work_wait(recording->queue, mp_time_limit_ms(MP_TIME_WRITER_TAKE));
    recording_take(recording);
}

void recording_gather(struct recording *recording, int ms)
{
    struct flusher *flusher = &recording->gpu->flusher;
    uint32_t request = flusher_ask(flusher);
    int64_t until = mp_monotonic_ms() + ms;

    while (!flusher_is_done(flusher, request) && mp_monotonic_ms() < until)
        recording_take_next(recording);
    recording_take(recording);
}

static uint64_t count_of(const _Atomic uint64_t *count)
{
    return count ? atomic_load(count) : 0;
}

static void collect_counters(struct recording *recording)
{
    const struct decode_counts *counts = &recording->decoder.counts;
    uint64_t *values = recording->quality.values;

    values[QUALITY_dropped_overflow] = atomic_load(&recording->pool->discarded);
    values[QUALITY_dropped_at_least] =
        atomic_load(&recording->pool->spilled) / RECORD_BYTES_AT_MOST;
    values[QUALITY_dropped_calls] =
        call_logs_lost(recording->logs) + recording->host_rows.forgotten;
    values[QUALITY_dropped_stacks] = stack_rows_lost(&recording->stack_rows);
    if (recording->gpu)
        values[QUALITY_dropped_stacks] += atomic_load(&recording->stacks->gaps.lost);
    values[QUALITY_dropped_waits] = atomic_load(&recording->waits->lost);
    values[QUALITY_dropped_nvtx] = mp_nvtx_dropped() + recording->carried.lost;
    values[QUALITY_dropped_payloads] =
        mp_nvtx_payloads_dropped() + recording->payloads.lost + recording->collectives.lost;
    values[QUALITY_nccl_plugin] = nccl_plugin_version();
    values[QUALITY_unknown_payloads] = mp_nvtx_payloads_unknown();
    values[QUALITY_dropped_marks] = atomic_load(&recording->queue->lost);
    values[QUALITY_dropped_unwritten] = recording->writer->lost_rows;
    values[QUALITY_dropped_foreign_times] = counts->foreign_times;
    values[QUALITY_dropped_edges] = edges_lost(recording->edges);
    values[QUALITY_dropped_paths] = recording->paths.lost + count_of(recording->paths_lost) +
                                    atomic_load(&recording->edges->nodes_lost);
    values[QUALITY_gpu_behind_ms] = recording->lag.max / 1000000u;
    if (recording->gpu)
        values[QUALITY_clock_renewals] = atomic_load(&recording->gpu->cupti_state.clocks);
    values[QUALITY_dropped_functions] = host_functions_lost(recording->gpu);
    values[QUALITY_device_graphs] = count_of(recording->device_graphs);
    values[QUALITY_conditional_graphs] = count_of(recording->conditional_graphs);
    values[QUALITY_device_launchers] = count_of(recording->device_launchers);
    values[QUALITY_device_launches] = counts->device_launches;
    if (recording->samples) {
        values[QUALITY_dropped_samples] = atomic_load(&recording->samples->lost);
        values[QUALITY_sample_overflows] = atomic_load(&recording->samples->overflows);
    }
    values[QUALITY_dropped_metrics] = atomic_load(&recording->profiled->lost);
    values[QUALITY_buffers_exhausted] = atomic_load(&recording->pool->exhausted);
    values[QUALITY_zero_timestamps] = counts->zero_times;
    if (recording->gpu && atomic_load(&recording->gpu->cuda.busy_at_end))
        values[QUALITY_running_at_end] = counts->zero_times - recording->untimed_before_end;
    values[QUALITY_reversed_timestamps] = counts->reversed_times;
    values[QUALITY_inexact_nvtx_times] = mp_nvtx_inexact();
    values[QUALITY_unknown_records] = counts->unknown;
    values[QUALITY_undefined_references] = recording->dictionary.failures;
    values[QUALITY_profiled_kernels] = recording->profiled->rows_filled;
    values[QUALITY_nested_driver_calls] = recording->decoder.nested.dropped;
}

static void say_failure(struct recording *recording)
{
    const struct mp_writer *writer = recording->writer;
    const struct mp_error *failure = &writer->failure;

    if (failure->status == MP_OK || recording->failure_said)
        return;
    if (writer->waits) {
        if (!recording->wait_said)
            mp_log_warn("'%s': %s: records are lost until there is room, the program runs on",
                        recording->path, failure->text);
        recording->wait_said = true;
        return;
    }
    recording->failure_said = true;
    mp_nvtx_set_recording(false);
    mp_log_error("'%s': %s: recording stops, the program runs on", recording->path, failure->text);
}

/* While another CUPTI client has the records, no launch is awaited; clients.c says so. */
static void look_at_lag(struct recording *recording)
{
    struct lag *lag = &recording->lag;
    bool taken = recording->gpu && atomic_load(&recording->gpu->clients.taken);

    if (taken) {
        lag_restart(lag);
        matching_restart(&recording->matching);
    }
    if (recording->decoder.lag)
        recording->decoder.matching = taken ? NULL : &recording->matching;
    uint64_t late = lag_look(lag);
    if (late)
        mp_log_warn("the GPU's records are %.1f s behind its launches: CUPTI does not keep up, or "
                    "nothing on the GPU has ended for so long; record shorter ranges "
                    "(MINIPROF_DURATION, MINIPROF_CAPTURE=range)",
                    (double)late / 1e9);
}

/* Whether launches are recorded, and the last one has a record. Copies and work on other streams
 * may still be under way; that is not known. */
static bool is_answered(const struct recording *recording)
{
    const struct decoder *decoder = &recording->decoder;

    return decoder->launched && decoder->worked >= decoder->launched &&
           !recording->lag.silent_graphs && recording->lag.captured != UINT64_MAX;
}

bool recording_slows_cupti(const struct recording *recording)
{
    return recording->decoder.lag && recording->gpu &&
           quirk_is_in(QUIRK_ever_slower, recording->gpu->cupti.version);
}

/* Whether a range begins whose mark has not come yet. Only the mark lets clock_renewal_restart know
 * of the range. */
static bool range_begins(const struct recording *recording)
{
    return recording->gpu->core.wanted.lazy && !recording->capture.open;
}

/* Has the clock registered again, where CUPTI would get slower without. */
static void look_clock(struct recording *recording)
{
    const struct decoder *decoder = &recording->decoder;
    struct gpu *gpu = recording->gpu;

    if (!recording_slows_cupti(recording) || !atomic_load(&gpu->core.enabled) ||
        range_begins(recording) || atomic_load(&gpu->clients.taken) ||
        !clock_renewal_is_due(&gpu->clock_renewal, mp_clock_now(), decoder->counts.work,
                              recording->lag.work_end, is_answered(recording)))
        return;
    atomic_store(&gpu->flusher.gives_clock, true);
    flusher_ask(&gpu->flusher);
}

void recording_flush(struct recording *recording)
{
    say_failure(recording); /* failure of a chunk that was full between two flushes */
    nested_flush(&recording->decoder.nested, false);
    look_at_lag(recording);
    look_clock(recording);
    collect_counters(recording);
    if (!recording->flight)
        quality_attribute(&recording->quality, &recording->dictionary, recording->capture.count);
    if (recording->flight)
        flight_note_counts(recording->flight, &recording->quality);
    else
        quality_append(&recording->quality, &recording->dictionary, mp_clock_now());
    mp_writer_set_dropped(recording->writer, quality_dropped(&recording->quality));
    if (mp_writer_flush(recording->writer) != MP_OK)
        quality_repeat(&recording->quality);
    say_failure(recording);
}

void recording_settle(struct recording *recording)
{
    host_rows_settle(recording, true);
    take_nvtx(recording); /* graphs may have come while the events were taken */
    nested_flush(&recording->decoder.nested, true);
}

void recording_begin_anew(struct recording *recording)
{
    recording_settle(recording);
    cut_file(recording);
}

void recording_end(struct recording *recording, uint64_t time)
{
    recording_round(recording);
    recording_settle(recording);
    collectives_settle(&recording->collectives);
    matching_end(&recording->matching);
    dictionary_refresh_threads(&recording->dictionary);
    if (recording->capture.open)
        append_range_row(recording, MP_capture_kind_end, MP_capture_reason_end_of_process, time,
                         recording->decoder.correlation);
    recording->quality.values[QUALITY_writer_cpu_ns] = throttle_cpu_now();
}
