/* MINIPROF_BASELINE: blocks of steps in which nothing is recorded but where steps begin and end, in
 * alternation with recorded ones. So a trace tells what a step takes when nobody looks.
 *
 * What a step is, is found out once, in the first block, which is recorded:
 *
 *     nvtx    the ranges of MINIPROF_STEP; without it, a thread's outermost ranges in the default
 *             domain
 *     graph   from one launch of a CUDA graph to the next
 *     sync    from the end of one synchronising call to the end of the next
 *
 * Of each kind the steps of one thread count: of the first that makes any. This thread switches. It
 * does so where the step ends, or where a synchronising call returns; and only if there is one
 * context, it has no work (contexts_become_idle), and no stream is being captured. A step in which
 * the recorder has switched is left out of the table `step`, and so is the first one after it.
 *
 * A block without recording is a gap between two capture ranges of the trace (range_pause), so
 * nothing else need know of it. While it lasts, callbacks come for graph launches and synchronising
 * calls.
 *
 * Before CUDA 13.0 Update 1 a thread that launches a graph while kernels are switched off makes
 * CUPTI hang (disable_deadlock in quirks.def). So launches of graphs wait at a gate meanwhile, and
 * none may be inside when it closes.
 */
#ifndef MP_RECORD_PROCESS_BASELINE_H
#define MP_RECORD_PROCESS_BASELINE_H

#include <cuda.h>
#include <cupti.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/cupti/api_set.h"
#include "record/rows/recording.h"

/* ---- Blocks ----
 *
 * Blocks of steps, recorded and not, in alternation (baseline.h): when one is long enough.
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

/* ---- Steps ---- */

#define BASELINE_NAMES 64u

struct recorder;

/* Steps of one kind; of one thread. */
struct step_way {
    _Atomic uint32_t tid;   /* of the thread; 0: none has made any */
    _Atomic uint64_t count; /* steps that have ended while the kind was not chosen */
    _Atomic bool alive;     /* one has begun, ever */
    uint64_t since;         /* when the present one began, ns; 0: there is none */
    uint32_t depth;         /* nested ranges that are open */
    uint32_t name;          /* of the present one, among `names` */
};

struct baseline {
    struct step_way ways[BLOCK_WAYS];
    _Atomic int chosen;     /* 1 + the kind of the steps; 0: not chosen yet */
    _Atomic uint64_t first; /* when the first step of any kind ended, ns */

    /* The chosen thread's. */
    struct blocks blocks;
    bool due;                                    /* the block is long enough */
    bool given_up;                               /* CUPTI has not answered in time */
    uint32_t skip;                               /* steps that end next and are left out */
    char names[BASELINE_NAMES][STEP_NAME_BYTES]; /* the writer reads those that entries name */
    uint32_t name_count;

    _Atomic uint64_t steps;   /* of the chosen kind, in capture ranges */
    _Atomic uint64_t without; /* of them, those that were not recorded */

    _Atomic bool gate;          /* launches of graphs wait */
    _Atomic uint32_t launching; /* threads inside cuGraphLaunch */
};

/* Reads the setting, and says when it has no effect. After range_configure. */
void baseline_configure(struct recorder *recorder);

/* A call for which api_watch_steps: at ENTER before, at EXIT after anything else is done for it. */
void baseline_call(struct recorder *recorder, const struct api_watch *watch,
                   const CUpti_CallbackData *data);

#endif
