/* Bounded copies, whole-string numbers and comma-separated lists. They replace libc's strcpy, atoi
 * and strtok, which poison.h bans.
 */
#include "base/text/strings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/poison.h"

bool mp_text_copy(char *buffer, size_t size, const char *text)
{
    size_t length = strlen(text);
    size_t taken = length < size ? length : size - 1;

    memcpy(buffer, text, taken);
    buffer[taken] = '\0';
    return taken == length;
}

void mp_text_add(char *buffer, size_t size, const char *format, ...)
{
    size_t used = strlen(buffer);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(buffer + used, size - used, format, arguments);
    va_end(arguments);
}

bool mp_text_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool mp_text_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool mp_text_to_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
    uint64_t result = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        if (__builtin_mul_overflow(result, (uint64_t)10, &result) ||
            __builtin_add_overflow(result, (uint64_t)(*text - '0'), &result))
            return false;
    }
    if (result < min || result > max)
        return false;
    *value = result;
    return true;
}

bool mp_text_next_item(const char **cursor, const char **item, size_t *bytes)
{
    const char *start = *cursor;
    const char *end;

    if (!start)
        return false;
    end = strchr(start, ',');
    *cursor = end ? end + 1 : NULL;
    if (!end)
        end = start + strlen(start);
    while (start < end && *start == ' ')
        start++;
    while (end > start && end[-1] == ' ')
        end--;
    *item = start;
    *bytes = (size_t)(end - start);
    return true;
}
