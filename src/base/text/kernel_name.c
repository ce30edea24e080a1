/* Finds the plain name inside a mangled C++ name. It knows only that part of the Itanium C++ ABI's
 * mangling that leads past the scopes and template arguments. To skip arguments it balances
 * everything that ends with E, and it jumps over names, because each name's length stands before
 * it. */
#include "base/text/kernel_name.h"

#include <ctype.h>
#include <string.h>

#include "base/text/strings.h"

#include "base/poison.h"

#define LONGEST_PART 100000u /* bytes of one name */

/* Each step returns where its part ends, or NULL if the form is not known. A step that is given
 * NULL returns NULL. */

/* `6vecAdd`: *bytes of the name, which the result stands behind. */
static const char *pass_source_name(const char *at, size_t *bytes)
{
    size_t length = 0;

    while (isdigit((unsigned char)*at) && length < LONGEST_PART)
        length = length * 10 + (size_t)(*at++ - '0');
    if (!length || length >= LONGEST_PART || strnlen(at, length) < length)
        return NULL;
    *bytes = length;
    return at + length;
}

/* Passes letters and digits up to the next `mark` and returns what follows the mark. */
static const char *pass_to(const char *at, char mark)
{
    while (isalnum((unsigned char)*at) && *at != mark)
        at++;
    return *at == mark ? at + 1 : NULL;
}

/* `S_`, `S1A_`, `St`, `Sa`: a thing named before. */
static const char *pass_substitution(const char *at)
{
    if (at[1] && strchr("tabsiod", at[1]))
        return at + 2;
    return pass_to(at + 1, '_');
}

/* `Li128E`, `Lb1E`, `L4Mode3E`, `LN2ns4ModeE3E`, `LDn0E`: a value as a template argument. */
static const char *pass_literal(const char *at)
{
    size_t bytes;

    at++;
    while (*at && strchr("PKVRO", *at))
        at++;
    if (*at == 'N') {
        for (at++; at && *at != 'E';)
            at = *at == 'S' ? pass_substitution(at) : pass_source_name(at, &bytes);
        at = at ? at + 1 : NULL;
    } else if (isdigit((unsigned char)*at)) {
        at = pass_source_name(at, &bytes);
    } else if (*at == 'D') {
        at += at[1] ? 2 : 1;
    } else if (!islower((unsigned char)*at)) {
        return NULL;
    }
    return at ? pass_to(at, 'E') : NULL;
}

/* Two letters that begin with D. Some of them open a part that ends with E. */
static const char *pass_of_d(const char *at, unsigned *depth)
{
    if (!at[1])
        return NULL;
    if (at[1] == 'T' || at[1] == 't')
        ++*depth;
    return at[1] == 'v' ? pass_to(at + 2, '_') : at + 2;
}

/* One step inside template arguments. */
static const char *pass_inside(const char *at, unsigned *depth)
{
    size_t bytes;

    switch (*at) {
    case '\0':
        return NULL;
    case 'E':
        --*depth;
        return at + 1;
    case 'I':
    case 'J':
    case 'N':
    case 'F':
        ++*depth;
        return at + 1;
    case 'X': /* expressions and local names: their letters mean other things */
    case 'Z':
        return NULL;
    case 'L':
        return pass_literal(at);
    case 'S':
        return pass_substitution(at);
    case 'T':
    case 'A':
        return pass_to(at + 1, '_');
    case 'C':
        return at + (isdigit((unsigned char)at[1]) ? 2 : 1);
    case 'D':
        return pass_of_d(at, depth);
    default:
        return isdigit((unsigned char)*at) ? pass_source_name(at, &bytes) : at + 1;
    }
}

/* From the I of template arguments to behind their E. */
static const char *pass_arguments(const char *at)
{
    unsigned depth = 1;

    at++;
    while (at && depth)
        at = pass_inside(at, &depth);
    return at;
}

/* ---- The name itself ---- */

struct plain_name {
    char *text;
    size_t size;
    size_t used;
    bool scopes;
};

/* Takes a part of the name: behind the scopes so far, or instead of them. */
static void add_part(struct plain_name *name, const char *part, size_t bytes)
{
    static const char anonymous[] = "_GLOBAL__N_";
    const char *shown = part;

    if (bytes >= sizeof(anonymous) - 1 && !memcmp(part, anonymous, sizeof(anonymous) - 1)) {
        shown = "(anonymous namespace)";
        bytes = strlen(shown);
    }
    if (!name->scopes)
        name->used = 0;
    if (name->used && name->size - name->used > 2) {
        memcpy(name->text + name->used, "::", 2);
        name->used += 2;
    }
    if (bytes > name->size - 1 - name->used)
        bytes = name->size - 1 - name->used;
    memcpy(name->text + name->used, shown, bytes);
    name->used += bytes;
    name->text[name->used] = '\0';
}

/* One part of a scoped name, or what stands between two. */
static const char *pass_part(const char *at, struct plain_name *name)
{
    const char *end = NULL;
    size_t bytes;

    switch (*at) {
    case 'I':
        return pass_arguments(at);
    case 'L': /* internal linkage */
        return at + 1;
    case 'S':
        if (at[1] != 't')
            return NULL;
        add_part(name, "std", 3);
        return at + 2;
    case 'B': /* an ABI tag */
        return pass_source_name(at + 1, &bytes);
    default:
        if (isdigit((unsigned char)*at))
            end = pass_source_name(at, &bytes);
        if (end)
            add_part(name, end - bytes, bytes);
        return end;
    }
}

/* False when the name is not one that is read here. */
static bool read_name(const char *at, struct plain_name *name)
{
    bool nested = *at == 'N';

    if (nested) {
        at++;
        at += strspn(at, "rVKRO");
        while (at && *at != 'E')
            at = pass_part(at, name);
        return at && name->used;
    }
    if (*at == 'L')
        at++;
    if (at[0] == 'S' && at[1] == 't')
        at = pass_part(at, name);
    return at && isdigit((unsigned char)*at) && pass_part(at, name);
}

void kernel_plain_name(const char *kernel, bool scopes, char *name, size_t size)
{
    struct plain_name plain = {.text = name, .size = size, .scopes = scopes};

    if (kernel[0] != '_' || kernel[1] != 'Z' || !read_name(kernel + 2, &plain))
        mp_text_copy(name, size, kernel);
}
