/* Makes a temporary folder for traces that nobody else can read. */
#include "cli/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

enum mp_status scratch_make(char folder[SCRATCH_BYTES], struct mp_error *error)
{
    const char *base = secure_getenv("TMPDIR");

    snprintf(folder, SCRATCH_BYTES, "%s/miniprof.XXXXXX", base && *base ? base : "/tmp");
    if (strchr(folder, '%'))
        mp_error_set(error, MP_ERR_IO, "TMPDIR has a percent sign in it: '%.150s'", base);
    else if (mkdtemp(folder))
        return MP_OK;
    else
        mp_error_set(error, MP_ERR_IO, "cannot make a temporary folder: %m");
    folder[0] = '\0';
    return MP_ERR_IO;
}
