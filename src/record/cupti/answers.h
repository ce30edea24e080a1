/* Launches of kernels whose records never come, so that a loss is noticed that CUPTI does not
 * count.
 *
 * Calls and kernels have the same correlation id, and come in any order. A window of ids, one byte
 * each, notes which of the two has come. What leaves the window as a launch alone is unanswered.
 * Ids of all calls are counted by one counter, so the window lasts for more than a second of
 * launches at the rate of a fast host. A record that comes later still makes up for it.
 *
 * Only kernels count that are launched one by one. Graphs may have no kernel, copies of 0 bytes
 * have no record.
 *
 * Owned by the writer thread.
 */
#ifndef MP_RECORD_CUPTI_ANSWERS_H
#define MP_RECORD_CUPTI_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"

#define ANSWERS_WINDOW   (UINT32_C(1) << 19) /* ids; 512 KiB, touched as they come */
#define ANSWERS_KEPT_IDS 65536u              /* unanswered ones that a late record may answer */

/* The launch with this id is unanswered (1), or was and is answered now (-1). */
typedef void answers_say(void *context, uint64_t correlation, int change);

struct answers {
    uint8_t *notes;       /* NULL: no memory, nothing is noted */
    uint64_t from, until; /* ids in the window */
    struct mp_map missing;
    answers_say *say;
    void *context;
};

void answers_open(struct answers *answers, answers_say *say, void *context);
void answers_close(struct answers *answers);

/* Forgets everything without a word. */
void answers_restart(struct answers *answers);

/* A launch of one kernel that has succeeded; the record of work. Ids in 64 bits. */
void answers_launch(struct answers *answers, uint64_t correlation);
void answers_work(struct answers *answers, uint64_t correlation);

/* All records have come. */
void answers_end(struct answers *answers);

#endif
