/* A temporary folder for the traces of processes that a command starts for itself. */
#ifndef MP_CLI_SCRATCH_H
#define MP_CLI_SCRATCH_H

#include "base/status.h"

#define SCRATCH_BYTES 4096 /* of its path */

/* Makes a folder of a new name in TMPDIR, else in /tmp. Its path is used in MINIPROF_OUTPUT, which
 * is a pattern, so a percent sign in it is refused. After MP_ERR_IO, which says why, the path is
 * empty. The caller removes the folder. */
enum mp_status scratch_make(char folder[SCRATCH_BYTES], struct mp_error *error);

#endif
