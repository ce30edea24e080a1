/* Inside of screen: breaking and colouring one line. */
#ifndef MP_CLI_WRAP_H
#define MP_CLI_WRAP_H

#include <stdbool.h>
#include <stddef.h>

/* What takes the pieces; false if it cannot. */
typedef bool wrap_put(const char *text, size_t bytes);

/* Passes a line, without its newline, in pieces of at most `width` columns (0: any), each with a
 * newline. Later pieces are indented to where the first one's text begins. */
bool wrap_line(const char *line, size_t bytes, unsigned width, bool colour, wrap_put *put);

#endif
