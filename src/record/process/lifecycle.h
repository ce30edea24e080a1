/* How a recording ends: by exit(3) or quick_exit(3) from whatever thread, by a signal, or in a
 * forked child (fork.h).
 *
 *     finish:  FINISHING -> last flush (flusher thread, 5 s) -> writer closes the file (5 s) ->
 * INERT
 *
 * CUPTI's forced flush hangs in some versions and a kernel may never end, so a thread of its own
 * does it and is left behind when it takes too long. What the flush brings is missing then, and the
 * file says so; what was written before is complete.
 *
 * The exit handler is registered three times: in InitializeInjection, when cuInit has finished and
 * with the first context. Handlers run in the reverse order, and ours has to run before the
 * driver's own, which the driver registers somewhere in between. Only the first one that runs does
 * anything.
 */
#ifndef MP_RECORD_PROCESS_LIFECYCLE_H
#define MP_RECORD_PROCESS_LIFECYCLE_H

#include <stdbool.h>

#include "base/status.h"

struct recorder;

/* Registers the handler for exit. */
enum mp_status lifecycle_open(struct recorder *recorder);

/* Registers the exit handler once more. */
void lifecycle_at_exit_again(struct recorder *recorder);

/* Completes the file and waits for it, with a limit; any thread, also in a callback. */
void lifecycle_finish(struct recorder *recorder);

/* Whether the caller is the one that finishes the recording, from now on. */
bool lifecycle_claim_end(struct recorder *recorder);

/* The last flush, on a thread of its own with a time limit. The claimer calls it. The buffers hold
 * less than CUPTI may give back, so the writer has to empty them meanwhile: if it is the caller, it
 * passes `take`, which takes what has come or waits a moment; any other caller passes NULL. */
void lifecycle_flush(struct recorder *recorder, void (*take)(struct recorder *recorder));

/* The writer is done. */
void lifecycle_closed(struct recorder *recorder);

#endif
