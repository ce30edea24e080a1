/* Blocks of steps, recorded and not, in alternation (baseline.h): when one is long enough.
 *
 * A block has BLOCK_STEPS steps and lasts MP_TIME_BLOCK, at least. A recorded one goes on until
 * another block without recording still fits into the share of all steps, and one without recording
 * until the share is reached. So the share holds within one block. The first block is recorded.
 *
 * What a step is, is chosen once: the first of NVTX ranges, graph launches and synchronising
 * calls that has BLOCK_CHOICE_STEPS steps, after MP_TIME_BLOCK. If something earlier in this order
 * has begun at all, it gets MP_TIME_BLOCK_CHOICE to reach that number.
 *
 * Nothing but numbers: the caller says what happens, one thread at a time.
 */
#ifndef MP_RECORD_RANGES_BLOCKS_H
#define MP_RECORD_RANGES_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#define BLOCK_STEPS        10u
#define BLOCK_CHOICE_STEPS 4u

enum block_way { BLOCK_NVTX, BLOCK_GRAPH, BLOCK_SYNC, BLOCK_WAYS };

struct blocks {
    uint32_t share; /* percent of the steps that is not recorded */
    bool bare;      /* the present block is not recorded */
    uint64_t since; /* when it began, ns */
    uint32_t steps; /* in it */
    uint64_t all;   /* steps, ever */
    uint64_t without;
};

/* The kind of step that is taken after `passed` ns, or BLOCK_WAYS while that is open. `counts`:
 * steps that have ended, `alive`: one has begun; both by kind. */
enum block_way blocks_choose(const uint64_t counts[BLOCK_WAYS], const bool alive[BLOCK_WAYS],
                             uint64_t passed);

/* A block begins. */
void blocks_begin(struct blocks *blocks, bool bare, uint64_t now);

/* A step of the block has ended, at `now`. Whether the next block is to begin. */
bool blocks_step(struct blocks *blocks, uint64_t now);

#endif
