/* A walk through the Python frames of the calling thread, innermost first.
 *
 * The thread is inside of a call that one of these frames has made, so none of them changes. Each
 * frame is loaded only from memory that was shown to be mapped (memory.h), each function is
 * compared with what is known of it (code.h), and the depth is bounded. A walk that meets something
 * else ends there, and its stack counts as broken.
 */
#ifndef MP_RECORD_PYTHON_WALK_H
#define MP_RECORD_PYTHON_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "record/stacks/python_code.h"

#define WALK_DEPTH   512u /* frames that are kept; of deeper stacks the innermost */
#define WALK_RECORDS 16u

/* What a thread needs for it. In a signal handler: with pages that are copied, and with the codes'
 * arena. */
struct walk {
    struct known_pages pages;
    struct known_codes codes;
    uint32_t max;   /* frames that are kept, up to WALK_DEPTH; 0: as many */
    uint32_t count; /* walks */
    bool broken;    /* the last one ended too early */
    /* What evaluators keep on the native stack, innermost first, as far as there is room; not with
     * pages that are copied. */
    uint32_t record_count;
    uintptr_t records[WALK_RECORDS];
    uint64_t places[WALK_DEPTH + 1];
};

/* Walks from the thread state. Fills `places` and answers how many there are; 0: no frame. */
uint32_t walk_python(struct walk *walk, const struct python *python, struct stack_store *store,
                     uintptr_t thread_state);

#endif
