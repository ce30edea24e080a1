/* The user's file of what recording costs: where it is, and its text.
 *
 * `miniprof calibrate` writes it (profile/costs/costs.h has its form). The recorder copies it into
 * each trace, and reports read it. The file is never read for a privileged process: then
 * secure_getenv finds no folder.
 */
#ifndef MP_BASE_COSTS_FILE_H
#define MP_BASE_COSTS_FILE_H

#include <stdbool.h>
#include <stddef.h>

#define MP_COSTS_BYTES 16384u /* of its text, at most */

/* $XDG_CACHE_HOME/miniprof/recording-costs, else $HOME/.cache/miniprof/recording-costs. A variable
 * that holds no absolute path is as if it were not set. False: neither is set, or the path is too
 * long. */
bool mp_costs_path(char *path, size_t size);

/* The text of the file with a NUL. False if there is none, if it is longer than MP_COSTS_BYTES, or
 * if it has bytes other than printable ASCII and line breaks. Any thread. */
bool mp_costs_read(char text[MP_COSTS_BYTES + 1]);

#endif
