/* What a Python program imports when it starts (MINIPROF_OPERATORS): the text of
 * tools/python/startup/sitecustomize.py, as a file in the user's cache.
 */
#ifndef MP_TOOL_RUN_STARTUP_H
#define MP_TOOL_RUN_STARTUP_H

#include <stdbool.h>

/* Writes the file, unless it is there, and puts its folder in front of PYTHONPATH. False: there is
 * no place for it, or no memory. */
bool startup_set(void);

#endif
