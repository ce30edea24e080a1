/* What the files of the NVTX handler share. Read nvtx.c's head first. */
#ifndef MP_RECORD_NVTX_STATE_H
#define MP_RECORD_NVTX_STATE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "record/nvtx/nvtx.h"
#include "trace/tables.def"

#define NVTX_HIDDEN __attribute__((visibility("hidden")))
/* Inlined whatever the compiler thinks of its size: constants that the caller knows about a call
 * then cost nothing. */
#define NVTX_INLINE static inline __attribute__((always_inline))

enum {
    /* 16 MiB in all. Chunks are small so that many threads with few events each fit: every thread
     * that ever called holds one until it ends. */
    NVTX_CHUNK_BYTES = 16 * 1024,
    NVTX_CHUNKS = 1024,
    NVTX_THREADS = NVTX_CHUNKS,
    NVTX_READY_CHUNKS = 32, /* free chunks whose pages are kept mapped in, ahead of use */
    NVTX_TEXT_BYTES = 4096, /* of a message, with its zero */
    NVTX_LEVEL_SLOTS = 64,  /* domains with separate push/pop levels; the last slot is shared */
    NVTX_KEPT_POPS = 256,   /* pops of as many open pushes always find room */
    NVTX_STRING_BUCKETS = 4096,
    NVTX_SCHEMAS = 4096,           /* slots: three quarters of them are used at most */
    NVTX_SCHEMA_FIELDS = 64,       /* of one schema; further ones are left out */
    NVTX_ENUM_NAMES = 256,         /* of one enumeration */
    NVTX_PAYLOAD_BYTES = 1024,     /* of one payload: fields beyond are left out */
    NVTX_PAYLOAD_TEXT_BYTES = 256, /* of one text in it, or of a field's name, with the zero */
    NVTX_BLOB_BYTES = 2048,        /* payloads of one event, with their texts */
};

#define NVTX_PERMANENT_BYTES ((size_t)32 * 1024 * 1024)

/* mp_nvtx_event.kind, and further kinds: nvtx.h. */
#define NVTX_KIND(enumeration, value, name) NVTX_KIND_##name = value,
enum nvtx_kind {
    MP_ENUM_nvtx_kind(NVTX_KIND) NVTX_KIND_note = MP_NVTX_NOTE,
    NVTX_KIND_category_name = MP_NVTX_CATEGORY,
    NVTX_KIND_origin = MP_NVTX_ORIGIN,
    NVTX_KIND_thread_name = 255
};
#undef NVTX_KIND

/* A part of a thread's buffer. The owner thread writes data and raises `committed`. When the chunk
 * is full the owner sets `next`; then the writer thread frees the chunk. Never unmapped. */
struct nvtx_chunk {
    _Atomic(uint32_t) committed;       /* bytes of data that may be read */
    _Atomic(uint32_t) below;           /* while free: number of the next free chunk + 1 */
    _Atomic(struct nvtx_chunk *) next; /* in use: what the thread filled after this */
    alignas(64) unsigned char data[NVTX_CHUNK_BYTES - 64];
};

_Static_assert(sizeof(struct nvtx_chunk) == NVTX_CHUNK_BYTES, "a chunk is as large as it says");

/* NVTX domains, registered strings and payload schemas; permanent. */
struct nvtx_domain {
    struct nvtx_domain *next;
    uint32_t slot; /* into nvtx_thread.levels */
    char name[];
};

struct nvtx_string {
    struct nvtx_string *next; /* in the bucket */
    const struct nvtx_domain *domain;
    uint32_t bytes; /* without the zero */
    char text[];
};

struct nvtx_schema {
    const struct nvtx_domain *domain;
    uint64_t id;
    uint64_t size;   /* of a payload, as registered; 0: not given */
    bool message;    /* one of its entries is the event's message: */
    bool registered; /* the pointer is a registered string's handle */
    uint64_t offset; /* of the message in the payload */
    uint64_t fixed;  /* bytes of a string inside of the payload, 0 if it holds a pointer */
    const struct mp_nvtx_schema *shown;
};

struct nvtx_enumeration {
    struct nvtx_enumeration *next;
    const struct nvtx_domain *domain;
    struct mp_nvtx_enum shown; /* the last member: it ends in an array */
};

/* Push/pop depth of one thread in one domain, since recording was last switched on. If a push is
 * lost, the pushes nested in it are lost too, so that every pop recorded has its push. */
struct nvtx_level {
    uint32_t open;
    uint32_t lost;
};

/* What a thread reads to get a time: the clock until the counter's rate is known, then the counter.
 */
enum nvtx_counter { NVTX_COUNTER_UNUSED, NVTX_COUNTER_MEASURED, NVTX_COUNTER_USED };

enum nvtx_life { NVTX_FREE, NVTX_TAKEN, NVTX_LIVE, NVTX_ENDED };

/* A thread that called NVTX. Reused once the thread has ended and was drained. */
struct nvtx_thread {
    /* shared */
    alignas(64) _Atomic(uint32_t) life; /* enum nvtx_life */
    _Atomic(uint32_t) chunks;           /* taken by the owner so far */
    _Atomic(struct nvtx_chunk *) first; /* the first of those */
    _Atomic(uint64_t) dropped;          /* kept when the record is reused */
    uint32_t tid;                       /* written before life becomes LIVE */

    /* the owner's */
    alignas(64) struct nvtx_chunk *chunk; /* written to now; NULL before the first */
    uint32_t position;                    /* in chunk->data */
    uint32_t end;                         /* bytes of chunk->data; 0 before the first */
    uint32_t epoch;                       /* value of nvtx_state.recording when levels began */
    uint32_t open;                        /* sum of levels[].open */
    atomic_bool busy;                     /* inside a call: a signal handler must keep out */
    bool restarted;                       /* the next event is the first of its epoch */
    uint64_t range, range_end;            /* this thread's block of unused ids */
    struct nvtx_level levels[NVTX_LEVEL_SLOTS];

    /* the writer's */
    alignas(64) struct nvtx_chunk *read_chunk;
    uint32_t read_position;
    uint32_t read_chunks; /* chunks begun, counts up to `chunks` */
    uint64_t read_time;   /* of the last event */
};

/* All state of the handler. `lock` guards the permanent memory, domains and string buckets, and the
 * insertion of schemas. `switching` guards the two fields after it. No other lock exists, and a
 * forked child takes none. */
struct nvtx_state {
    _Atomic(uint32_t) recording; /* 0 off, else a number that is new with each switching on */
    _Atomic(uint32_t) epochs;
    atomic_bool inert;         /* a forked child */
    atomic_bool in_use;        /* an NVTX instance has been taken over */
    _Atomic(uint32_t) counter; /* enum nvtx_counter: written by `once`, then by the writer */

    pthread_mutex_t switching; /* of the next two, which `recording` follows */
    bool wanted;               /* events are recorded */
    uint32_t building;         /* graphs that are being built: ranges around their nodes count */

    pthread_once_t once;
    bool usable; /* of once */
    pthread_key_t ending;

    struct nvtx_thread *threads; /* NVTX_THREADS of them, zero pages until used */
    _Atomic(uint32_t) thread_count;
    struct nvtx_thread grave; /* for threads without a record: always busy, so calls are dropped */

    struct nvtx_chunk *chunks; /* NVTX_CHUNKS of them */
    _Atomic(uint64_t) free;    /* stack: count of changes << 32 | chunk number + 1 */
    _Atomic(uint32_t) fresh;   /* chunks from here on were never used */
    _Atomic(int32_t) ready;    /* on the stack */

    _Atomic(uint64_t) ranges; /* range ids handed to threads */

    pthread_mutex_t lock;
    unsigned char *permanent; /* rest of the current block */
    size_t permanent_left;
    size_t permanent_total;
    struct nvtx_domain *domains;
    uint32_t domain_count;
    struct nvtx_string *strings[NVTX_STRING_BUCKETS];
    _Atomic(struct nvtx_schema *) schemas[NVTX_SCHEMAS]; /* open hash table */
    uint32_t schema_count;
    struct nvtx_enumeration *enumerations; /* a list */
    uint32_t enumeration_count;
    _Atomic(uint64_t) schema_ids;
    _Atomic(uint64_t) payloads_dropped; /* nvtx.h */
    _Atomic(uint64_t) payloads_unknown;
};

extern struct nvtx_state nvtx_state_storage NVTX_HIDDEN;

static inline struct nvtx_state *nvtx_state(void)
{
    return &nvtx_state_storage;
}

/* Makes the buffers at its first call. False if that failed, or in a forked child. */
bool nvtx_state_ready(void) NVTX_HIDDEN;

/* ---- Messages: narrow, wide or registered; measured first, then copied into place ---- */

enum nvtx_form { NVTX_NO_TEXT, NVTX_NARROW, NVTX_WIDE, NVTX_REGISTERED };

struct nvtx_text {
    enum nvtx_form form;
    uint32_t bytes; /* as UTF-8, without a zero; of a registered one 0 */
    union {
        const char *narrow;
        const wchar_t *wide;
        const struct nvtx_string *registered;
    } at;
};

/* These borrow the string. NULL gives a text without form. A string longer than `limit` bytes is
 * clipped at the begin of a character. */
static inline struct nvtx_text nvtx_text_narrow(const char *string, uint32_t limit);
struct nvtx_text nvtx_text_wide(const wchar_t *string, uint32_t limit) NVTX_HIDDEN;
struct nvtx_text nvtx_text_registered(const struct nvtx_string *string) NVTX_HIDDEN;

/* Writes a narrow or wide text and a zero: bytes + 1 in all. */
static inline void nvtx_text_copy(char *to, struct nvtx_text text);

/* ---- Inside of a push: inline. The rest of them is in state.c ---- */

uint32_t nvtx_text_clip(const char *string, uint32_t limit) NVTX_HIDDEN;
void nvtx_text_copy_wide(char *to, struct nvtx_text text) NVTX_HIDDEN;

static inline struct nvtx_text nvtx_text_narrow(const char *string, uint32_t limit)
{
    if (!string)
        return (struct nvtx_text){.form = NVTX_NO_TEXT};
    size_t bytes = strnlen(string, (size_t)limit + 1);
    if (__builtin_expect(bytes > limit, 0))
        bytes = nvtx_text_clip(string, limit);
    return (struct nvtx_text){.form = NVTX_NARROW, .bytes = (uint32_t)bytes, .at.narrow = string};
}

static inline void nvtx_text_copy(char *to, struct nvtx_text text)
{
    if (text.form == NVTX_WIDE) {
        nvtx_text_copy_wide(to, text);
        return;
    }
    if (text.form == NVTX_NARROW)
        memcpy(to, text.at.narrow, text.bytes);
    to[text.bytes] = '\0';
}

/* ---- What an application refers to by handle: domains and strings ---- */

/* Zeroed memory that is never freed, aligned to 8; NULL when NVTX_PERMANENT_BYTES are used up. The
 * caller holds nvtx_state.lock. */
void *nvtx_permanent(size_t bytes) NVTX_HIDDEN;

/* The domain of that name, made if new. One name is one domain, whichever library asks. NULL, the
 * default domain, if there is no name or no memory, or in a forked child. */
struct nvtx_domain *nvtx_domain_intern(struct nvtx_text name) NVTX_HIDDEN;

/* The string registered in that domain, made if new, or NULL. Any length. */
struct nvtx_string *nvtx_string_intern(const struct nvtx_domain *domain,
                                       struct nvtx_text text) NVTX_HIDDEN;

#endif
