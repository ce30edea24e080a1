/* Metadata events: how viewers call processes, GPUs, threads and streams, and in which order they
 * show them. Each is written where its first event comes.
 */
#include "export/kineto/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/poison.h"

uint64_t kineto_rank(const struct trace_set *set, size_t number)
{
    uint64_t rank = set->processes[number].rank;

    return rank == TRACE_SET_UNKNOWN ? number : rank;
}

#define GPU_SORT_INDEX 16777216 /* Kineto's: GPUs come after all processes */
#define SYNC_ROWS      1000000  /* greater than streams of any program */
#define NAME_BYTES     96

enum introduced { THREAD, DEVICE, STREAM };

/* Whether it is the first time. */
static enum mp_status is_first(struct kineto *kineto, enum introduced kind, uint64_t number,
                               bool *first)
{
    uint64_t key = (uint64_t)kind << 62 | (number & INT64_MAX);

    *first = mp_map_get(&kineto->introduced, key) == MP_MAP_ABSENT;
    return *first ? mp_map_put(&kineto->introduced, key, 0) : MP_OK;
}

static void begin_metadata(struct kineto *kineto, const char *what, uint64_t process,
                           int64_t thread)
{
    event_begin(&kineto->events, 'M', NULL);
    event_literal_name(&kineto->events, what);
    event_place(&kineto->events, process, thread);
    event_time(&kineto->events, kineto->process->who->first_time);
    event_args(&kineto->events);
}

static void write_text(struct kineto *kineto, const char *what, uint64_t process, int64_t thread,
                       const char *key, const char *text)
{
    begin_metadata(kineto, what, process, thread);
    event_text(&kineto->events, key, text, strlen(text));
    event_end(&kineto->events);
}

static void write_order(struct kineto *kineto, const char *what, uint64_t process, int64_t thread,
                        uint64_t order)
{
    begin_metadata(kineto, what, process, thread);
    event_number(&kineto->events, "sort_index", order);
    event_end(&kineto->events);
}

static const char *command_of(const struct kineto *kineto)
{
    const char *command = kineto->process->who->command;

    return command ? command : "program";
}

enum mp_status kineto_introduce_process(struct kineto *kineto)
{
    write_text(kineto, "process_name", kineto->pid, 0, "name", command_of(kineto));
    write_text(kineto, "process_labels", kineto->pid, 0, "labels", "CPU");
    write_order(kineto, "process_sort_index", kineto->pid, 0, 0);
    return kineto->events.text.status;
}

static enum mp_status introduce_device(struct kineto *kineto, uint64_t device)
{
    char label[NAME_BYTES];
    bool first;

    MP_TRY(is_first(kineto, DEVICE, device, &first));
    if (!first)
        return MP_OK;
    snprintf(label, sizeof label, "GPU %" PRIu64, device);
    write_text(kineto, "process_name", device, 0, "name", command_of(kineto));
    write_text(kineto, "process_labels", device, 0, "labels", label);
    write_order(kineto, "process_sort_index", device, 0, GPU_SORT_INDEX + device);
    return kineto->events.text.status;
}

enum mp_status kineto_introduce_thread(struct kineto *kineto, const struct export_thread *thread)
{
    char name[NAME_BYTES + 256];
    bool first;

    if (!thread)
        return MP_OK;
    MP_TRY(is_first(kineto, THREAD, thread->id, &first));
    if (!first)
        return MP_OK;
    if (thread->name.text)
        snprintf(name, sizeof name, "thread %" PRIu64 " (%.256s)", thread->tid, thread->name.text);
    else
        snprintf(name, sizeof name, "thread %" PRIu64, thread->tid);
    write_text(kineto, "thread_name", kineto->pid, (int64_t)thread->tid, "name", name);
    write_order(kineto, "thread_sort_index", kineto->pid, (int64_t)thread->tid, thread->tid);
    return kineto->events.text.status;
}

int64_t kineto_sync_row(int64_t stream)
{
    return (int64_t)(SYNC_ROWS + (uint64_t)stream); /* of a damaged trace it may be any number */
}

static void name_stream(char name[NAME_BYTES], int64_t row)
{
    if (row >= SYNC_ROWS)
        snprintf(name, NAME_BYTES, "waits for stream %" PRId64, row - SYNC_ROWS);
    else if (row == kineto_sync_row(-1))
        snprintf(name, NAME_BYTES, "waits for events and the device");
    else
        snprintf(name, NAME_BYTES, "stream %" PRId64 " ", row);
}

enum mp_status kineto_introduce_stream(struct kineto *kineto, uint64_t device, int64_t row)
{
    char name[NAME_BYTES];
    bool first;

    MP_TRY(is_first(kineto, STREAM, device << 40 ^ (uint64_t)row, &first));
    if (!first)
        return MP_OK;
    MP_TRY(introduce_device(kineto, device));
    name_stream(name, row);
    write_text(kineto, "thread_name", device, row, "name", name);
    write_order(kineto, "thread_sort_index", device, row, (uint64_t)row);
    return kineto->events.text.status;
}
