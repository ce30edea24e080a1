/* Switches CUPTI's kinds as capture ranges need them. One thread switches at a time, without
 * holding the lock of the ranges. Other threads wait for it if their next calls are to be recorded.
 * They may hold something that the switching thread needs, so no wait is longer than a second.
 *
 *     range opened --settle--> kinds on --> mark posted --await_posted--> launches are inside
 *     range closed --leave--> the flusher: CUPTI flushed, at times its clock registered again
 *                             --settle--> kinds off --> the program
 *
 * At the begin of a range the thread that begins it switches; at the end the flusher does. If CUPTI
 * does not answer the flusher, nobody waits a second time: ranges begin and end meanwhile. The
 * thread that switches continues until the kinds are as wanted at that moment.
 */
#ifndef MP_RECORD_RANGES_SWITCH_H
#define MP_RECORD_RANGES_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

struct gpu;
struct recorder;

/* Switches the kinds as they are wanted now. If another thread is switching, waits for it, even if
 * that leads to the wanted state. Any thread, without the lock. */
void range_settle(struct recorder *recorder);

/* The end of a step, or of the range with the number `closed`, unless that is 0. Has the flusher
 * settle. For a range the flusher flushes CUPTI first; if `renews` and no other range has begun
 * since, it also registers the clock again. False if this takes more than a second, which is said
 * once; the flusher finishes when CUPTI answers. Any thread but the flusher, without the lock; the
 * writer takes records while it waits. */
bool range_leave(struct recorder *recorder, uint64_t closed, bool renews);

/* Does what range_leave has asked for. The flusher only. */
void range_serve(struct recorder *recorder);

/* If another thread has opened a range, waits until its mark is posted. Any thread, without the
 * lock. */
void range_await_posted(struct recorder *recorder);

/* gpu_switch_alone, with the recorder's `gpu`. Any thread, without the lock. */
bool range_switch(struct gpu *gpu, void (*how)(struct gpu *gpu));

#endif
