/* The contents of a flight recorder's file: the chunks in memory, a header that says why the file
 * was written and between which times it has everything, and notes made for it. The writer only.
 */
#ifndef MP_RECORD_FLIGHT_TRACE_H
#define MP_RECORD_FLIGHT_TRACE_H

#include <limits.h>
#include <stdint.h>

#include "base/status.h"
#include "record/process/flight.h"

struct flight_path {
    char text[PATH_MAX];
};

/* The time from which on everything is in memory. */
uint64_t flight_time_from(const struct flight *flight);

/* Writes the memory's contents to a file and gives it its name, `path`. On failure there is no
 * file. */
enum mp_status flight_trace_write(struct recorder *recorder, const struct flight_trigger *trigger,
                                  struct flight_path *path, struct mp_error *error);

#endif
