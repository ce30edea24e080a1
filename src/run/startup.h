/* What a Python program imports when it starts (MINIPROF_OPERATORS): the text of
 * tools/python/startup/sitecustomize.py, as a file in the user's cache.
 */
#ifndef MP_RUN_STARTUP_H
#define MP_RUN_STARTUP_H

#include "base/status.h"

/* Writes the file, unless it is there with this text, and puts its folder in front of PYTHONPATH.
 * MP_ERR_IO: there is no place for it, or only one that other users can change, so that their code
 * would run. MP_ERR_MEMORY. */
enum mp_status startup_set(struct mp_error *error);

#endif
