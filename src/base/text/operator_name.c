/* The forms are those of torch/csrc/profiler/util.cpp (getNvtxStr) and of XLA's annotations. */
#include "base/text/operator_name.h"

#include <ctype.h>
#include <string.h>

#include "base/poison.h"

size_t mp_operator_plain(const char *name)
{
    static const char *const numbers[] = {", seq = ", ", op_id = "};
    size_t plain = strlen(name);

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *at = strstr(name, numbers[i]);

        if (at && isdigit((unsigned char)at[strlen(numbers[i])]) && (size_t)(at - name) < plain)
            plain = (size_t)(at - name);
    }
    return plain;
}

static bool is_word(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("_.:", text[i]))
            return false;
    return bytes > 0;
}

/* aten::mm, or a step of the backward pass: AddmmBackward0. */
static bool is_torch(const char *name, size_t bytes)
{
    static const char backward[] = "Backward";
    const char *colons = strstr(name, "::");
    size_t digits = bytes;

    if (!is_word(name, bytes))
        return false;
    if (colons && colons > name && colons + 2 < name + bytes)
        return true;
    while (digits && isdigit((unsigned char)name[digits - 1]))
        digits--;
    return digits < bytes && digits > sizeof backward - 1 &&
           !memcmp(name + digits - (sizeof backward - 1), backward, sizeof backward - 1);
}

bool mp_operator_of(const char *name, const char **begin, size_t *bytes)
{
    static const char key[] = "hlo_op=";
    const char *hlo = strchr(name, '#') ? strstr(name, key) : NULL;

    if (hlo && hlo > name && (hlo[-1] == '#' || hlo[-1] == ',')) {
        *begin = hlo + sizeof key - 1;
        *bytes = strcspn(*begin, ",#");
        return *bytes != 0;
    }
    *begin = name;
    *bytes = mp_operator_plain(name);
    return is_torch(name, *bytes);
}
