/* The buffers: how a thread writes an event and how the writer thread finds it. */
#ifndef MP_RECORD_NVTX_BUFFER_H
#define MP_RECORD_NVTX_BUFFER_H

#include "record/nvtx/nvtx.h"
#include "record/nvtx/state.h"
#include "record/nvtx/time.h"

/* One NVTX call on its way into the buffer. */
struct nvtx_call {
    uint64_t time; /* a stamp (time.h); 0: take it last, after the copying */
    const struct nvtx_domain *domain;
    enum nvtx_kind kind;
    uint32_t category; /* of a thread name: the thread */
    uint32_t color;
    uint32_t payload_type;
    uint64_t payload;
    uint64_t range;
    struct nvtx_text text;
    const void *blob; /* payloads or a note, copied */
    uint32_t blob_bytes;
};

/* A record in a chunk: this, then nvtx_detail if has_detail, then the message, then the blob if
 * has_blob, all in units of eight bytes. A push and pop of torch.cuda.nvtx with its usual short
 * name take 64 bytes. */
struct nvtx_record {
    uint64_t time; /* a stamp */
    const char *domain;
    uint32_t category;
    uint16_t bytes; /* of the whole record */
    uint8_t kind;
    uint8_t
        form : 4; /* of the message: narrow or wide, now UTF-8 with a zero; or a string's address */
    uint8_t has_detail : 1;
    uint8_t first : 1;    /* mp_nvtx_event.first */
    uint8_t has_blob : 1; /* a length in eight bytes and the blob follow the message */
};

struct nvtx_detail {
    uint64_t range;
    uint64_t payload;
    uint32_t color;
    uint32_t payload_type;
};

enum { NVTX_POP_BYTES = sizeof(struct nvtx_record) };

/* ---- The pool of chunks ---- */

/* Zero pages for all chunks and threads, some of them mapped in. */
bool nvtx_chunks_create(struct nvtx_state *state) NVTX_HIDDEN;

/* Frees all chunks and thread records, as if nothing had been recorded. False if that fails. In a
 * forked child only. */
bool nvtx_chunks_forget(struct nvtx_state *state) NVTX_HIDDEN;

/* ---- Threads ---- */

/* The variable that points to the calling thread's record; NULL before its first call. */
struct nvtx_thread **nvtx_self_slot(void) NVTX_HIDDEN;

/* Destructor of nvtx_state.ending. */
void nvtx_thread_end(void *thread) NVTX_HIDDEN;

/* In a forked child: the calling thread, its only one, gets a new record at its next call. False if
 * the thread is inside a call now, such as one that a signal handler which forks has interrupted.
 */
bool nvtx_thread_forget(void) NVTX_HIDDEN;

/* nvtx_enter where something is to be done first. */
struct nvtx_thread *nvtx_enter_first(uint32_t epoch) NVTX_HIDDEN;

/* Like nvtx_enter, but also while recording is off, for thread names; NULL in a forked child. */
struct nvtx_thread *nvtx_enter_always(void) NVTX_HIDDEN;

/* Counts one call as lost. */
void nvtx_drop(struct nvtx_thread *thread) NVTX_HIDDEN;

/* Goes on to a new chunk; false and counted if there is none. */
bool nvtx_thread_next_chunk(struct nvtx_thread *thread) NVTX_HIDDEN;

/* ---- What each call does: inline ---- */

/* The caller's thread record, now busy, or NULL. NULL if recording is off. Also NULL, with the call
 * counted as dropped, if the thread has no record or is inside a call already (a signal handler).
 */
static inline struct nvtx_thread *nvtx_enter(void)
{
    const uint32_t epoch = atomic_load_explicit(&nvtx_state()->recording, memory_order_relaxed);

    if (!epoch)
        return NULL;
    struct nvtx_thread *thread = *nvtx_self_slot();
    if (__builtin_expect(!thread || thread->epoch != epoch ||
                             atomic_load_explicit(&thread->busy, memory_order_relaxed),
                         0))
        return nvtx_enter_first(epoch);
    atomic_store_explicit(&thread->busy, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return thread;
}

static inline void nvtx_leave(struct nvtx_thread *thread)
{
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&thread->busy, false, memory_order_relaxed);
}

/* Room for `bytes`, in addition to the pops still to come; NULL and counted if there is none. */
static inline struct nvtx_record *nvtx_reserve(struct nvtx_thread *thread, uint32_t bytes)
{
    const uint32_t pops = thread->open < NVTX_KEPT_POPS ? thread->open : NVTX_KEPT_POPS;

    if (__builtin_expect(thread->position + bytes + pops * NVTX_POP_BYTES > thread->end, 0) &&
        !nvtx_thread_next_chunk(thread))
        return NULL;
    return (struct nvtx_record *)(void *)(thread->chunk->data + thread->position);
}

/* What was written into the room is a record now. */
static inline void nvtx_commit(struct nvtx_thread *thread, uint32_t bytes)
{
    thread->position += bytes;
    atomic_store_explicit(&thread->chunk->committed, thread->position, memory_order_release);
}

static inline uint32_t nvtx_message_bytes(struct nvtx_text text)
{
    switch (text.form) {
    case NVTX_NARROW:
    case NVTX_WIDE:
        return (text.bytes + 1 + 7) & ~7u;
    case NVTX_REGISTERED:
        return sizeof(void *);
    case NVTX_NO_TEXT:
        break;
    }
    return 0;
}

static inline void nvtx_message_write(void *to, struct nvtx_text text)
{
    if (text.form == NVTX_REGISTERED)
        memcpy(to, &text.at.registered, sizeof(void *));
    else if (text.form != NVTX_NO_TEXT)
        nvtx_text_copy(to, text);
}

/* The blob with the length before it. */
static inline uint32_t nvtx_blob_bytes(uint32_t bytes)
{
    return bytes ? 8 + ((bytes + 7) & ~7u) : 0;
}

static inline void nvtx_blob_write(unsigned char *to, const struct nvtx_call *call)
{
    const uint64_t bytes = call->blob_bytes;

    memcpy(to, &bytes, sizeof(bytes));
    memcpy(to + sizeof(bytes), call->blob, call->blob_bytes);
}

/* Writes one record, between enter and leave. False and counted if there was no room. A pop whose
 * push was written always has room, down to a depth of NVTX_KEPT_POPS. The caller must count the
 * push or pop in `thread->open` before. */
NVTX_INLINE bool nvtx_write(struct nvtx_thread *thread, const struct nvtx_call *call)
{
    const bool has_detail = (call->range | call->payload_type | call->color) != 0;
    const uint32_t bytes = (uint32_t)sizeof(struct nvtx_record) +
                           (has_detail ? (uint32_t)sizeof(struct nvtx_detail) : 0) +
                           nvtx_message_bytes(call->text) + nvtx_blob_bytes(call->blob_bytes);
    struct nvtx_record *record = nvtx_reserve(thread, bytes);

    if (!record)
        return false;
    unsigned char *more = (unsigned char *)(record + 1);
    record->domain = call->domain ? call->domain->name : NULL;
    record->category = call->category;
    record->bytes = (uint16_t)bytes;
    record->kind = (uint8_t)call->kind;
    record->form = call->text.form & 0xf;
    record->has_detail = has_detail;
    record->first = false;
    record->has_blob = call->blob_bytes != 0;
    if (__builtin_expect(thread->restarted, 0) && call->kind != NVTX_KIND_thread_name &&
        call->kind != NVTX_KIND_category_name) {
        record->first = true;
        thread->restarted = false;
    }
    if (has_detail) {
        const struct nvtx_detail detail = {.range = call->range,
                                           .payload = call->payload,
                                           .color = call->color,
                                           .payload_type = call->payload_type};
        memcpy(more, &detail, sizeof(detail));
        more += sizeof(detail);
    }
    nvtx_message_write(more, call->text);
    if (call->blob_bytes)
        nvtx_blob_write(more + nvtx_message_bytes(call->text), call);
    record->time = call->time ? call->time : nvtx_stamp();
    nvtx_commit(thread, bytes);
    return true;
}

#endif
