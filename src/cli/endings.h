/* What page_file.c and part_folder.c do alike: signals that would leave half an output behind, and
 * the complaint. */
#ifndef MP_CLI_ENDINGS_H
#define MP_CLI_ENDINGS_H

#include <signal.h>

#define ENDINGS 4

/* Calls `handler` for each signal that would end the program, once. Signals that are already
 * ignored, as under nohup, stay ignored. */
void endings_guard(struct sigaction before[ENDINGS], void (*handler)(int number));

/* Restores what was there before. */
void endings_release(const struct sigaction before[ENDINGS]);

/* Complains with errno; returns EXIT_UNREADABLE. */
int cannot_write(const char *command, const char *path);

#endif
