/* waits.h: threads of run_programs that wait for each other, in virtual time. What they wait for
 * are numbered objects that hold tokens: each post puts tokens there, each await takes the oldest
 * one. A token has the moment of its post, so that a thread whose clock is behind that moment has
 * to wait for it.
 *
 * Waits are told to the recorder (preload.h). Only who holds the baton calls these functions, or
 * the driver's thread while that one waits for it.
 */
#ifndef ORACLE_WAITS_H
#define ORACLE_WAITS_H

#include <stdint.h>

enum { WAIT_OBJECTS = 8 };

/* Takes all tokens away. */
void waits_clear(void);

/* So many tokens of the calling thread, at its present time. */
void waits_post(long object, long count);

/* The calling thread takes a token, and returns `wake` ns after the token's moment if that is still
 * to come. Without a token it waits for `limit` ns, and nobody wakes it. */
void waits_await(long object, uint32_t kind, uint64_t wake, uint64_t limit);

/* It waits until thread `waker` (gettid) has come to `moment`, and returns `wake` ns later. */
void waits_join(uint32_t waker, uint64_t moment, uint64_t wake);

/* It sleeps. */
void waits_sleep(uint64_t ns);

/* It made a call between these moments, and waited inside of it, by half of it and 5 us more. */
void waits_inside(uint64_t begin, uint64_t end);

/* How many waits were told of so far. */
unsigned long waits_count(void);

#endif
