/* Decides which kernels are profiled, by nvprof's --kernels. Colons divide the text only where
 * they cannot belong to a C++ name or to a bracket of a regular expression.
 */
#include "base/settings/kernel_filter.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/kernel_name.h"
#include "base/text/strings.h"

#include "base/poison.h"

#define LONGEST_PART  1024 /* bytes of an expression */
#define LONGEST_NAME  512  /* of a plain name that is searched; longer ones are cut */
#define LONGEST_SHOWN 60   /* of an expression in a complaint */

static const char *const part_names[KERNEL_FILTER_PARTS] = {
    [KERNEL_FILTER_CONTEXT] = "context",
    [KERNEL_FILTER_STREAM] = "stream",
    [KERNEL_FILTER_NAME] = "name",
    [KERNEL_FILTER_INVOCATION] = "invocation",
};

/* ---- Parts of the text ---- */

struct piece {
    const char *text;
    size_t bytes;
};

/* Colons that can divide: those outside [...]. Keeps the first two and the last one. */
static size_t find_colons(const char *text, const char *colons[3])
{
    size_t count = 0;
    bool bracket = false;

    for (; *text; text++) {
        if (*text == '[' || *text == ']')
            bracket = *text == '[';
        if (*text != ':' || bracket)
            continue;
        colons[count < 2 ? count : 2] = text;
        count++;
    }
    return count;
}

static bool has_letter(const char *from, const char *to)
{
    for (; from < to; from++) {
        if (isalpha((unsigned char)*from) || *from == '_')
            return true;
    }
    return false;
}

/* Whether every colon stands beside another, as in C++. */
static bool has_only_double_colons(const char *text)
{
    for (; *text; text++) {
        size_t run = strspn(text, ":");

        if (run == 1)
            return false;
        text += run ? run - 1 : 0;
    }
    return true;
}

static enum mp_status split(const char *text, struct piece pieces[KERNEL_FILTER_PARTS],
                            struct mp_error *error)
{
    const char *colons[3] = {NULL, NULL, NULL};
    size_t count = find_colons(text, colons);

    if (count >= 3 && !has_letter(text, colons[1])) {
        pieces[KERNEL_FILTER_CONTEXT] = (struct piece){text, (size_t)(colons[0] - text)};
        pieces[KERNEL_FILTER_STREAM] =
            (struct piece){colons[0] + 1, (size_t)(colons[1] - colons[0] - 1)};
        pieces[KERNEL_FILTER_NAME] =
            (struct piece){colons[1] + 1, (size_t)(colons[2] - colons[1] - 1)};
        pieces[KERNEL_FILTER_INVOCATION] = (struct piece){colons[2] + 1, strlen(colons[2] + 1)};
        return MP_OK;
    }
    if (count && !has_only_double_colons(text))
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "the kernel filter '%.*s' is neither a name nor "
                            "context:stream:name:invocation",
                            LONGEST_SHOWN, text);
    pieces[KERNEL_FILTER_NAME] = (struct piece){text, strlen(text)};
    return MP_OK;
}

/* ---- Expressions ---- */

static enum mp_status compile(struct kernel_filter *filter, enum kernel_filter_part part,
                              const struct piece *piece, struct mp_error *error)
{
    bool number = part != KERNEL_FILTER_NAME;
    char text[LONGEST_PART + 1];
    char reason[128];
    int code;

    if (!piece->bytes)
        return MP_OK;
    if (piece->bytes > LONGEST_PART)
        return mp_error_set(error, MP_ERR_ARGUMENT, "the %s of the kernel filter is over %d bytes",
                            part_names[part], LONGEST_PART);
    if (number && has_letter(piece->text, piece->text + piece->bytes))
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "the %s '%.*s' of the kernel filter is no number and no expression for "
                            "one",
                            part_names[part], (int)piece->bytes, piece->text);
    snprintf(text, sizeof(text), "%.*s", (int)piece->bytes, piece->text);
    code = regcomp(&filter->parts[part], text, REG_EXTENDED | (number ? 0 : REG_NOSUB));
    if (code == REG_ESPACE)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for the kernel filter");
    if (code) {
        regerror(code, &filter->parts[part], reason, sizeof(reason));
        return mp_error_set(
            error, MP_ERR_ARGUMENT,
            "the %s '%.*s' of the kernel filter is no regular expression: %s", part_names[part],
            piece->bytes < LONGEST_SHOWN ? (int)piece->bytes : LONGEST_SHOWN, piece->text, reason);
    }
    filter->given[part] = true;
    return MP_OK;
}

enum mp_status kernel_filter_parse(struct kernel_filter *filter, const char *text,
                                   struct mp_error *error)
{
    struct piece pieces[KERNEL_FILTER_PARTS] = {{NULL, 0}};
    enum mp_status status;

    memset(filter, 0, sizeof(*filter));
    if (!text || !*text)
        return MP_OK;
    status = split(text, pieces, error);
    for (int part = 0; part < KERNEL_FILTER_PARTS && status == MP_OK; part++)
        status = compile(filter, (enum kernel_filter_part)part, &pieces[part], error);
    if (status != MP_OK)
        kernel_filter_free(filter);
    return status;
}

void kernel_filter_free(struct kernel_filter *filter)
{
    for (int part = 0; part < KERNEL_FILTER_PARTS; part++) {
        if (filter->given[part])
            regfree(&filter->parts[part]);
        filter->given[part] = false;
    }
}

/* ---- Matching ---- */

/* Whether the expression matches the whole number. Of several matches POSIX takes the longest. */
static bool number_fits(const struct kernel_filter *filter, enum kernel_filter_part part,
                        uint64_t number)
{
    regmatch_t match;
    char text[24];

    if (!filter->given[part])
        return true;
    snprintf(text, sizeof(text), "%" PRIu64, number);
    return regexec(&filter->parts[part], text, 1, &match, 0) == 0 && match.rm_so == 0 &&
           (size_t)match.rm_eo == strlen(text);
}

static bool is_in(const struct kernel_filter *filter, const char *name)
{
    return regexec(&filter->parts[KERNEL_FILTER_NAME], name, 0, NULL, 0) == 0;
}

static bool name_fits(const struct kernel_filter *filter, const char *kernel)
{
    char plain[LONGEST_NAME];

    if (!filter->given[KERNEL_FILTER_NAME])
        return true;
    if (!kernel)
        return false;
    if (is_in(filter, kernel))
        return true;
    for (int scopes = 0; scopes < 2; scopes++) {
        kernel_plain_name(kernel, scopes, plain, sizeof(plain));
        if (is_in(filter, plain))
            return true;
    }
    return false;
}

bool kernel_filter_matches(const struct kernel_filter *filter, uint64_t context, uint64_t stream,
                           const char *kernel, uint64_t invocation)
{
    return number_fits(filter, KERNEL_FILTER_CONTEXT, context) &&
           number_fits(filter, KERNEL_FILTER_STREAM, stream) &&
           number_fits(filter, KERNEL_FILTER_INVOCATION, invocation) && name_fits(filter, kernel);
}
