/* The writer thread: it owns the file and everything in recording.h. All signals are blocked in it.
 *
 * Its rounds run when another thread hands something over, and every 100 ms at the latest. It has
 * CUPTI flushed every 100 ms, since CUPTI otherwise returns buffers only when they are full
 * (cuptiActivityFlushPeriod does not change that). It writes the file every 200 ms, so a killed
 * process loses 200 ms at most. In each round it looks whether MINIPROF_TIMEOUT is over.
 *
 * Between buffers the writer rests, if it would use more than half a core, there is room for what
 * waits, and no round is due (throttle.h).
 */
#ifndef MP_RECORD_PROCESS_WRITER_THREAD_H
#define MP_RECORD_PROCESS_WRITER_THREAD_H

#include "base/status.h"

struct recorder;

/* Starts it; recorder->recording belongs to it from then on. */
enum mp_status writer_thread_start(struct recorder *recorder);

/* Starts the flusher (core/flusher.h): flusher_thread.c. */
enum mp_status flusher_start(struct recorder *recorder);

#endif
