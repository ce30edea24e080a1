/* Text that somebody else chose: names in a trace, of files, of options. Its author may mean it to
 * act on whoever reads it: to move a terminal's cursor, to be a formula in a spreadsheet, to turn
 * the order of a line round, or to hide in it. All that prints such text does so by one of these.
 *
 *     for people   foreign_put         a `?` instead of each character that acts
 *     CSV          foreign_put_csv     the same, quoted; an apostrophe before a formula
 *     JSON         foreign_escape      `\uXXXX`, so that a program gets the exact text
 *     a message    foreign_hide        as for people, in memory, without stdio
 *
 * Any thread. Only foreign_print allocates, for long lines; output errors are the stream's
 * (ferror).
 */
#ifndef MP_BASE_TEXT_FOREIGN_H
#define MP_BASE_TEXT_FOREIGN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Whether a character acts: controls (C0, DEL, C1), line and paragraph separators, bidirectional
 * controls, and what has no visible form: Unicode's Default_Ignorable_Code_Point, but not the
 * variation selectors of emoji (U+FE00 to U+FE0F). */
bool foreign_acts(uint32_t code);

/* Bytes that the text begins with and that can be printed as they are. The character after them, or
 * the byte that belongs to none, cannot. */
size_t foreign_harmless(const char *text, size_t bytes);

bool foreign_is_harmless(const char *text); /* all of it */

/* Length of the character at `text`; a byte that belongs to none is one. `bytes` is at least 1. */
size_t foreign_length(const char *text, size_t bytes);

/* Prints text for people. In UTF-8 all that is printed are whole characters. */
void foreign_put(FILE *out, const char *text, size_t bytes);
void foreign_put_text(FILE *out, const char *text);

/* Prints one line for people that quotes such text, without its newline. A line that does not fit
 * into FOREIGN_LINE_BYTES and for which there is no memory is cut, and says so. */
#define FOREIGN_LINE_BYTES 1024
void foreign_print(FILE *out, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Prints a text as a quoted cell of CSV. Spreadsheets take a cell that begins with = + - or @ for a
 * formula unless an apostrophe stands before it. A text that begins with apostrophes and such a
 * character gets one more, so a reader that takes one away gets the text. */
void foreign_put_csv(FILE *out, const char *text, size_t bytes);
void foreign_put_csv_text(FILE *out, const char *text); /* NULL: an empty cell */

#define FOREIGN_ESCAPE_BYTES 13

/* The character as JSON's escape, two of them beyond U+FFFF. Returns `escape`. */
const char *foreign_escape(uint32_t code, char escape[FOREIGN_ESCAPE_BYTES]);

/* Makes text visible where it stands; returns its bytes, which are not more than before. */
size_t foreign_hide(char *text, size_t bytes);

#endif
