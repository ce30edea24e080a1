/* Calls from a folder into a higher one (README.md has their order), as function pointers, so that
 * the lower folder does not need the higher one. process/jobs.c fills them in before any thread of
 * ours and any callback runs. Any thread reads them; nobody writes them afterwards.
 */
#ifndef MP_RECORD_CORE_JOBS_H
#define MP_RECORD_CORE_JOBS_H

#include <cupti.h>
#include <stdbool.h>
#include <stdint.h>

struct flight;
struct quality;
struct recorder;

struct jobs {
    /* CUPTI's callbacks (process/callbacks.h), which cupti/subscriber.c registers. */
    CUpti_CallbackFunc on_callback;
    /* lifecycle_at_exit_again: CUDA or its first context is there. Any thread. */
    void (*at_exit_again)(struct recorder *recorder);
    /* range_switch: has `how` done while no other thread switches kinds; false, undone, when one
     * does for too long. Any thread. */
    bool (*switch_alone)(struct recorder *recorder, void (*how)(struct recorder *recorder));

    /* What the flusher does: what the end of a capture range asks of CUPTI (range_serve), what the
     * writer asks (flush_buffers), and, when the writer has taken what came, a look at other
     * CUPTI clients (clients_look; `now` in ms). */
    void (*serve_ranges)(struct recorder *recorder);
    void (*flush_buffers)(struct recorder *recorder);
    void (*look_for_clients)(struct recorder *recorder, int64_t now);

    /* The flight recorder's notes, instead of rows in a file: flight_note_range and
     * flight_note_counts. The writer. */
    void (*note_range)(struct flight *flight, uint64_t number, bool begins, uint8_t reason,
                       uint64_t time, uint64_t correlation);
    void (*note_counts)(struct flight *flight, const struct quality *quality);
};

#endif
