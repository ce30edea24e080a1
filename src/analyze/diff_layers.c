#include "analyze/diff.h"

#include "base/poison.h"

enum mp_status diff_layers_take(struct diff_side *side, const struct diff_reading *reading,
                                struct mp_error *error)
{
    (void)side, (void)reading, (void)error;
    return MP_OK;
}
