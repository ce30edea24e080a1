/* Runs the rounds of a calibration, one after the other, and sums them up. */
#include "calibrate/calibrate.h"

#include <stdlib.h>

#include "base/text/strings.h"
#include "calibrate/round.h"
#include "calibrate/spread.h"

#include "base/poison.h"

static enum mp_status run_rounds(struct round *round, struct costs *rounds,
                                 struct calibration *result, struct mp_error *error)
{
    struct answer_key key = {.driver = 0};
    size_t i;

    for (i = 0; i < round->options->rounds; i++)
        MP_TRY(round_run(round, i % 2 == 0, &key, &rounds[i], error));
    mp_text_copy(result->gpu, sizeof result->gpu, key.gpu);
    result->key = (struct costs_key){result->gpu, key.driver, key.cupti};
    calibration_sum_up(rounds, round->options->rounds, result);
    return MP_OK;
}

enum mp_status calibrate(const struct calibrate_options *options, struct calibration *result,
                         struct mp_error *error)
{
    struct round *round = malloc(sizeof *round);
    struct costs *rounds = calloc(options->rounds, sizeof *rounds);
    enum mp_status status;

    if (!round || !rounds) {
        free(round);
        free(rounds);
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    }
    status = round_begin(round, options, error);
    if (status == MP_OK)
        status = run_rounds(round, rounds, result, error);
    round_end(round);
    free(rounds);
    free(round);
    return status;
}
