/* The recorder's own NVTX handler.
 *
 * NVTX libraries and headers look up InitializeInjectionNvtx, InitializeInjectionNvtx2 and
 * InitializeInjectionNvtxExtension in the injected library. The three pass straight on to the
 * functions here, which put the handler's functions into NVTX's tables.
 *
 * From then on an NVTX call of the application costs one relaxed load while recording is off. While
 * it is on, the call reads the processor's time stamp counter and copies the event into a buffer of
 * its thread. Neither CUDA nor CUPTI is needed.
 *
 * One thread, the writer, calls mp_nvtx_drain from time to time and gets the events. All memory is
 * bounded: 16 MiB of buffers, 32 MiB of registered strings, little else. Events that do not fit are
 * dropped and counted; no call waits.
 */
#ifndef MP_RECORD_NVTX_NVTX_H
#define MP_RECORD_NVTX_NVTX_H

#include <stdbool.h>
#include <stdint.h>

/* Further values of mp_nvtx_event.kind. */
#define MP_NVTX_NOTE     252 /* of mp_nvtx_note */
#define MP_NVTX_CATEGORY 253 /* a category got a name, also while recording is off */
#define MP_NVTX_ORIGIN   254 /* of mp_nvtx_note_origin */

/* One NVTX call. */
struct mp_nvtx_event {
    uint64_t time; /* on the recorder's clock: the end of a push or start call, else the begin */
    uint32_t tid;  /* mp_thread_id() of the caller */
    uint8_t kind;  /* nvtx_kind of trace/tables.def: 0 mark, 1 push, 2 pop, 3 start, 4 end */
    bool first;    /* after a gap: nothing was recorded of this thread for a while, so ranges that
                    * were open may have ended, and others begun */
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
    const void *blob;     /* the extended payloads (below), or what mp_nvtx_note was given; NULL
                           * for none. Aligned to 8, valid during the callback only */
    uint32_t blob_bytes;
};

/* Where the events go. The first two callbacks are required. All run inside mp_nvtx_drain. */
struct mp_nvtx_sink {
    void *context;
    void (*event)(void *context, const struct mp_nvtx_event *event);
    /* Called once for each naming, also while recording is off: threads are named at their start.
     */
    void (*thread_name)(void *context, uint32_t tid, const char *name);
    /* After the last event of a thread that has ended; NULL: not wanted. */
    void (*thread_end)(void *context, uint32_t tid);
    bool plain; /* names of the default domain without PyTorch's numbers of calls */
};

/* Takes over one NVTX instance. `version` is 1 for NVTX v2's entry point, 2 for v3's;
 * get_export_table is what NVTX passed. Any thread, any number of times: each executable and
 * library with NVTX in it has its instance. Returns 1. Returns 0 if the instance cannot
 * be used, there is no memory or the process is a forked child; NVTX then turns its functions off.
 * Recording starts off: mp_nvtx_set_recording must follow. The library must not be unloaded
 * afterwards (link with -z nodelete): the tables and a thread-specific key point into it. */
int mp_nvtx_initialize(unsigned version, void *get_export_table);

/* The same for an NVTX extension, given its nvtxExtModuleInfo_t. Only the payload extension is
 * known: its schemas and enums get ids, and its events are recorded with their payloads
 * (below). Returns 1 for it and 0 for any other. */
int mp_nvtx_initialize_extension(void *module_info);

/* Hands over what all threads have recorded up to now, in order within each thread. One thread at a
 * time. Must be called from time to time also while recording is off: thread names and the buffers
 * of ended threads wait for it. */
void mp_nvtx_drain(const struct mp_nvtx_sink *sink);

/* Calls that found no room, since the process started. Any thread. */
uint64_t mp_nvtx_dropped(void);

/* Events handed over whose times may be off by more than a microsecond (time.h), since the process
 * started. The thread that drains. */
uint64_t mp_nvtx_inexact(void);

/* Whether a quarter of the buffers waits to be drained. Any thread. */
bool mp_nvtx_is_low(void);

/* Any thread. Calls that already run on other threads may still be recorded. */
void mp_nvtx_set_recording(bool on);

/* A CUDA graph begins, or ends, being built. While one is, events are recorded as if
 * mp_nvtx_set_recording had been called: the reports need the ranges in which its nodes are made.
 * Any thread. */
void mp_nvtx_building(bool begins);

/* From now on graphs that are being built no longer switch recording on. */
void mp_nvtx_stop_building(void);

/* Whether events are recorded now. Any thread. */
bool mp_nvtx_is_recording(void);

/* The same also for notes, which need no NVTX in the process. */
bool mp_nvtx_is_on(void);

/* Puts a number among the calling thread's events, as a separate event (MP_NVTX_ORIGIN). The
 * ranges that are open at this event are those around the node with this number. False when nothing
 * is recorded now, or there is no room, which is counted. */
bool mp_nvtx_note_origin(uint32_t number);

/* Puts up to 512 bytes among the calling thread's events, as an event of kind MP_NVTX_NOTE
 * with the time of the call. False when nothing is recorded now, or there is no room, which is
 * counted. Any thread; costs a relaxed load while recording is off. */
bool mp_nvtx_note(const void *bytes, uint32_t count);

/* A number that no range of this process has had or gets, for mp_nvtx_note. 0 when nothing is
 * recorded now. Any thread. */
uint64_t mp_nvtx_number(void);

/* Makes the buffers, so that notes are taken though the process has no NVTX. Any thread. */
bool mp_nvtx_prepare(void);

/* For pthread_atfork's child handler: from then on nothing is recorded, drained or locked. */
void mp_nvtx_child_after_fork(void);

/* The same for a child that may still record, because its parent has not begun to. The child
 * records its own calls from now on and forgets the events of its parent. Domains and registered
 * strings stay, and so does whether recording is on. Not after the first mp_nvtx_drain. */
void mp_nvtx_child_begins_anew(void);

/* ---- Extended payloads: schemas that applications register, and payloads of an event ----
 *
 * A schema is a struct's layout. The handler keeps its fields that are numbers, pointers and texts.
 * Arrays, unions and structs inside of it are left out. In the call a payload is copied up to
 * its last field, and the texts to which it points are copied after it:
 *
 *     mp_nvtx_payload | data, up to 8 bytes more | text\0text\0, up to 8 bytes more | next payload
 *
 * A payload whose schema was not registered has no known layout: it is counted and left out.
 *
 * Schemas and enumerations are never freed and never changed. Payloads are valid inside of the
 * sink's callback only. Any thread.
 */

struct mp_nvtx_name {
    uint64_t value;
    const char *name;
};

struct mp_nvtx_enum {
    uint64_t id;    /* NVTX's, unique in the domain */
    uint32_t bytes; /* of a value */
    uint32_t count;
    struct mp_nvtx_name names[];
};

/* Where the application has the text of a field of type text. All but registered ones are copied
 * after the data. */
enum mp_nvtx_text_at { MP_NVTX_TEXT_POINTED_TO, MP_NVTX_TEXT_INSIDE, MP_NVTX_TEXT_REGISTERED };

struct mp_nvtx_field {
    const char *name;
    const struct mp_nvtx_enum *enumeration; /* NULL: none */
    uint32_t offset;                        /* in the payload */
    uint32_t bytes;
    uint8_t type; /* field_type of trace/tables.def */
    uint8_t text; /* enum mp_nvtx_text_at */
};

struct mp_nvtx_schema {
    const char *name;   /* "" if it has none */
    const char *domain; /* NULL is the default domain */
    uint32_t extent;    /* bytes from the payload's begin to the end of its last field */
    uint32_t texts;     /* fields whose text is copied after the data */
    uint32_t field_count;
    struct mp_nvtx_field fields[];
};

struct mp_nvtx_payload {
    const struct mp_nvtx_schema *schema;
    uint32_t bytes; /* of the data that follows; less than the schema's extent if it was shorter */
    uint32_t text_bytes;
};

/* The payload after `before`, or the first one for NULL; NULL: there is none. */
const struct mp_nvtx_payload *mp_nvtx_payload_next(const struct mp_nvtx_event *event,
                                                   const struct mp_nvtx_payload *before);

/* What a field of the payload's schema is: *bits of a number (signed ones extended, reals as a
 * double), *text of a text, else NULL. False if the payload is too short, or the text is NULL. */
bool mp_nvtx_payload_value(const struct mp_nvtx_payload *payload, uint32_t field, uint64_t *bits,
                           const char **text);

/* Payloads and schemas for which there was no room, and payloads without a registered schema, since
 * the process started. */
uint64_t mp_nvtx_payloads_dropped(void);
uint64_t mp_nvtx_payloads_unknown(void);

#endif
