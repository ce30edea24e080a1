/* `miniprof fleet`: many traces in one folder, a lake (docs/fleet.md).
 *
 *     cmd_fleet.c   the command line
 *     add.c         adds runs to a lake
 *     tree.c        finds the traces of folders
 *     jobs.c        matches the ranks of a folder
 */
#ifndef MP_EXPORT_FLEET_FLEET_H
#define MP_EXPORT_FLEET_FLEET_H

#include "export/exports.h"

/* Adds the traces of `count` files and folders, with the folders below, to the lake job->output,
 * each by one rename. What is there already is refused unless job->force. Prints how many were
 * added; returns the exit code, after complaints. */
int fleet_add(struct export_job *job, int count, char **arguments);

#endif
