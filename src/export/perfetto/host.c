/* What threads did: calls, waits and NVTX ranges as slices of their tracks, marks as moments.
 *
 *     process          start and end ranges, one track a domain; unified memory; pools
 *       thread         CUDA calls
 *         NVTX         one track a domain
 *         sync         what synchronising calls named
 *         waits        outside of CUDA
 *         host functions, profiling overhead
 */
#include "export/perfetto/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- Stacks of calls ---- */

/* Perfetto's callstacks: functions, files, frames and stacks are interned, each once, by the
 * trace's numbers. A stack has its outermost frame first. */

enum mp_status callers_begin(struct perfetto *perfetto, struct mp_error *error)
{
    perfetto->process.callers.loaded = true;
    return call_stacks_load(&perfetto->process.callers.stacks, perfetto->process.of->trace, error);
}

void callers_free(struct process *process)
{
    struct callers *callers = &process->callers;

    if (callers->loaded)
        call_stacks_free(&callers->stacks);
    free(callers->names.bits);
    free(callers->frames.bits);
    free(callers->known.bits);
    mp_buffer_free(&callers->text);
    *callers = (struct callers){.loaded = false};
}

static void intern_text(struct packets *packets, unsigned field, uint64_t number, const char *text)
{
    size_t at = proto_begin(&packets->bytes, field);

    proto_uint(&packets->bytes, IID, number);
    packets_text(packets, IID_NAME, text, strlen(text));
    proto_end(&packets->bytes, at);
}

/* The number of a frame's name. Frames without a function have one name for each kind; its number
 * comes after those of the functions. */
static uint64_t intern_name(struct perfetto *perfetto, const struct stack_frame *frame)
{
    struct callers *callers = &perfetto->process.callers;
    const struct stack_code *code = call_stacks_code(&callers->stacks, frame);
    uint64_t number = code->name ? frame->code : callers->stacks.codes.count + 1 + frame->kind % 64;

    if (!number_is_new(&perfetto->packets, &callers->names, number))
        return number;
    mp_buffer_clear(&callers->text);
    if (!code->name)
        call_stacks_put_place(&callers->text, &callers->stacks, frame, false);
    mp_buffer_append_byte(&callers->text, '\0');
    if (callers->text.status)
        return number;
    intern_text(&perfetto->packets, INTERNED_FUNCTIONS, number,
                code->name ? code->name : (const char *)callers->text.data);
    if (code->name && code->file)
        intern_text(&perfetto->packets, INTERNED_SOURCES, number, code->file);
    return number;
}

static void intern_frame(struct perfetto *perfetto, uint32_t stack)
{
    struct callers *callers = &perfetto->process.callers;
    const struct stack_frame *frame = call_stacks_frame(&callers->stacks, stack);
    const struct stack_code *code = call_stacks_code(&callers->stacks, frame);
    struct mp_buffer *bytes = &perfetto->packets.bytes;
    uint64_t number = call_stacks_link(&callers->stacks, stack)->frame;

    if (!number_is_new(&perfetto->packets, &callers->frames, number))
        return;
    uint64_t name = intern_name(perfetto, frame);
    size_t at = proto_begin(bytes, INTERNED_FRAMES);
    proto_uint(bytes, IID, number);
    proto_uint(bytes, FRAME_FUNCTION, name);
    if (code->name && code->file)
        proto_uint(bytes, FRAME_SOURCE, name);
    if (frame->line)
        proto_uint(bytes, FRAME_LINE, frame->line);
    proto_end(bytes, at);
}

static uint64_t callers_of(struct perfetto *perfetto, uint64_t correlation)
{
    struct callers *callers = &perfetto->process.callers;
    struct packets *packets = &perfetto->packets;
    uint32_t stack = call_stacks_of_call(&callers->stacks, correlation);
    uint32_t chain[CALL_STACKS_DEPTH];
    size_t depth = 0;

    if (!stack || !number_is_new(packets, &callers->known, stack))
        return stack;
    for (uint32_t of = stack; of && depth < CALL_STACKS_DEPTH;
         of = call_stacks_caller(&callers->stacks, of))
        chain[depth++] = of;
    size_t packet = packet_begin_timeless(packets);
    size_t interned = proto_begin(&packets->bytes, PACKET_INTERNED);
    for (size_t i = 0; i < depth; i++)
        intern_frame(perfetto, chain[i]);
    size_t at = proto_begin(&packets->bytes, INTERNED_CALLSTACKS);
    proto_uint(&packets->bytes, IID, stack);
    while (depth-- > 0)
        proto_uint(&packets->bytes, CALLSTACK_FRAMES,
                   call_stacks_link(&callers->stacks, chain[depth])->frame);
    proto_end(&packets->bytes, at);
    proto_end(&packets->bytes, interned);
    packet_end(packets, packet);
    return stack;
}

/* ---- Process and threads ---- */

void host_begin(struct perfetto *perfetto)
{
    struct process *process = &perfetto->process;
    struct packets *packets = &perfetto->packets;
    size_t at = packet_begin_timeless(packets);
    size_t track = proto_begin(&packets->bytes, PACKET_TRACK);

    process->uuid = process->slices.next_uuid++;
    proto_uint(&packets->bytes, TRACK_UUID, process->uuid);
    size_t described = proto_begin(&packets->bytes, TRACK_PROCESS);
    proto_uint(&packets->bytes, PROCESS_PID, process->pid);
    packets_text(packets, PROCESS_NAME, process->name, strlen(process->name));
    proto_end(&packets->bytes, described);
    proto_end(&packets->bytes, track);
    packet_end(packets, at);
    process->unified = (struct track){.parent = process->uuid, .name = "Unified memory"};
    process->pools = (struct track){.parent = process->uuid, .name = "Memory pools"};
}

static uint64_t announce_thread(struct process *process, const struct export_thread *thread)
{
    struct packets *packets = process->slices.packets;
    size_t at = packet_begin_timeless(packets);
    size_t track = proto_begin(&packets->bytes, PACKET_TRACK);
    uint64_t uuid = process->slices.next_uuid++;

    proto_uint(&packets->bytes, TRACK_UUID, uuid);
    proto_uint(&packets->bytes, TRACK_PARENT, process->uuid);
    size_t described = proto_begin(&packets->bytes, TRACK_THREAD);
    proto_uint(&packets->bytes, THREAD_PID, process->pid);
    proto_uint(&packets->bytes, THREAD_TID, thread->tid);
    if (thread->name.text)
        proto_bytes(&packets->bytes, THREAD_NAME, thread->name.text, thread->name.bytes);
    proto_end(&packets->bytes, described);
    proto_end(&packets->bytes, track);
    packet_end(packets, at);
    return uuid;
}

static void name_tracks(struct track *tracks, uint64_t parent)
{
    static const char *const names[THREAD_TRACKS] = {
        [THREAD_CALLS] = "CUDA calls",
        [THREAD_SYNCS] = "CUDA synchronisation",
        [THREAD_WAITS] = "Waits",
        [THREAD_FUNCTIONS] = "Host functions",
        [THREAD_OVERHEADS] = "Profiling overhead",
    };

    for (unsigned i = 0; i < THREAD_TRACKS; i++)
        tracks[i] = (struct track){.parent = parent, .name = names[i]};
}

static enum mp_status reach_thread(struct process *process, uint32_t number)
{
    size_t capacity = process->thread_capacity;

    while (number >= process->thread_capacity) {
        MP_TRY(MP_RESERVE(process->threads, capacity, process->thread_capacity));
        memset(process->threads + capacity, 0,
               (process->thread_capacity - capacity) * sizeof *process->threads);
        capacity = process->thread_capacity;
    }
    return MP_OK;
}

/* Tracks of a thread; of a row without one those of an unknown thread. */
static enum mp_status tracks_of(struct process *process, const struct export_thread *thread,
                                struct track **tracks)
{
    *tracks = process->unknown_thread;
    if (!thread) {
        if (!(*tracks)->parent)
            name_tracks(*tracks, process->uuid);
        return MP_OK;
    }
    MP_TRY(reach_thread(process, thread->id));
    struct thread_tracks *of = &process->threads[thread->id];
    *tracks = of->tracks;
    if (of->uuid)
        return MP_OK;
    of->uuid = announce_thread(process, thread);
    name_tracks(of->tracks, of->uuid);
    of->tracks[THREAD_CALLS].uuid = of->uuid;
    return MP_OK;
}

/* ---- NVTX ---- */

static enum mp_status new_range_track(struct process *process, const struct export_row *row,
                                      uint64_t parent, uint32_t *index)
{
    const char *kind = row->kind == EXPORT_RANGE && !row->pushed ? "NVTX start/end" : "NVTX";
    const char *domain = row->domain.text;
    size_t bytes = strlen(kind) + (domain ? row->domain.bytes : 0) + sizeof ": ";
    char *name = malloc(bytes);

    if (!name)
        return MP_ERR_MEMORY;
    snprintf(name, bytes, "%s%s%s", kind, domain ? ": " : "", domain ? domain : "");
    *index = (uint32_t)process->range_count;
    if (mp_reserve((void **)&process->range, *index, &process->range_capacity,
                   sizeof *process->range)) {
        free(name);
        return MP_ERR_MEMORY;
    }
    process->range[process->range_count++] =
        (struct track){.parent = parent, .name = name, .owned_name = name};
    return MP_OK;
}

/* The track of a domain: of the thread for pushes and marks, of the process for starts, which may
 * end in other threads. */
static enum mp_status range_track(struct process *process, const struct export_row *row,
                                  struct track **track)
{
    bool of_process = row->kind == EXPORT_RANGE && !row->pushed;
    uint64_t thread = of_process || !row->thread ? 0 : row->thread->id;
    uint64_t key = thread << 33 | (uint64_t)row->domain.id << 1 | of_process;
    uint32_t index = mp_map_get(&process->ranges, key);
    struct track *of_thread;

    if (index == MP_MAP_ABSENT) {
        MP_TRY(tracks_of(process, row->thread, &of_thread));
        MP_TRY(
            new_range_track(process, row, of_process ? process->uuid : of_thread->parent, &index));
        MP_TRY(mp_map_put(&process->ranges, key, index));
    }
    *track = &process->range[index];
    return MP_OK;
}

static void take_payload(const struct export_row *row, struct slice *slice)
{
    const struct mp_row_nvtx nvtx = export_row_nvtx(row);
    uint64_t type = nvtx.payload_type;

    if (type != MP_payload_type_none) {
        slice->argument = ARGUMENT_PAYLOAD;
        slice->value = nvtx.payload;
        slice->value_type = (uint8_t)type;
    } else if (nvtx.category) {
        slice->argument = ARGUMENT_NVTX_CATEGORY;
        slice->value = nvtx.category;
    }
}

static enum mp_status add_range(struct perfetto *perfetto, const struct export_row *row)
{
    struct process *process = &perfetto->process;
    struct slice slice = {.start = row->start,
                          .duration = row->duration,
                          .name = packets_name(&perfetto->packets, &row->name),
                          .activity = DEPS_NONE,
                          .category = CATEGORY_NVTX,
                          .nests = row->pushed,
                          .open = row->open,
                          .cut = row->cut};
    struct track *track;

    MP_TRY(range_track(process, row, &track));
    if (row->kind == EXPORT_MARK)
        return track_instant(&process->slices, track, row->start, slice.name, CATEGORY_NVTX);
    take_payload(row, &slice);
    return track_add(&process->slices, track, &slice);
}

/* ---- Other slices ---- */

static enum mp_status add_slice(struct perfetto *perfetto, const struct export_row *row,
                                struct track *track, struct slice *slice)
{
    slice->start = row->start;
    slice->duration = row->duration;
    slice->name = packets_name(&perfetto->packets, &row->name);
    return track_add(&perfetto->process.slices, track, slice);
}

static enum mp_status add_call(struct perfetto *perfetto, const struct export_row *row)
{
    uint64_t result = export_row_call(row).result;
    struct slice slice = {.correlation = row->correlation,
                          .callers = callers_of(perfetto, row->correlation),
                          .activity = perfetto->process.links.deps ? row->activity : DEPS_NONE,
                          .category = CATEGORY_CUDA,
                          .argument = result ? ARGUMENT_RESULT : ARGUMENT_NONE,
                          .value = result};
    struct track *tracks;

    MP_TRY(tracks_of(&perfetto->process, row->thread, &tracks));
    return add_slice(perfetto, row, &tracks[THREAD_CALLS], &slice);
}

static enum mp_status add_of_thread(struct perfetto *perfetto, const struct export_row *row,
                                    unsigned which, struct slice *slice)
{
    struct track *tracks;

    slice->activity = DEPS_NONE;
    MP_TRY(tracks_of(&perfetto->process, row->thread, &tracks));
    return add_slice(perfetto, row, &tracks[which], slice);
}

static enum mp_status add_wait(struct perfetto *perfetto, const struct export_row *row)
{
    const struct mp_row_wait wait = export_row_wait(row);
    bool woken = wait.waker != 0;
    struct slice slice = {.category = CATEGORY_WAIT,
                          .argument = woken ? ARGUMENT_WOKEN : ARGUMENT_NONE,
                          .value = woken ? wait.woken : 0};

    return add_of_thread(perfetto, row, THREAD_WAITS, &slice);
}

static enum mp_status add_sync(struct perfetto *perfetto, const struct export_row *row)
{
    const struct mp_row_sync sync = export_row_sync(row);
    bool of_stream = !sync.event;
    struct slice slice = {.category = CATEGORY_SYNC,
                          .correlation = row->correlation,
                          .argument = of_stream ? ARGUMENT_STREAM : ARGUMENT_EVENT,
                          .value = of_stream ? sync.stream : sync.event};

    if (of_stream && slice.value == UINT32_MAX)
        slice.argument = ARGUMENT_NONE;
    return add_of_thread(perfetto, row, THREAD_SYNCS, &slice);
}

static enum mp_status add_of_process(struct perfetto *perfetto, const struct export_row *row)
{
    bool unified = row->kind == EXPORT_UNIFIED;
    struct slice slice = {.activity = DEPS_NONE,
                          .category = unified ? CATEGORY_UNIFIED : CATEGORY_POOL,
                          .argument = unified ? ARGUMENT_VALUE : ARGUMENT_SIZE,
                          .value =
                              unified ? export_row_unified(row).value : export_row_pool(row).size};

    return add_slice(perfetto, row, unified ? &perfetto->process.unified : &perfetto->process.pools,
                     &slice);
}

enum mp_status host_row(struct perfetto *perfetto, const struct export_row *row)
{
    struct slice function = {.category = CATEGORY_HOST_FUNCTION, .correlation = row->correlation};
    struct slice overhead = {.category = CATEGORY_OVERHEAD};

    switch ((int)row->kind) {
    case EXPORT_CALL:
        return add_call(perfetto, row);
    case EXPORT_SYNC:
        return add_sync(perfetto, row);
    case EXPORT_WAIT:
        return add_wait(perfetto, row);
    case EXPORT_HOST_FUNCTION:
        return row->thread ? add_of_thread(perfetto, row, THREAD_FUNCTIONS, &function) : MP_OK;
    case EXPORT_OVERHEAD:
        return add_of_thread(perfetto, row, THREAD_OVERHEADS, &overhead);
    case EXPORT_RANGE:
    case EXPORT_MARK:
        return add_range(perfetto, row);
    case EXPORT_UNIFIED:
    case EXPORT_POOL:
        return add_of_process(perfetto, row);
    default:
        return MP_OK;
    }
}

/* ---- The end ---- */

enum mp_status host_end(struct perfetto *perfetto)
{
    struct process *process = &perfetto->process;
    struct slices *slices = &process->slices;

    for (size_t i = 0; i < process->thread_capacity * THREAD_TRACKS; i++)
        MP_TRY(track_flush(slices, &process->threads[i / THREAD_TRACKS].tracks[i % THREAD_TRACKS]));
    for (unsigned i = 0; i < THREAD_TRACKS; i++)
        MP_TRY(track_flush(slices, &process->unknown_thread[i]));
    for (size_t i = 0; i < process->range_count; i++)
        MP_TRY(track_flush(slices, &process->range[i]));
    MP_TRY(track_flush(slices, &process->unified));
    return track_flush(slices, &process->pools);
}

void host_free(struct process *process)
{
    for (size_t i = 0; i < process->thread_capacity * THREAD_TRACKS; i++)
        track_free(&process->threads[i / THREAD_TRACKS].tracks[i % THREAD_TRACKS]);
    for (unsigned i = 0; i < THREAD_TRACKS; i++)
        track_free(&process->unknown_thread[i]);
    for (size_t i = 0; i < process->range_count; i++)
        track_free(&process->range[i]);
    track_free(&process->unified);
    track_free(&process->pools);
    free(process->threads);
    free(process->range);
    mp_map_free(&process->ranges);
}
