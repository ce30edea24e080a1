/* libminiprof.so as NCCL's profiler plugin.
 *
 * NCCL calls the plugin when a program calls NCCL (the API events), when it launches a kernel for
 * what was called, and with what the kernel carries. Each of these calls becomes a note among the
 * NVTX events of its thread (record/nvtx), with a copy of all that NCCL tells. So it costs no lock
 * and no allocation, and one relaxed load while recording is off. The writer puts the notes
 * together (collectives.h). NCCL's handles are numbers of ours; nothing is kept for them.
 *
 * Communicators are kept for good, since a program makes them before it is recorded: NCCL_COMMS at
 * most. Operations in later ones are without communicator.
 *
 *     coll API begin --+                        kernel launch begin        coll  (parent: coll API,
 *       (inside a group API)  coll API end        CUPTI's launch callback          sequence, ...)
 *                                               kernel launch end
 */
#ifndef MP_RECORD_NCCL_PLUGIN_H
#define MP_RECORD_NCCL_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- NCCL's interface to profiler plugins ----
 *
 * Versions 4 (NCCL 2.27), 5 (2.28) and 6 (2.29): what the
 * recorder uses. NCCL looks for a symbol ncclProfiler_vN, takes the newest, and calls what
 * is in it (NVIDIA/nccl, src/include/plugin/profiler).
 */

/* Bits of the mask by which a plugin chooses events, and types of the events. */
enum nccl_event_type {
    NCCL_EVENT_COLL = 2,
    NCCL_EVENT_P2P = 4,
    NCCL_EVENT_GROUP_API = 256,
    NCCL_EVENT_COLL_API = 512,
    NCCL_EVENT_P2P_API = 1024,
    NCCL_EVENT_KERNEL_LAUNCH = 2048,
};

/* One layout for all three versions: what later versions have added comes after what is read
 * here. Version 4 has a type of one byte. */
struct nccl_event {
    union {
        uint64_t wide;
        uint8_t narrow;
    } type;
    void *parent; /* a handle of ours */
    int rank;
    union {
        struct {
            bool captured;
            int depth;
        } group_api;
        struct {
            const char *function;
            size_t count;
            const char *datatype;
            int root;
            void *stream;
            bool captured;
        } coll_api;
        struct {
            const char *function;
            size_t count;
            const char *datatype;
            void *stream;
            bool captured;
        } p2p_api;
        struct {
            uint64_t sequence;
            const char *function;
            const void *send;
            void *receive;
            size_t count;
            int root;
            const char *datatype;
            uint8_t channels;
            uint8_t warps;
            const char *algorithm;
            const char *protocol;
        } coll;
        struct {
            const char *function;
            void *buffer;
            const char *datatype;
            size_t count;
            int peer;
            uint8_t channels;
        } p2p;
    } of;
};

_Static_assert(offsetof(struct nccl_event, parent) == 8 && offsetof(struct nccl_event, of) == 24 &&
                   offsetof(struct nccl_event, of.coll.algorithm) == 24 + 64 &&
                   offsetof(struct nccl_event, of.p2p.channels) == 24 + 36,
               "as NCCL lays it out");

/* All functions answer 0 for success. `log` is not used. */
struct nccl_profiler_v4 {
    const char *name;
    int (*init)(void **context, int *mask, const char *name, uint64_t hash, int nodes, int ranks,
                int rank, void *log);
    int (*start)(void *context, void **handle, struct nccl_event *event);
    int (*stop)(void *handle);
    int (*state)(void *handle, int state, void *arguments);
    int (*finalize)(void *context);
};

/* Versions 5 and 6. */
struct nccl_profiler_v5 {
    const char *name;
    int (*init)(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks,
                int rank, void *log);
    int (*start)(void *context, void **handle, struct nccl_event *event);
    int (*stop)(void *handle);
    int (*state)(void *handle, int state, void *arguments);
    int (*finalize)(void *context);
};

/* ---- The plugin ---- */

#define NCCL_COMMS      4096u
#define NCCL_NAME_BYTES 64u /* of a communicator, with the zero */
#define NCCL_WORD_BYTES 20u /* of a function, type, algorithm or protocol */
#define NCCL_UNKNOWN    UINT32_MAX

enum nccl_note_kind {
    NCCL_NOTE_GROUP_API = 1,
    NCCL_NOTE_COLL_API,
    NCCL_NOTE_P2P_API,
    NCCL_NOTE_LAUNCH,
    NCCL_NOTE_COLL,
    NCCL_NOTE_P2P,
    NCCL_NOTE_CORRELATION, /* of the CUDA launch inside of a kernel launch */
};

/* What a note says. It is as long as its kind needs: an end, a group, a launch and a correlation
 * end before `sequence`, the calls before `algorithm`. */
struct nccl_note {
    uint8_t kind;
    bool ends;
    bool captured;
    uint8_t channels;
    uint32_t comm;   /* number of the communicator, from 1; 0: not known */
    uint64_t id;     /* of the event; of a correlation the correlation id */
    uint64_t parent; /* id of the API event that it belongs to; 0: none */
    uint64_t sequence;
    uint64_t count; /* elements */
    uint32_t peer;  /* or root; NCCL_UNKNOWN: none */
    char function[NCCL_WORD_BYTES];
    char datatype[NCCL_WORD_BYTES];
    char algorithm[NCCL_WORD_BYTES];
    char protocol[NCCL_WORD_BYTES];
};
#define NCCL_SHORT_NOTE offsetof(struct nccl_note, sequence)

struct nccl_comm {
    uint64_t hash;
    uint32_t ranks;
    uint32_t rank;
    uint32_t device; /* NCCL_UNKNOWN */
    uint32_t version;
    char name[NCCL_NAME_BYTES];
};

/* The communicator with this number, complete since it has one; NULL for others. Any thread. */
const struct nccl_comm *nccl_comm_get(uint32_t number);

/* What the plugin needs from others. Before NCCL is initialised; without it the plugin asks for
 * events all the same, in case that the recording begins later. */
struct nccl_plugin_calls {
    bool off;                 /* the plugin asks for nothing */
    uint32_t (*device)(void); /* of the calling thread's context; NCCL_UNKNOWN */
    void (*first_comm)(void); /* NCCL is going to launch kernels */
};
void nccl_plugin_open(const struct nccl_plugin_calls *calls);

/* The calling thread launches something: CUPTI's callback, on entry. */
void nccl_plugin_launches(uint32_t correlation);

/* Version of the interface that NCCL has chosen; 0: it has not. Any thread. */
uint32_t nccl_plugin_version(void);

#endif
