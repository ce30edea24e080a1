/* What cuProfilerStart and cuProfilerStop do on the application's thread.
 *
 * The writer decides what a mark means (capture.h); here the marks are posted, in the mode `range`
 * the kinds are switched, and at the end of a range everything that ran in it is made to come out.
 */
#ifndef MP_RECORD_RANGE_H
#define MP_RECORD_RANGE_H

#include <stdint.h>

struct recorder;

/* EXIT of cuProfilerStart and ENTER of cuProfilerStop, with the ids of these calls. */
void range_begin(struct recorder *recorder, uint32_t correlation);
void range_end(struct recorder *recorder, uint32_t correlation);

#endif
