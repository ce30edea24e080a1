/* Other CUPTI clients in the process: noticing that one has taken CUPTI over, saying so, counting
 * what is lost, and taking CUPTI back when that client has finished.
 *
 * CUPTI has one subscriber; a second one is refused (subscriber.h). But the buffer callbacks and
 * the clock callback belong to the process: whoever registers last has them. torch.profiler
 * registers both each time it starts (pytorch/kineto, CuptiActivityApi::enableCuptiActivities and
 * configureCuptiTimestampSource) and enables its kinds. At its end it disables them, flushes and
 * sets PER_THREAD_ACTIVITY_BUFFER to 0 (CuptiActivityApi::activityBuffers).
 *
 * The recorder does not disturb the other client: the program itself asked for it. We set
 * PER_THREAD_ACTIVITY_BUFFER to 1, so when it reads 0, the other client has finished. Then the
 * recorder registers everything again: at once in the modes that always record, in the others when
 * the next range begins.
 *
 *     ours --callbacks saw calls, but neither their records nor the probe's come--> taken
 *     taken --attribute 0, a range begins--> ours     taken --a buffer comes after all--> ours
 *
 * The probe asks CUPTI for the records of all devices. Where that works, they come at once. The
 * recorder tests once whether it works, while the buffers are known to be ours.
 *
 * While CUPTI is taken, NVTX recording continues and the recorder does not flush CUPTI. From the
 * takeover on, callbacks log the calls, instead of CUPTI's records.
 *
 * Kinds belong to the process too. If CUPTI never called us during a range, its kinds stay on at
 * the range's end: the other client may need them by now. When CUPTI next asks us for a buffer, no
 * other client has it, and the recorder switches the kinds off.
 *
 * Without callbacks (attach.h) no call is seen. Then silence alone is looked into, and each end of
 * a range. What is lost is not known, so each takeover counts as one.
 *
 * CUPTI hands the buffers of ours that it still holds to the other client. That client discards
 * them, with its own records that CUPTI wrote there. We decode these buffers once it has finished.
 * To spare the other client that loss, CUPTI keeps none of our buffers outside of ranges
 * (loops.c).
 *
 * All of this runs on the flusher, which asks CUPTI for its buffers. Exceptions: clients_note,
 * which only counts; clients_end; and clients_enter, clients_leave and clients_arrive, which run on
 * the thread that switches the kinds.
 */
#ifndef MP_RECORD_CUPTI_CLIENTS_H
#define MP_RECORD_CUPTI_CLIENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/cupti/activity.h"

struct call_entry;
struct gpu;

/* Calls that callbacks saw and whose records should come: had not when the writer took them out of
 * their log. Counted since the start. */
struct client_calls {
    uint64_t all;
    uint64_t launches; /* calls that launch */
};

struct clients {
    /* The writer's, read by others. */
    _Atomic uint64_t all, launches;               /* struct client_calls */
    _Atomic uint64_t all_before, launches_before; /* the same before the renewal: */
    _Atomic uint64_t renewal;                     /* the recorder's renewed_at then */
    _Atomic uint64_t late; /* unanswered calls of before everything was registered again, noted
                              since; not looked at yet */

    /* Read by others. */
    _Atomic bool taken;
    _Atomic uint64_t lost; /* calls whose records, or those of what they launched, went elsewhere;
                              without callbacks, times that CUPTI was taken */
    _Atomic bool foreign;  /* CUPTI gave us another client's buffer, with records */

    struct client_calls seen; /* calls whose records came, or were given up */
    bool said;                /* the log line about a takeover */
    _Atomic bool tried;       /* the probe was tested */
    _Atomic bool probe_works; /* and CUPTI answered it */
    uint64_t answers;         /* clients_answers, when last looked */
    int64_t since;            /* when CUPTI last called us, ms; 0: not known yet */
    uint64_t lost_before;     /* `lost` before the present takeover */
    uint64_t renewed_at;      /* the recorder's, when last looked */
};

/* Whether no other client has CUPTI. Runs the probe; without a working probe, asks whether CUPTI
 * has called us since clients_answers was `before`. The flusher. */
bool clients_hold(struct gpu *gpu, uint64_t before);

/* A range begins: whether another client has CUPTI's buffers, or had them, so that everything must
 * be registered again. The thread that switches the kinds. */
bool clients_enter(struct gpu *gpu);

/* The next two act only in a recording without callbacks. The same thread.
 *
 * clients_arrive: everything was registered, after another client. clients_leave: a range ends;
 * whether another client has CUPTI, so that the kinds must stay on. Counts that. */
void clients_arrive(struct gpu *gpu);
bool clients_leave(struct gpu *gpu);

/* A call that a callback saw. The writer, which may be late: a call after which CUPTI has answered
 * does not count, since a look may have used up that answer. */
void clients_note(struct gpu *gpu, const struct call_entry *entry);

/* Looks for other clients. After each flush; `now` in ms. What has to be done about one is done
 * through `alone` (gpu_switch_alone). */
void clients_look(struct gpu *gpu, int64_t now, gpu_switch_alone *alone);

/* The last look, after the last flush, when the flusher has left CUPTI. The writer, without the
 * flight recorder. */
void clients_end(struct gpu *gpu);

#endif
