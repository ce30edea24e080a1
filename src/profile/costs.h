/* What recording adds to a program: constants of a GPU, a driver and a CUPTI.
 *
 * `miniprof calibrate` measures them once and keeps them in the user's cache folder. The recorder
 * copies what is there into each trace, so that a trace knows them on another machine too.
 */
#ifndef MP_PROFILE_COSTS_H
#define MP_PROFILE_COSTS_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* ns each time; costs.def says of what. */
struct costs {
#define COST(name, builtin, text) double name;
#include "profile/costs.def"
#undef COST
    double stack; /* a stack, inside of the call; of the kind that the trace has. No file has it */
};

/* Whose costs they are. A text must not have a line break. */
struct costs_key {
    const char *gpu;      /* product name, as in table `device` */
    unsigned long driver; /* cuDriverGetVersion */
    unsigned long cupti;  /* cuptiGetVersion */
};

enum costs_source {
    COSTS_BUILT_IN,
    COSTS_CALIBRATED_HERE, /* from the cache folder of who reads */
    COSTS_CALIBRATED_THERE /* from the trace: the machine that recorded it */
};

void costs_built_in(struct costs *costs);

/* Name, value and text of cost `i`; false: there are no more. Any thread. */
bool costs_at(struct costs *costs, size_t i, const char **name, double **value, const char **text);

/* Finds the costs of `key` in the text of a file of costs. A cost that is missing there keeps its
 * value. False, and `costs` unchanged: not there, or not all of it is numbers from 0 to 1e7. */
bool costs_find(const char *text, const struct costs_key *key, struct costs *costs);

/* Writes the costs of `key` into the user's file, in place of those that were there; makes the
 * folders. MP_ERR_IO with a line that says what is wrong, MP_ERR_MEMORY. */
enum mp_status costs_keep(const struct costs_key *key, const struct costs *costs,
                          struct mp_error *error);

/* The costs of recording a trace: the trace's own, else the user's, else built in. `gpu` is the
 * name of its device; NULL if it is not known. */
enum costs_source costs_of_trace(const struct mp_trace *trace, const char *gpu,
                                 struct costs *costs);

#endif
