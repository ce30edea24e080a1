/* One round of a calibration: a bare probe and a recorded one. */
#ifndef MP_CALIBRATE_ROUND_H
#define MP_CALIBRATE_ROUND_H

#include "calibrate/answer.h"
#include "calibrate/calibrate.h"
#include "cli/program.h"
#include "run/launch.h"

struct round {
    const struct calibrate_options *options;
    struct launch launch;
    char folder[SCRATCH_BYTES]; /* temporary; empty: there is none */
    struct answer answer;       /* of the probe that ran last */
};

/* Finds the library and makes the folder; call round_end also after a failure. */
enum mp_status round_begin(struct round *round, const struct calibrate_options *options,
                           struct mp_error *error);
void round_end(const struct round *round);

/* Runs both probes, the bare one first if asked for; *costs may be below 0. */
enum mp_status round_run(struct round *round, bool bare_first, struct answer_key *key,
                         struct costs *costs, struct mp_error *error);

#endif
