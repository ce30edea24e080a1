/* Finds the plain names of kernels and of a framework's operators. */
#include "base/text/names.h"

#include <ctype.h>
#include <string.h>

#include "base/text/strings.h"

#include "base/poison.h"

/* ---- Mangled names ----
 *
 * Finds the plain name inside a mangled C++ name. It knows only that part of the Itanium C++ ABI's
 * mangling that leads past the scopes and template arguments. To skip arguments it balances
 * everything that ends with E, and it jumps over names, because each name's length stands before
 * it.
 */

#define LONGEST_PART 100000u /* bytes of one name */

/* Each step returns where its part ends, or NULL if the form is not known. A step that is given
 * NULL returns NULL. */

/* `6vecAdd`: *bytes of the name, which come before the result. */
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

/* From the I of template arguments past their E. */
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

/* Takes a part of the name: after the scopes so far, or instead of them. */
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

/* ---- Demangled names ----
 *
 * Takes result type, parameters and template arguments away from a demangled C++ name. It only
 * counts brackets, since a demangler balances them.
 */

static const char anonymous[] = "(anonymous namespace)";

/* The name without what is in <> and from the first ( on. */
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

/* ---- Operators ----
 *
 * The forms are those of torch/csrc/profiler/util.cpp (getNvtxStr) and of XLA's annotations.
 */

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
