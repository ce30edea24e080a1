/* -u, --normalized-time-unit, for the commands that print times. */
#ifndef MINIPROF_UNITS_OPTION_H
#define MINIPROF_UNITS_OPTION_H

#include <stdbool.h>

#include "options.h"
#include "report/table.h"

#define UNITS_HELP                                                                                 \
    "unit of times: s, ms, us or ns; col: one for each column; auto (default): one for each "      \
    "cell, in CSV for each column"

/* Sets *units by the word given, which may be NULL; false after a complaint. */
bool parse_units(const char *command, const char *word, enum report_units *units);

#endif
