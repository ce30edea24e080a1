/* What the scripts of all shells need: the words of a choice, and quoting. */
#include "command/shells.h"

#include <ctype.h>
#include <string.h>

#include "base/poison.h"

bool shell_choices(const char *argument, char *text, size_t size)
{
    size_t bytes = argument ? strlen(argument) : 0;

    if (!bytes || bytes >= size || !strchr(argument, '|'))
        return false;
    for (size_t i = 0; i <= bytes; i++) {
        if (argument[i] && argument[i] != '|' && argument[i] != '-' &&
            !islower((unsigned char)argument[i]))
            return false;
        text[i] = argument[i] == '|' ? ' ' : argument[i];
    }
    return true;
}

void shell_quoted(FILE *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\'", out);
        else if (strchr(special, *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}
