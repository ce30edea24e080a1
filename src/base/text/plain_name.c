/* Takes result type, parameters and template arguments away from a demangled C++ name. It only
 * counts brackets, since a demangler balances them.
 */
#include "base/text/plain_name.h"

#include <string.h>

#include "base/text/strings.h"

#include "base/poison.h"

static const char anonymous[] = "(anonymous namespace)";

/* The name without what stands in <> and from the first ( on. */
static size_t without_brackets(const char *name, char *plain, size_t size)
{
    size_t length = 0;
    unsigned depth = 0;

    for (const char *at = name; *at && length + 1 < size; at++) {
        if (*at == '<') {
            depth++;
        } else if (*at == '>' && depth) {
            depth--;
        } else if (!depth && *at == '(') {
            if (!mp_text_starts_with(at, anonymous))
                break;
            for (size_t i = 0; i < sizeof anonymous - 1 && length + 1 < size; i++)
                plain[length++] = at[i] == ' ' ? '_' : at[i]; /* no end of a result type */
            at += sizeof anonymous - 2;
        } else if (!depth) {
            plain[length++] = *at;
        }
    }
    plain[length] = '\0';
    return length;
}

void mp_plain_name(const char *name, bool scopes, char *plain, size_t size)
{
    size_t length = *name == '[' ? 0 : without_brackets(name, plain, size);
    size_t from = 0;

    for (size_t i = 0; i < length; i++) {
        if (plain[i] == ' ' || (!scopes && plain[i] == ':'))
            from = i + 1;
    }
    if (from >= length) { /* [CUDA memcpy HtoD], operators and the like */
        mp_text_copy(plain, size, name);
        return;
    }
    memmove(plain, plain + from, length - from + 1);
    for (char *at = plain; (at = strchr(at, '_')); at++) {
        if (mp_text_starts_with(at, "_namespace)") && at > plain + 1)
            *at = ' ';
    }
}
