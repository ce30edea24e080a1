/* Whether two files are the same recording: one of them is a copy of the other, or of its begin.
 *
 * A header with the process id and the moment when recording began is like no other; the flight
 * recorder adds the moment of the trigger. So equal headers of that kind suffice, also if one of
 * the files is damaged or was cut off. Headers without these keys must be equal too, and so must
 * the headers of the first chunks. A file that has no chunk tells nothing then.
 */
#ifndef MP_PROFILE_FINGERPRINT_H
#define MP_PROFILE_FINGERPRINT_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FINGERPRINT_CHUNKS 16u

struct fingerprint {
    uint64_t header;                     /* hash of all keys and values */
    uint64_t chunks[FINGERPRINT_CHUNKS]; /* hash of the first chunk headers up to this one */
    uint32_t count;                      /* of `chunks` */
    bool unique;                         /* the header names the process and its start */
};

/* Begins the fingerprint, from the header. */
void fingerprint_begin(struct fingerprint *print, const struct mp_trace *trace);

/* Takes the next chunk of the file. */
void fingerprint_take(struct fingerprint *print, const struct mp_chunk *chunk);

bool fingerprint_is_same(const struct fingerprint *a, const struct fingerprint *b);

#endif
