/* The marks that libminiprof_preload.so leaves while a program runs: where launches begin, waits
 * return, and NVTX ranges begin and end. `miniprof run` makes steps of them, to compare runs that
 * have CUPTI in them with runs that have not.
 *
 *     the file of a process    | header | chunk | chunk | chunk | ...
 *     a chunk                  | thread | mark | mark | mark | ... | zeroes
 *
 * A thread takes a chunk and is the only one to write into it. The file is mapped and shared: what
 * a thread has written is there, however the process ends.
 */
#ifndef MP_BASE_STEPS_H
#define MP_BASE_STEPS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Variables of `miniprof run` for the preloaded library. They are no settings. */
#define STEPS_VARIABLE "MPSTEPS_FOLDER"   /* the folder of the files */
#define STEPS_ALL      "MPSTEPS_ALL"      /* marks go on when CUPTI has come */
#define STEPS_NVTX     "MPSTEPS_RECORDER" /* libminiprof.so, which gets NVTX's calls too */
#define STEPS_MAGIC    "MPSTEPS1"         /* 8 bytes, without the NUL */
#define STEPS_FILE     "steps."           /* and the process id */

enum steps_kind {
    STEPS_NOTHING, /* no mark */
    STEPS_LAUNCH,  /* a kernel, copy or set is about to be launched */
    STEPS_GRAPH,   /* a graph is */
    STEPS_WAIT,    /* a call that waits for the GPU has returned */
    STEPS_PUSH,    /* NVTX: `name`, `domain` */
    STEPS_POP,     /* `domain` */
    STEPS_BEGIN,   /* a range by start and end: `name`, `domain`; STEPS_ID follows */
    STEPS_ID,      /* its id: `name` */
    STEPS_END,     /* the id: `name` */
    STEPS_START,   /* cuProfilerStart is about to be called */
    STEPS_STOP,    /* cuProfilerStop is */
    STEPS_ATTACHED /* CUPTI is in the process from here on */
};

struct steps_mark {
    uint64_t time;        /* counts of the processor, or ns (steps_header.counts) */
    uint32_t name;        /* steps_hash of a text, or an id */
    uint32_t kind : 8;    /* enum steps_kind */
    uint32_t domain : 24; /* of the domain's name: low bits of steps_hash; 0: the default one */
};
_Static_assert(sizeof(struct steps_mark) == 16, "written by one process, read by another");

#define STEPS_CHUNK_BYTES 16384u
#define STEPS_CHUNK_MARKS (STEPS_CHUNK_BYTES / sizeof(struct steps_mark) - 1)

struct steps_chunk {
    uint32_t thread; /* gettid */
    uint32_t unused[3];
    struct steps_mark marks[STEPS_CHUNK_MARKS]; /* up to one of the kind STEPS_NOTHING */
};
_Static_assert(sizeof(struct steps_chunk) == STEPS_CHUNK_BYTES, "chunks lie side by side");

#define STEPS_MAX_CHUNKS 4096u /* 4.2 million marks, 64 MiB */

/* The processor's counter and CLOCK_MONOTONIC, read together. */
struct steps_moment {
    _Atomic uint64_t count;
    _Atomic uint64_t ns;
};

struct steps_header {
    char magic[8];
    uint32_t process;
    uint32_t counts; /* 1: times are counts of the processor */
    uint32_t unused;
    _Atomic uint32_t chunks; /* that were taken; may exceed STEPS_MAX_CHUNKS: then marks are lost */
    struct steps_moment first, last;
    char rest[STEPS_CHUNK_BYTES - 56];
};
_Static_assert(sizeof(struct steps_header) == STEPS_CHUNK_BYTES, "one chunk");

#define STEPS_FILE_BYTES ((size_t)(STEPS_MAX_CHUNKS + 1) * STEPS_CHUNK_BYTES)

/* ---- Names ---- */

#define STEPS_NAME_BYTES 63u /* of a text that count */

static inline uint32_t steps_mix(uint64_t *state, uint64_t word)
{
    *state = (*state ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    *state ^= *state >> 32;
    return (uint32_t)*state;
}

/* Of a text that ends with NUL, or after STEPS_NAME_BYTES; 0 for an empty one. */
static inline uint32_t steps_hash(const char *text)
{
    uint64_t state = 0, word = 0;
    unsigned i = 0;

    for (; i < STEPS_NAME_BYTES && text[i]; i++) {
        word |= (uint64_t)(unsigned char)text[i] << (8 * (i % 8));
        if (i % 8 == 7) {
            steps_mix(&state, word);
            word = 0;
        }
    }
    return i ? steps_mix(&state, word) : 0;
}

#endif
