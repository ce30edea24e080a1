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
