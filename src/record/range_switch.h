/* CUPTI's kinds as capture ranges want them: one thread switches at a time, without the lock of the
 * ranges, and others wait for it where what they do next is to be recorded. They may hold what that
 * thread needs: no wait is longer than a second.
 *
 *     range opened --settle--> kinds on --> mark posted --await_posted--> launches are inside
 */
#ifndef MP_RECORD_RANGE_SWITCH_H
#define MP_RECORD_RANGE_SWITCH_H

#include <stdbool.h>

struct recorder;

/* Brings the kinds in line with what is wanted now. What another thread is switching is waited for,
 * also if it will be as is wanted. Any thread, without the lock. */
void range_settle(struct recorder *recorder);

/* Waits until the writer knows of the range that another thread has opened, if one is open. Any
 * thread, without the lock. */
void range_await_posted(struct recorder *recorder);

/* Has `how` done while no other thread switches kinds; false, undone, when one does for too long.
 * Any thread, without the lock. */
bool range_switch(struct recorder *recorder, void (*how)(struct recorder *recorder));

#endif
