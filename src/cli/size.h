/* What is known of a terminal. */
#ifndef MP_CLI_SIZE_H
#define MP_CLI_SIZE_H

#include <stdbool.h>

struct screen_size {
    unsigned columns, lines;
};

/* Whether the file is a terminal that can do more than print lines: TERM is set, and not "dumb". */
bool screen_is_able(int file);

/* Of the terminal `file`, else of COLUMNS and LINES, else 80 by 24; at least 10 by 2. */
struct screen_size screen_size_of(int file);

#endif
