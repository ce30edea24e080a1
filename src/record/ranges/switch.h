/* CUPTI's kinds as capture ranges want them: one thread switches at a time, without the lock of the
 * ranges, and others wait for it where what they do next is to be recorded. They may hold what that
 * thread needs: no wait is longer than a second.
 *
 *     range opened --settle--> kinds on --> mark posted --await_posted--> launches are inside
 *     range closed --leave--> the flusher: CUPTI flushed, at times it gets its clock again
 *                             --settle--> kinds off --> the program
 *
 * Where a range begins its own thread switches, where it ends the flusher does. While CUPTI does
 * not answer there, nobody waits a second time: ranges begin and end, and whoever switches goes on
 * until the kinds are as is wanted by then.
 */
#ifndef MP_RECORD_RANGES_SWITCH_H
#define MP_RECORD_RANGES_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

struct recorder;

/* Brings the kinds in line with what is wanted now. What another thread is switching is waited for,
 * also if it will be as is wanted. Any thread, without the lock. */
void range_settle(struct recorder *recorder);

/* The end of a step, or of the range whose number is `closed`, if that is not 0: has the flusher
 * flush CUPTI for a range, give it its clock again if it `renews` and no other range has begun
 * since, and settle. False when that takes over a second, which is said once; it is done when CUPTI
 * answers. Any thread but the flusher, without the lock; the writer takes what comes meanwhile. */
bool range_leave(struct recorder *recorder, uint64_t closed, bool renews);

/* Does what range_leave has asked for. The flusher only. */
void range_serve(struct recorder *recorder);

/* Waits until the writer knows of the range that another thread has opened, if one is open. Any
 * thread, without the lock. */
void range_await_posted(struct recorder *recorder);

/* Has `how` done while no other thread switches kinds; false, undone, when one does for too long.
 * Any thread, without the lock. */
bool range_switch(struct recorder *recorder, void (*how)(struct recorder *recorder));

#endif
