/* Arrays indexed by the dense ids of definition tables, grown as ids appear.
 *
 * Ids come from a file, so the memory that they can take is bounded. `limit` is what a file of that
 * size can justify (definitions.h). An id beyond it is refused; the file as a whole is still read.
 */
#ifndef MP_PROFILE_DENSE_H
#define MP_PROFILE_DENSE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct dense {
    void *items;  /* owned; moves when the array grows; new items are zero */
    size_t count; /* greatest index reached, plus 1 */
    size_t capacity;
    size_t item_bytes;
    size_t limit; /* indexes stay below it */
};

/* Sets up an empty array; allocates nothing. */
void dense_init(struct dense *array, size_t item_bytes, size_t limit);

/* Grows the array to hold `index`. MP_OK, MP_ERR_LIMIT (the array stays as it was), MP_ERR_MEMORY.
 */
enum mp_status dense_reach(struct dense *array, uint64_t index);

/* The item at `index`, or NULL when it was not reached. Valid until the array grows. */
void *dense_at(const struct dense *array, uint64_t index);

/* Gives the memory back; the array is empty and can be used again. */
void dense_free(struct dense *array);

#endif
