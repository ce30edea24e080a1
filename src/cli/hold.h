/* Output that waits until it is known whether there will be any: a mistake in the command line that
 * shows only while tables are printed is then all that is printed. One hold a process.
 *
 * hold_begin replaces the variable `stdout` as screen_begin does.
 */
#ifndef MP_CLI_HOLD_H
#define MP_CLI_HOLD_H

#include <stdbool.h>

/* From now on what goes to stdout is kept in memory until *open; from then on it passes through.
 * Does nothing when memory is out. */
void hold_begin(const bool *open);

/* Writes what is kept, or forgets it, and puts stdout back, whose error indicator says whether all
 * was written. Without a hold nothing happens. */
void hold_end(bool wanted);

#endif
