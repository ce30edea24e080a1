/* What recording costs on this machine: measured by child processes that do the same work with and
 * without the recorder.
 */
#ifndef MP_CALIBRATE_CALIBRATE_H
#define MP_CALIBRATE_CALIBRATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "calibrate/answer.h"
#include "profile/costs.h"

#define CALIBRATE_MAX_ROUNDS 99

/* The first argument of the command when it is the child itself. */
#define CALIBRATE_PROBE "--probe"

struct calibrate_options {
    uint64_t rounds;     /* 1 to CALIBRATE_MAX_ROUNDS */
    unsigned device;     /* CUDA's ordinal */
    const char *library; /* libminiprof.so; NULL: the one beside this command */
};

struct calibration {
    char gpu[256];
    struct costs_key key;  /* its texts are here */
    struct costs values;   /* medians of the rounds, at least 0 */
    struct costs min, max; /* of the rounds, at least 0 */
};

/* Runs the rounds. MP_ERR_UNSUPPORTED: there is no driver or no such GPU; MP_ERR_IO,
 * MP_ERR_DAMAGED, MP_ERR_MEMORY; each with a line that says why. Nothing is kept. */
enum mp_status calibrate(const struct calibrate_options *options, struct calibration *result,
                         struct mp_error *error);

/* How many costs differ so much from round to round that they say little: by more than 300 ns and
 * by more than half of the cost. */
size_t calibration_wide(struct calibration *result);

/* The child: `--probe ANSWER DEVICE`. Writes the file ANSWER; the result is the exit code. */
int calibrate_probe(int argc, char **argv);

/* ---- Arithmetic ---- */

/* The costs of one round: a recorded probe against a bare one. They may be below 0. */
void constants_find(const struct measured *bare, const struct measured *recorded,
                    struct costs *costs);

/* ---- Several rounds ---- */

/* Medians, least and greatest of 1 to CALIBRATE_MAX_ROUNDS rounds; a cost below 0 is 0. */
void calibration_sum_up(struct costs *rounds, size_t count, struct calibration *result);

#endif
