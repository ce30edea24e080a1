/* The options of `run`: its own, and a flag for each setting of src/base/settings/config.def. */
#ifndef MP_RUN_RUN_OPTIONS_H
#define MP_RUN_RUN_OPTIONS_H

#include <stdbool.h>

#include "base/settings/config.h"
#include "cli/options.h"

struct run_values {
    const char *library;                   /* NULL: found beside the command */
    bool no_summary;                       /* record only */
    bool force;                            /* replace a trace file that exists */
    const char *settings[MP_SETTINGS_MAX]; /* by position in mp_settings; NULL: not given */
};

/* Parses argv; returns as options_parse does. Values of settings are checked by the recorder's own
 * rules. */
enum options_result run_options_parse(int argc, char **argv, struct run_values *values, int *first);

/* Sets the environment variables of the given settings, in the child process. Returns false when
 * memory is out. */
bool run_options_export(const struct run_values *values);

#endif
