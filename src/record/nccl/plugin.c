/* NCCL's calls of the plugin, as notes. NCCL looks up the three tables at the end. */
#include "record/nccl/plugin.h"

#include <stdatomic.h>

#include "base/text/strings.h"
#include "record/nvtx/nvtx.h"

#include "base/poison.h"

#define MASK                                                                                       \
    (NCCL_EVENT_COLL | NCCL_EVENT_P2P | NCCL_EVENT_GROUP_API | NCCL_EVENT_COLL_API |               \
     NCCL_EVENT_P2P_API | NCCL_EVENT_KERNEL_LAUNCH)
#define KIND_BITS 3

/* Any thread. A communicator is complete before its number is handed out. */
static struct {
    struct nccl_plugin_calls calls;
    _Atomic(uint32_t) comm_count; /* numbers given; may exceed NCCL_COMMS */
    _Atomic(uint32_t) version;
    struct nccl_comm comms[NCCL_COMMS + 1]; /* by number; 0 stands for those without room */
} plugin;

static __thread bool in_launch;

/* The only place that computes the variable's address: see record/nvtx/buffer.c. */
static __attribute__((noinline)) bool *in_launch_slot(void)
{
    return &in_launch;
}

void nccl_plugin_open(const struct nccl_plugin_calls *calls)
{
    plugin.calls = *calls;
}

uint32_t nccl_plugin_version(void)
{
    return atomic_load_explicit(&plugin.version, memory_order_relaxed);
}

const struct nccl_comm *nccl_comm_get(uint32_t number)
{
    return number && number <= NCCL_COMMS ? &plugin.comms[number] : NULL;
}

/* ---- Notes ---- */

static void *handle_of(uint64_t id, enum nccl_note_kind kind)
{
    return (void *)(uintptr_t)(id << KIND_BITS | (uint64_t)kind); /* NOLINT: no pointer */
}

static uint64_t id_of(const void *handle)
{
    return (uint64_t)(uintptr_t)handle >> KIND_BITS;
}

/* Clipped; what NCCL does not tell is "". */
static void word_copy(char to[NCCL_WORD_BYTES], const char *word)
{
    if (word)
        mp_text_copy(to, NCCL_WORD_BYTES, word);
}

static uint32_t rank_of(int rank)
{
    return rank < 0 ? NCCL_UNKNOWN : (uint32_t)rank;
}

static void note_coll(struct nccl_note *note, const struct nccl_event *event)
{
    note->kind = NCCL_NOTE_COLL;
    note->sequence = event->of.coll.sequence + 1;
    note->count = event->of.coll.count;
    note->peer = rank_of(event->of.coll.root);
    note->channels = event->of.coll.channels;
    word_copy(note->function, event->of.coll.function);
    word_copy(note->datatype, event->of.coll.datatype);
    word_copy(note->algorithm, event->of.coll.algorithm);
    word_copy(note->protocol, event->of.coll.protocol);
}

static void note_p2p(struct nccl_note *note, const struct nccl_event *event)
{
    note->kind = NCCL_NOTE_P2P;
    note->count = event->of.p2p.count;
    note->peer = rank_of(event->of.p2p.peer);
    note->channels = event->of.p2p.channels;
    word_copy(note->function, event->of.p2p.function);
    word_copy(note->datatype, event->of.p2p.datatype);
}

static void note_coll_api(struct nccl_note *note, const struct nccl_event *event)
{
    note->kind = NCCL_NOTE_COLL_API;
    note->captured = event->of.coll_api.captured;
    note->count = event->of.coll_api.count;
    note->peer = rank_of(event->of.coll_api.root);
    word_copy(note->function, event->of.coll_api.function);
    word_copy(note->datatype, event->of.coll_api.datatype);
}

static void note_p2p_api(struct nccl_note *note, const struct nccl_event *event)
{
    note->kind = NCCL_NOTE_P2P_API;
    note->captured = event->of.p2p_api.captured;
    note->count = event->of.p2p_api.count;
    word_copy(note->function, event->of.p2p_api.function);
    word_copy(note->datatype, event->of.p2p_api.datatype);
}

/* False: an event that was not asked for. */
static bool note_event(struct nccl_note *note, uint64_t type, const struct nccl_event *event)
{
    switch (type) {
    case NCCL_EVENT_GROUP_API:
        note->kind = NCCL_NOTE_GROUP_API;
        note->captured = event->of.group_api.captured;
        return true;
    case NCCL_EVENT_KERNEL_LAUNCH:
        note->kind = NCCL_NOTE_LAUNCH;
        return true;
    case NCCL_EVENT_COLL_API:
        note_coll_api(note, event);
        return true;
    case NCCL_EVENT_P2P_API:
        note_p2p_api(note, event);
        return true;
    case NCCL_EVENT_COLL:
        note_coll(note, event);
        return true;
    case NCCL_EVENT_P2P:
        note_p2p(note, event);
        return true;
    default:
        return false;
    }
}

static uint32_t note_bytes(enum nccl_note_kind kind)
{
    if (kind == NCCL_NOTE_COLL || kind == NCCL_NOTE_P2P)
        return sizeof(struct nccl_note);
    return kind == NCCL_NOTE_COLL_API || kind == NCCL_NOTE_P2P_API
               ? offsetof(struct nccl_note, algorithm)
               : NCCL_SHORT_NOTE;
}

/* Answers the handle. */
static __attribute__((noinline)) void *note_start(const struct nccl_comm *comm, uint64_t type,
                                                  const struct nccl_event *event)
{
    struct nccl_note note = {.peer = NCCL_UNKNOWN};

    note.comm = comm ? (uint32_t)(comm - plugin.comms) : 0;
    note.parent = id_of(event->parent);
    if (!note_event(&note, type, event))
        return NULL;
    note.id = mp_nvtx_number();
    if (!note.id || !mp_nvtx_note(&note, note_bytes((enum nccl_note_kind)note.kind)))
        return NULL;
    if (note.kind == NCCL_NOTE_LAUNCH)
        *in_launch_slot() = true;
    return handle_of(note.id, (enum nccl_note_kind)note.kind);
}

static inline int start(const struct nccl_comm *comm, void **handle, uint64_t type,
                        const struct nccl_event *event)
{
    if (handle)
        *handle = event && mp_nvtx_is_on() ? note_start(comm, type, event) : NULL;
    return 0;
}

static int start_v4(void *context, void **handle, struct nccl_event *event)
{
    return start(context, handle, event ? event->type.narrow : 0, event);
}

static int start_v5(void *context, void **handle, struct nccl_event *event)
{
    return start(context, handle, event ? event->type.wide : 0, event);
}

/* Of what a launch carries only the begin counts. */
static int stop(void *handle)
{
    const unsigned kind = (unsigned)(uintptr_t)handle & ((1u << KIND_BITS) - 1);
    struct nccl_note note = {.kind = (uint8_t)kind, .ends = true, .id = id_of(handle)};

    if (kind == NCCL_NOTE_LAUNCH)
        *in_launch_slot() = false;
    if (kind && kind < NCCL_NOTE_COLL)
        mp_nvtx_note(&note, NCCL_SHORT_NOTE);
    return 0;
}

static int state(void *handle, int number, void *arguments)
{
    (void)handle, (void)number, (void)arguments;
    return 0;
}

void nccl_plugin_launches(uint32_t correlation)
{
    struct nccl_note note = {.kind = NCCL_NOTE_CORRELATION, .id = correlation};

    if (nccl_plugin_version() && *in_launch_slot())
        mp_nvtx_note(&note, NCCL_SHORT_NOTE);
}

/* ---- Communicators ---- */

static struct nccl_comm *comm_new(void)
{
    uint32_t number = atomic_load_explicit(&plugin.comm_count, memory_order_relaxed);

    do {
        if (number == NCCL_COMMS)
            return &plugin.comms[0];
    } while (!atomic_compare_exchange_weak_explicit(&plugin.comm_count, &number, number + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    return &plugin.comms[number + 1];
}

static int init(void **context, int *mask, const char *name, uint64_t hash, int ranks, int rank,
                uint32_t version)
{
    if (!context || !mask)
        return 0;
    *mask = plugin.calls.off || !mp_nvtx_prepare() ? 0 : MASK;
    struct nccl_comm *comm = *mask ? comm_new() : &plugin.comms[0];
    *context = comm;
    if (!*mask)
        return 0;
    if (comm != &plugin.comms[0]) {
        *comm =
            (struct nccl_comm){.hash = hash,
                               .ranks = (uint32_t)ranks,
                               .rank = (uint32_t)rank,
                               .device = plugin.calls.device ? plugin.calls.device() : NCCL_UNKNOWN,
                               .version = version};
        if (name)
            mp_text_copy(comm->name, sizeof(comm->name), name);
    }
    atomic_store_explicit(&plugin.version, version, memory_order_relaxed);
    if (plugin.calls.first_comm)
        plugin.calls.first_comm();
    return 0;
}

static int init_v4(void **context, int *mask, const char *name, uint64_t hash, int nodes, int ranks,
                   int rank, void *log)
{
    (void)nodes, (void)log;
    return init(context, mask, name, hash, ranks, rank, 4);
}

static int init_v5(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks,
                   int rank, void *log)
{
    (void)nodes, (void)log;
    return init(context, mask, name, hash, ranks, rank, 5);
}

static int init_v6(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks,
                   int rank, void *log)
{
    (void)nodes, (void)log;
    return init(context, mask, name, hash, ranks, rank, 6);
}

/* Kernels of the communicator may still run, and graphs with them: it is kept. */
static int finalize(void *context)
{
    (void)context;
    return 0;
}

/* ---- What NCCL looks for ---- */

#define SHOWN __attribute__((visibility("default")))

extern SHOWN const struct nccl_profiler_v4 ncclProfiler_v4;
extern SHOWN const struct nccl_profiler_v5 ncclProfiler_v5;
extern SHOWN const struct nccl_profiler_v5 ncclProfiler_v6;

const struct nccl_profiler_v4 ncclProfiler_v4 = {"miniprof", init_v4, start_v4,
                                                 stop,       state,   finalize};
const struct nccl_profiler_v5 ncclProfiler_v5 = {"miniprof", init_v5, start_v5,
                                                 stop,       state,   finalize};
const struct nccl_profiler_v5 ncclProfiler_v6 = {"miniprof", init_v6, start_v5,
                                                 stop,       state,   finalize};
