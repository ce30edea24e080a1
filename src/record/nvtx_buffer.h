/* The buffers: how a thread writes an event and how the writer thread finds it. */
#ifndef MP_RECORD_NVTX_BUFFER_H
#define MP_RECORD_NVTX_BUFFER_H

#include "record/nvtx.h"
#include "record/nvtx_text.h"

/* One NVTX call on its way into the buffer. */
struct nvtx_call {
    uint64_t time; /* 0: take it last, after the copying */
    const struct nvtx_domain *domain;
    enum nvtx_kind kind;
    uint32_t category; /* of a thread name: the thread */
    uint32_t color;
    uint32_t payload_type;
    uint64_t payload;
    uint64_t range;
    struct nvtx_text text;
};

/* The caller's thread record, now busy, or NULL: recording is off, or the call was counted as
 * dropped since the thread has no record or is inside of a call already (a signal handler). */
struct nvtx_thread *nvtx_enter(void) NVTX_HIDDEN;

/* The same whether recording is on or off, for thread names; NULL in a forked child. */
struct nvtx_thread *nvtx_enter_always(void) NVTX_HIDDEN;

void nvtx_leave(struct nvtx_thread *thread) NVTX_HIDDEN;

/* Between enter and leave. False and counted if there was no room; a pop whose push was written
 * always has room, down to a depth of NVTX_KEPT_POPS. `thread->open` must count the push or pop
 * already. */
bool nvtx_write(struct nvtx_thread *thread, const struct nvtx_call *call) NVTX_HIDDEN;

/* Counts one call as lost. */
void nvtx_drop(struct nvtx_thread *thread) NVTX_HIDDEN;

/* The records in the chunks: this, then nvtx_detail if has_detail, then the message; all in units
 * of eight bytes. A push and pop of torch.cuda.nvtx with its usual short name takes 64 bytes. */
struct nvtx_record {
    uint64_t time;
    const char *domain;
    uint32_t category;
    uint16_t bytes; /* of the whole record */
    uint8_t kind;
    uint8_t
        form : 4; /* of the message: narrow or wide, now UTF-8 with a zero; or a string's address */
    uint8_t has_detail : 1;
    uint8_t first : 1; /* mp_nvtx_event.first */
};

struct nvtx_detail {
    uint64_t range;
    uint64_t payload;
    uint32_t color;
    uint32_t payload_type;
};

enum { NVTX_POP_BYTES = sizeof(struct nvtx_record) };

/* nvtx_chunks.c: the pool of chunks. */

/* Zero pages for all chunks and threads, some of them mapped in. */
bool nvtx_chunks_create(struct nvtx_state *state) NVTX_HIDDEN;

/* A free chunk, or NULL if all are in use. Any thread, lock-free; a system call never, a page fault
 * only while the writer has not kept up with mapping chunks in. */
struct nvtx_chunk *nvtx_chunk_take(struct nvtx_state *state) NVTX_HIDDEN;
void nvtx_chunk_free(struct nvtx_state *state, struct nvtx_chunk *chunk) NVTX_HIDDEN;

/* Maps fresh chunks in until NVTX_READY_CHUNKS are free. Writer thread. */
void nvtx_chunks_prepare(struct nvtx_state *state) NVTX_HIDDEN;

/* nvtx_thread.c */

/* Finds or makes the record of the calling thread; NULL if there are too many threads. */
struct nvtx_thread *nvtx_thread_attach(void) NVTX_HIDDEN;

/* Destructor of nvtx_state.ending. */
void nvtx_thread_end(void *thread) NVTX_HIDDEN;

#endif
