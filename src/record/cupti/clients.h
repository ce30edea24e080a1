/* Other CUPTI clients in the process: noticing that one has taken CUPTI over, saying so, counting
 * what is lost, and taking CUPTI back when it is through.
 *
 * CUPTI has one subscriber, and who comes second is refused (subscriber.h). But the functions that
 * hand out and take in buffers, and the one that tells the time, are the process's: whoever
 * registers last has them. torch.profiler registers both each time it starts (pytorch/kineto,
 * CuptiActivityApi::enableCuptiActivities and configureCuptiTimestampSource), enables its kinds,
 * and at its end disables them, flushes and sets PER_THREAD_ACTIVITY_BUFFER to 0
 * (CuptiActivityApi::activityBuffers). It is left alone meanwhile: it is the program's own. With
 * that attribute at 0, which we set to 1, it is known to be through, and everything is registered
 * again: at once in the modes that always record, when the next range begins in the others.
 *
 *     ours --no record comes of calls that callbacks saw, nor of a probe--> taken
 *     taken --attribute 0, a range begins--> ours     taken --a buffer comes after all--> ours
 *
 * The probe asks CUPTI for the records of all devices, which come at once; whether they do is tried
 * out once, when buffers are known to be ours. While taken, NVTX goes on and CUPTI is not flushed;
 * calls are logged in callbacks from then on, instead of by CUPTI's records.
 *
 * Kinds are the process's too. Those of a range in which CUPTI turned to us not once are left on at
 * its end, as they may be the other client's by now; the next buffer that is asked of us shows that
 * they are not, and they are switched off.
 *
 * What CUPTI still had of our buffers goes to the other client, which throws it away with what
 * CUPTI wrote there for that client. We decode them when it is through; but so that it loses
 * nothing buffers are not left with CUPTI outside of ranges (writer_thread.c).
 *
 * All of this is done by the flusher, which asks CUPTI for its buffers; but for clients_note, which
 * only counts, and clients_end.
 */
#ifndef MP_RECORD_CUPTI_CLIENTS_H
#define MP_RECORD_CUPTI_CLIENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct recorder;
struct call_entry;

/* Calls that callbacks saw and whose record should come, ever. */
struct client_calls {
    uint64_t all;
    uint64_t launches; /* of them */
};

struct clients {
    /* The writer's, read by others. */
    _Atomic uint64_t all, launches;               /* struct client_calls */
    _Atomic uint64_t all_before, launches_before; /* those before the renewal at: */
    _Atomic uint64_t renewal;                     /* recorder's renewed_at */

    /* Read by others. */
    _Atomic bool taken;
    _Atomic uint64_t lost; /* calls whose records, or those of what they launched, went elsewhere */

    struct client_calls seen; /* those that have been answered, or given up */
    bool said;                /* the line about it */
    bool tried;               /* the probe was tried out, */
    bool probe_works;         /* and answered */
    uint64_t answers;         /* clients_answers, when last looked */
    int64_t since;            /* when it last answered, ms; 0: not known yet */
    uint64_t lost_before;     /* `lost` before the present takeover */
    uint64_t renewed_at;      /* recorder's, when last looked */
};

/* Whether no other client has CUPTI: it turns to us when it is asked just now, or, where it cannot
 * be asked, has done so since clients_answers was `before`. The flusher. */
bool clients_hold(struct recorder *recorder, uint64_t before);

/* A call that a callback saw. The writer. */
void clients_note(struct recorder *recorder, const struct call_entry *entry);

/* Each time that CUPTI was asked for its buffers; `now` in ms. */
void clients_look(struct recorder *recorder, int64_t now);

/* After the last flush, when the flusher rests. The writer, without the flight recorder. */
void clients_end(struct recorder *recorder);

#endif
