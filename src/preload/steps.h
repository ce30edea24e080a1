/* Marks of where steps begin and end (base/steps.h), if STEPS_VARIABLE asks for them.
 *
 *     slots.c        a launch, a range of the profiler is about to begin or end
 *     host_calls.c   a call that waits has returned
 *     nvtx.c         NVTX
 *     steps.c        the file
 *
 * A mark takes no lock and makes no system call, but for one in a thousand, which takes a chunk.
 */
#ifndef MP_PRELOAD_STEPS_H
#define MP_PRELOAD_STEPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/steps.h"

/* Whether marks are asked for. At any moment, also before the constructors. */
bool steps_are_wanted(void);

/* Puts a mark, if they are wanted. Keeps errno. In a signal handler that has interrupted it, it
 * does nothing. */
void steps_put(enum steps_kind kind, uint32_t name, uint32_t domain);

/* CUPTI has come: for base/preload.h. */
void steps_attached(void);

/* A query of an event or stream has returned: ready or not. The first success after a failure is
 * the end of a wait. */
void steps_asked(bool ready);

#endif
