/* Lists in the documents: the words of an item, wrapped at 100 columns. The rows of a table cannot
 * be wrapped, so the generators print lists where texts are long. */
#ifndef TOOLS_DEV_WRAP_H
#define TOOLS_DEV_WRAP_H

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WRAP_COLUMNS 100

/* Bytes of the first word; blanks inside backticks do not end it. */
static inline size_t wrapped_word(const char *text)
{
    size_t bytes = 0;

    for (int code = 0; text[bytes] && (code || text[bytes] != ' '); bytes++)
        code ^= text[bytes] == '`';
    return bytes;
}

/* Prints `text` as a sentence, on lines that are indented by two spaces: the first
 * letter is made a capital, and a full stop ends it. `lead` stands before it, and may be empty. */
static inline void print_wrapped(const char *lead, const char *text)
{
    size_t column = *lead ? (size_t)printf("  %s", lead) : 0;
    int first = 1;

    while (*text) {
        size_t word = wrapped_word(text);
        size_t stop = !text[word];

        if (!column || column + 1 + word + stop > WRAP_COLUMNS)
            column = (size_t)printf(column ? "\n  " : "  ");
        else
            column += (size_t)printf(" ");
        column += (size_t)printf("%c%.*s", first ? toupper((unsigned char)*text) : *text,
                                 (int)word - 1, text + 1);
        first = 0;
        text += word;
        text += strspn(text, " ");
    }
    printf(".\n");
}

#endif
