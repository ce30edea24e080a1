/* Random jobs of several ranks, played in virtual time by rules of our own, with no code of the
 * analysis: threads that launch, streams in order, events, synchronisation, and operations of NCCL
 * that wait for other ranks. What happened is kept as moments and what each moment had to wait for,
 * so the longest path follows from the definition: among all pairs of moments.
 *
 *     play_make     a program from a seed
 *     play_run      its times, with changes: the same program played again is the truth of what-if
 *     play_longest  the longest path, in O(n^2)
 *     play_write    the trace of a rank
 *
 * Latencies are constant, so that the analysis can find them: each program begins with work that
 * shows each of them at its shortest.
 */
#ifndef MP_TESTS_JOB_PLAY_H
#define MP_TESTS_JOB_PLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/writer.h"

enum { PLAY_RANKS = 4, PLAY_STREAMS = 2, PLAY_NAMES = 12, PLAY_OPS = 200, PLAY_MOMENTS = 1600 };

#define PLAY_LAUNCH UINT64_C(5000) /* ns from the call to the kernel */
#define PLAY_GAP    UINT64_C(1000) /* from one kernel to the next */
#define PLAY_RETURN UINT64_C(700)  /* from an awaited end to the call's */
#define PLAY_CALL   UINT64_C(2000) /* of a launch */

/* What a stretch between two moments is: an index into the sums of its rank. */
enum play_what {
    PLAY_HOST,
    PLAY_LATENCY, /* launch, gap, return */
    PLAY_LAUNCHES,
    PLAY_SYNCS,
    PLAY_KERNELS,                              /* k0, k1, ... */
    PLAY_FUNCTIONS = PLAY_KERNELS + PLAY_NAMES /* enum play_function */
};

enum play_function {
    PLAY_ALL_REDUCE,
    PLAY_ALL_GATHER,
    PLAY_BROADCAST,
    PLAY_REDUCE,
    PLAY_SEND,
    PLAY_RECV,
    PLAY_FUNCTION_COUNT
};

enum { PLAY_WHATS = PLAY_FUNCTIONS + PLAY_FUNCTION_COUNT };

enum play_kind { PLAY_KERNEL, PLAY_SYNC_STREAM, PLAY_SYNC_ALL, PLAY_RECORD, PLAY_WAIT, PLAY_NCCL };

/* A call of one rank's thread, or of all of them (NCCL). */
struct play_op {
    enum play_kind kind;
    uint32_t rank, stream;        /* of NCCL only the stream */
    uint32_t name;                /* of a kernel */
    uint64_t time;                /* of it, or of the transfer */
    uint64_t host[PLAY_RANKS];    /* host code before the call */
    uint64_t planted[PLAY_RANKS]; /* of it, what makes the rank late */
    enum play_function function;  /* of NCCL; Send: `root` to `peer`, the others do nothing */
    uint32_t root, peer, fused;   /* how often the operation is in its kernel */
};

struct play_moment {
    uint64_t time;
    uint32_t first_edge, edges;
};

struct play_edge {
    uint32_t from;
    uint64_t ns;
    uint8_t rank, what;
    bool own; /* from an arrival to the transfer of its own rank */
};

/* What a trace has. */
struct play_row {
    const struct play_op *op;
    uint32_t rank;
    uint64_t call, call_end, begin, end;
};

/* What is changed; zeroed it changes nothing. Of a name the time is halved or doubled. */
struct play_changes {
    bool no_host[PLAY_RANKS], no_launch[PLAY_RANKS], no_gap, no_late, half_late;
    bool halved[PLAY_RANKS][PLAY_WHATS], doubled[PLAY_RANKS][PLAY_WHATS];
};

struct play {
    uint32_t ranks;
    uint64_t seed, start[PLAY_RANKS];
    struct play_op ops[PLAY_OPS];
    uint32_t op_count;
    struct play_row rows[PLAY_OPS * PLAY_RANKS];
    uint32_t row_count;
    struct play_moment moments[PLAY_MOMENTS * PLAY_RANKS];
    struct play_edge edges[PLAY_MOMENTS * PLAY_RANKS * 4];
    uint32_t moment_count, edge_count;
    uint64_t begin, end; /* of the job */
};

/* Everybody does the same between two operations, but for what is planted. */
enum play_form { PLAY_ANY, PLAY_IN_STEP };

void play_make(struct play *play, uint64_t seed, enum play_form form);

void play_run(struct play *play, const struct play_changes *changes);

/* The length of the longest path from the begin to the end, and what it consists of. */
uint64_t play_longest(const struct play *play, uint64_t sums[PLAY_RANKS][PLAY_WHATS]);

void play_write(const struct play *play, uint32_t rank, struct mp_writer *writer);

/* What a row of the path is called: "rank1:k3". */
const char *play_name(uint32_t rank, unsigned what);

#endif
