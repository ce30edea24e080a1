/* The writer thread: it owns the file and everything in recording.h, all signals are blocked in it.
 *
 * Its rounds run when something is handed over, and every 100 ms at the latest. CUPTI is asked for
 * complete buffers every 100 ms, as it gives them up only when they are full otherwise
 * (cuptiActivityFlushPeriod does not change that), and the file is written every 200 ms: that is
 * what a killed process loses at most. MINIPROF_TIMEOUT is looked at in each round. Between buffers
 * it rests where it would use more than half a core, there is room for what waits and no round is
 * due (throttle.h).
 */
#ifndef MP_RECORD_PROCESS_WRITER_THREAD_H
#define MP_RECORD_PROCESS_WRITER_THREAD_H

#include "base/status.h"

struct recorder;

/* Starts it; recorder->recording belongs to it from then on. */
enum mp_status writer_thread_start(struct recorder *recorder);

#endif
