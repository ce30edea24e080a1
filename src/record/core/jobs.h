/* Calls from a folder into a higher one, as function pointers: so the lower folder does not depend
 * on the higher one (README.md has their order). process/jobs.c fills them in before any thread of
 * ours and any callback runs. Afterwards any thread reads them; nobody writes them.
 */
#ifndef MP_RECORD_CORE_JOBS_H
#define MP_RECORD_CORE_JOBS_H

#include <cupti.h>
#include <stdbool.h>
#include <stdint.h>

struct flight;
struct mp_preload_wait;
struct quality;
struct recorder;

struct jobs {
    /* CUPTI's callbacks (process/callbacks.h), which cupti/subscriber.c registers. */
    CUpti_CallbackFunc on_callback;
    /* lifecycle_at_exit_again: CUDA has started, or its first context was made. Any thread. */
    void (*at_exit_again)(struct recorder *recorder);
    /* range_switch: calls `how` while no other thread switches kinds. False, without the call, if
     * another thread switches for too long. Any thread. */
    bool (*switch_alone)(struct recorder *recorder, void (*how)(struct recorder *recorder));

    /* range_profiler_call: cuProfilerStart, or Stop, which no callback of CUPTI will tell of. The
     * thread that is about to call it. */
    void (*profiler_call)(struct recorder *recorder, bool begins);

    /* gaps_waited: the calling thread has waited. Async-signal-safe. */
    void (*thread_waited)(struct recorder *recorder, const struct mp_preload_wait *wait);

    /* The flusher's three jobs. range_serve does the calls into CUPTI at the end of a capture
     * range. flush_buffers does what the writer has asked for. clients_look looks for other CUPTI
     * clients once the writer has taken what came (`now` in ms). */
    void (*serve_ranges)(struct recorder *recorder);
    void (*flush_buffers)(struct recorder *recorder);
    void (*look_for_clients)(struct recorder *recorder, int64_t now);

    /* With the flight recorder, these take the place of rows in a file: flight_note_range and
     * flight_note_counts. The writer. */
    void (*note_range)(struct flight *flight, uint64_t number, bool begins, uint8_t reason,
                       uint64_t time, uint64_t correlation);
    void (*note_counts)(struct flight *flight, const struct quality *quality);
};

#endif
