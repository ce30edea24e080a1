/* lines.c: reads a line of the programs' file. */
#include "lines.h"

#include <stdlib.h>
#include <string.h>

#include "common.h"

long lines_next(struct line *line)
{
    if (line->at == line->count)
        fail("run_programs: '%s': number missing", line->name);
    return line->numbers[line->at++];
}

/* The number or letter at *text, which moves behind it. */
static long take_number(char **text)
{
    char *end;
    long number = strtol(*text, &end, 10);

    if (end == *text)
        number = (unsigned char)*end++;
    *text = end;
    return number;
}

static void take_name(struct line *line, char **text)
{
    size_t length;

    *text += strspn(*text, " ");
    length = strcspn(*text, " \n");
    if (length >= sizeof(line->name))
        fail("run_programs: no operation '%s'", *text);
    memcpy(line->name, *text, length);
    *text += length;
}

void lines_parse(struct line *line, char *text)
{
    *line = (struct line){.thread = 0};
    line->thread = (int)take_number(&text);
    line->device = (int)take_number(&text);
    if (line->thread < 0 || line->device < 0)
        fail("run_programs: no such thread or device");
    take_name(line, &text);
    for (;;) {
        text += strspn(text, " \n");
        if (!*text)
            return;
        if ((size_t)line->count == sizeof(line->numbers) / sizeof(line->numbers[0]))
            fail("run_programs: line too long");
        line->numbers[line->count++] = take_number(&text);
    }
}
