/* lines.h: the line of the programs' file that is being run: "THREAD DEVICE NAME NUMBER...", where
 * a number may be a letter. Owned by whoever has the baton.
 */
#ifndef ORACLE_LINES_H
#define ORACLE_LINES_H

struct line {
    int thread, device;
    char name[16]; /* ends with a NUL */
    long numbers[160];
    int count;
    int at; /* of numbers, the next to be read */
};

/* Reads `text`, or ends the program. */
void lines_parse(struct line *line, char *text);

/* The next of the numbers behind the name; the program ends where there is none. */
long lines_next(struct line *line);

#endif
