/* Rows of what threads did on the host, apart from calls: dependencies that they made or awaited,
 * values in memory, waits, steps, and how the kernel divided the time between two calls.
 */
#include "record/rows/call_rows.h"

#include "record/rows/recording.h"

#include "base/poison.h"

static void append_sync(struct recording *recording, uint32_t tid, const struct call_entry *entry)
{
    mp_append_sync(recording->writer,
                   &(struct mp_row_sync){
                       .thread = dictionary_thread(&recording->dictionary, tid),
                       .kind = entry->detail,
                       .context = entry->context,
                       .stream = entry->stream,
                       .event = entry->event,
                       .start = entry->start,
                       .duration = entry->end - entry->start,
                       .correlation = decode_correlation(&recording->decoder, entry->correlation),
                       .result = entry->result,
                   });
}

static void append_value(struct recording *recording, const struct call_entry *entry)
{
    mp_append_stream_value(recording->writer, &(struct mp_row_stream_value){
                                                  .stream = entry->stream,
                                                  .context = entry->context,
                                                  .operation = entry->detail,
                                                  .bits = entry->cbid,
                                                  .address = entry->event,
                                                  .value = entry->end,
                                                  .start = entry->start,
                                                  .correlation = decode_correlation(
                                                      &recording->decoder, entry->correlation),
                                              });
}

static void append_host_time(struct recording *recording, uint32_t tid,
                             const struct call_entry *entry)
{
    mp_append_host_time(recording->writer,
                        &(struct mp_row_host_time){
                            .thread = dictionary_thread(&recording->dictionary, tid),
                            .start = entry->start,
                            .duration = entry->end - entry->start,
                            .computing = entry->event,
                            .ready = (uint64_t)entry->context << 32 | entry->stream,
                        });
}

bool call_rows_append(struct recording *recording, uint32_t tid, const struct call_entry *entry)
{
    switch (entry->kind) {
    case CALL_ENTRY_SYNC:
        append_sync(recording, tid, entry);
        return true;
    case CALL_ENTRY_VALUE:
        append_value(recording, entry);
        return true;
    case CALL_ENTRY_HOST_TIME:
        append_host_time(recording, tid, entry);
        return true;
    default:
        return false;
    }
}

void call_rows_step(struct recording *recording, uint32_t tid, const struct call_entry *entry)
{
    const struct capture *capture = &recording->capture;
    struct dictionary *dictionary = &recording->dictionary;

    if (!capture->held || entry->start < capture->ranges[0].begin_time)
        return;
    mp_append_step(recording->writer,
                   &(struct mp_row_step){
                       .thread = dictionary_thread(dictionary, tid),
                       .name = dictionary_string(dictionary, recording->step_names[entry->event]),
                       .recorded = entry->detail,
                       .start = entry->start,
                       .duration = entry->end - entry->start,
                   });
}

void call_rows_wait(struct recording *recording, const struct mp_preload_wait *wait)
{
    struct dictionary *dictionary = &recording->dictionary;

    mp_append_wait(recording->writer,
                   &(struct mp_row_wait){
                       .thread = dictionary_thread(dictionary, wait->thread),
                       .kind = wait->kind,
                       .object = wait->object,
                       .start = wait->begin,
                       .duration = wait->end - wait->begin,
                       .waker = wait->waker ? dictionary_thread(dictionary, wait->waker) : 0,
                       .woken = wait->waker ? wait->woken - wait->begin : 0,
                   });
}
