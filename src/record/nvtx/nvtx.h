/* The recorder's own NVTX handler.
 *
 * NVTX libraries and headers look up InitializeInjectionNvtx, InitializeInjectionNvtx2 and
 * InitializeInjectionNvtxExtension in the injected library; the three pass straight on to the
 * functions here, which put the handler's functions into NVTX's tables. From then on an NVTX call
 * of the application costs one relaxed load while recording is off, and a look at the processor's
 * time stamp counter and a copy into a buffer of its own thread while it is on. Neither CUDA nor
 * CUPTI is needed.
 *
 * One thread, the writer, calls mp_nvtx_drain from time to time and gets the events. All memory is
 * bounded (16 MiB of buffers, 32 MiB of registered strings, little else): what does not fit is
 * dropped and counted, never waited for.
 */
#ifndef MP_RECORD_NVTX_NVTX_H
#define MP_RECORD_NVTX_NVTX_H

#include <stdbool.h>
#include <stdint.h>

#define MP_NVTX_ORIGIN 254 /* mp_nvtx_event.kind of mp_nvtx_note_origin */

/* One NVTX call. */
struct mp_nvtx_event {
    uint64_t time; /* on the recorder's clock: of a push or start its very end, else the begin */
    uint32_t tid;  /* gettid() of the caller */
    uint8_t kind;  /* nvtx_kind of trace/codec/enums.def: 0 mark, 1 push, 2 pop, 3 start, 4 end */
    bool first;    /* nothing was recorded of this thread just before: ranges that were open may
                    * have ended since, and others begun */
    const char *domain; /* valid for ever; NULL is the default domain. nvtxRangeEnd names none, so
                         * an end is matched by `range` alone */
    const char *name; /* valid during the callback only; NULL for pop and end, "" without a message.
                       * The bytes of the application, clipped to 4095; wide ones as UTF-8 */
    uint32_t category;    /* 0 if none */
    uint32_t color;       /* ARGB, 0 if none */
    uint8_t payload_type; /* nvtxPayloadType_t, 0 if none or not a plain number */
    uint64_t payload;     /* bits of the value; types of 32 bits in the low half, zero-extended */
    uint64_t range;       /* start and end: unique in the process, never 0; else 0. MP_NVTX_ORIGIN:
                           * the number that was noted */
};

/* Where the events go. Both callbacks are required and run inside mp_nvtx_drain. */
struct mp_nvtx_sink {
    void *context;
    void (*event)(void *context, const struct mp_nvtx_event *event);
    /* Once for each naming, also while recording is off: threads are named at their start. */
    void (*thread_name)(void *context, uint32_t tid, const char *name);
};

/* Takes over one NVTX instance. `version` is 1 for NVTX v2's entry point, 2 for v3's;
 * get_export_table is what NVTX passed. Any thread, any number of times: each executable and
 * library with NVTX in it has an instance of its own. Returns 1, or 0 if the instance cannot be
 * used, there is no memory or the process is a forked child; NVTX then turns its functions off.
 * Must be followed by mp_nvtx_set_recording: recording starts off. The library must not be unloaded
 * afterwards (link with -z nodelete): the tables and a thread-specific key point into it. */
int mp_nvtx_initialize(unsigned version, void *get_export_table);

/* The same for an NVTX extension, given its nvtxExtModuleInfo_t. Known is the payload extension:
 * schemas and enums get ids, its events are recorded with the message of their payload. Returns 1
 * for it and 0 for any other. */
int mp_nvtx_initialize_extension(void *module_info);

/* Hands over what all threads have recorded up to now, in order within each thread. One thread at a
 * time. Has to be called also while recording is off, now and then: thread names and the buffers of
 * ended threads wait for it. */
void mp_nvtx_drain(const struct mp_nvtx_sink *sink);

/* Calls that found no room, since the start of the process. Any thread. */
uint64_t mp_nvtx_dropped(void);

/* Events told whose times may be off by more than a microsecond (time.h), since the start of
 * the process. The thread that drains. */
uint64_t mp_nvtx_inexact(void);

/* Whether a quarter of the buffers waits to be drained. Any thread. */
bool mp_nvtx_is_low(void);

/* Any thread. Calls already running on other threads may still land. */
void mp_nvtx_set_recording(bool on);

/* Any thread: a CUDA graph begins, or is no longer, being built. While one is, events are recorded
 * as if mp_nvtx_set_recording had been called: the ranges in which its nodes are made are wanted.
 */
void mp_nvtx_building(bool begins);

/* No graph counts any more, now or later. */
void mp_nvtx_stop_building(void);

/* Whether events are, now. Any thread. */
bool mp_nvtx_is_recording(void);

/* Puts a number among the calling thread's events, as an event of its own (MP_NVTX_ORIGIN): the
 * ranges that are open there are those around it. False when nothing is recorded now, or there is
 * no room, which is counted. */
bool mp_nvtx_note_origin(uint32_t number);

/* For pthread_atfork's child handler: from then on nothing is recorded, drained or locked. */
void mp_nvtx_child_after_fork(void);

/* The same for a child in which a recording may still begin, as none has begun in its parent: it
 * records its own calls from now on and forgets the events of its parent. Domains, registered
 * strings, and whether recording is on, stay. Not after the first mp_nvtx_drain. */
void mp_nvtx_child_begins_anew(void);

#endif
