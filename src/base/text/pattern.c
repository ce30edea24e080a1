/* File names with nvprof's placeholders %p, %h, %q{NAME} and %r. Launchers hand the rank over in
 * the environment. A rank must be a number: any other text could change the path.
 */
#include "base/text/pattern.h"
#include "base/process_id.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text/strings.h"

#include "base/poison.h"

#define GREATEST_NAME 256u /* of an environment variable */

/* The more specific launcher comes first: Open MPI, MPICH and Intel MPI, MVAPICH2, PMIx, then Slurm
 * and torchrun. Slurm comes late because its variable is also set around mpirun inside an
 * allocation. */
static const char *const rank_variables[] = {
    "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID", "RANK",
};

/* One piece of a pattern: a placeholder, or a character that stands for itself (`kind` 0). */
struct piece {
    char kind;                /* 'p' 'h' 'q' 'r' '%' or 0 */
    char character;           /* when kind is 0 */
    char name[GREATEST_NAME]; /* when kind is 'q' */
};

struct output {
    char *buffer;
    size_t size;
    size_t used;
    bool full;
};

static void pattern_put(struct output *out, const char *text)
{
    size_t length = strlen(text);

    if (out->full || out->size - out->used <= length) {
        out->full = true;
        return;
    }
    memcpy(out->buffer + out->used, text, length + 1);
    out->used += length;
}

/* Reads the {NAME} of a %q at *cursor. */
static enum mp_status parse_name(const char **cursor, struct piece *piece, struct mp_error *error)
{
    const char *start = *cursor + 1;
    const char *end = **cursor == '{' ? strchr(start, '}') : NULL;
    size_t length = end ? (size_t)(end - start) : 0;
    size_t i;

    if (!end || !length || length >= sizeof(piece->name))
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "%%q needs the name of an environment variable: %%q{NAME}");
    for (i = 0; i < length; i++) {
        if (!isalnum((unsigned char)start[i]) && start[i] != '_')
            return mp_error_set(error, MP_ERR_ARGUMENT,
                                "%%q{%.*s} does not name an environment variable", (int)length,
                                start);
    }
    memcpy(piece->name, start, length);
    piece->name[length] = '\0';
    *cursor = end + 1;
    return MP_OK;
}

/* Takes the next piece at *cursor, which is not at the end. */
static enum mp_status parse_piece(const char **cursor, struct piece *piece, struct mp_error *error)
{
    const char *at = *cursor;

    piece->kind = 0;
    piece->character = *at++;
    if (piece->character == '%') {
        if (!*at)
            return mp_error_set(error, MP_ERR_ARGUMENT, "a single %% at the end; write %%%%");
        if (!strchr("phqr%", *at))
            return mp_error_set(error, MP_ERR_ARGUMENT,
                                "%%%c is not known; there are %%p %%h %%r %%q{NAME} and %%%%", *at);
        piece->kind = *at++;
    }
    *cursor = at;
    return piece->kind == 'q' ? parse_name(cursor, piece, error) : MP_OK;
}

static void put_number(struct output *out, long number)
{
    char text[24];

    snprintf(text, sizeof(text), "%ld", number);
    pattern_put(out, text);
}

static void put_host(struct output *out)
{
    char host[256];

    if (gethostname(host, sizeof(host)) != 0)
        mp_text_copy(host, sizeof(host), "localhost");
    host[sizeof(host) - 1] = '\0'; /* POSIX does not promise one when the name is cut */
    pattern_put(out, host);
}

/* The rank as the launcher set it, if it is a number: any other text could change the path. */
static const char *find_rank(void)
{
    size_t i;

    for (i = 0; i < sizeof(rank_variables) / sizeof(*rank_variables); i++) {
        const char *value = secure_getenv(rank_variables[i]);
        uint64_t number;

        if (value && mp_text_to_u64(value, 0, UINT32_MAX, &number))
            return value;
    }
    return "0";
}

static enum mp_status put_piece(struct output *out, const struct piece *piece,
                                struct mp_error *error)
{
    char text[2] = {piece->character, '\0'};
    const char *value;

    switch (piece->kind) {
    case 'p':
        put_number(out, (long)mp_process_id());
        break;
    case 'h':
        put_host(out);
        break;
    case 'r':
        pattern_put(out, find_rank());
        break;
    case 'q':
        value = secure_getenv(piece->name);
        if (!value)
            return mp_error_set(error, MP_ERR_ARGUMENT,
                                "cannot find environment variable \"%s\" of %%q{%s}", piece->name,
                                piece->name);
        pattern_put(out, value);
        break;
    default:
        pattern_put(out, text);
        break;
    }
    return MP_OK;
}

enum mp_status mp_pattern_check(const char *pattern, struct mp_error *error)
{
    struct piece piece;

    if (!*pattern)
        return mp_error_set(error, MP_ERR_ARGUMENT, "the file name is empty");
    while (*pattern)
        MP_TRY(parse_piece(&pattern, &piece, error));
    return MP_OK;
}

bool mp_pattern_has_pid(const char *pattern)
{
    struct piece piece = {.kind = 0};

    while (*pattern && piece.kind != 'p' && parse_piece(&pattern, &piece, NULL) == MP_OK)
        continue;
    return piece.kind == 'p';
}

static enum mp_status expand(const char *pattern, struct output *out, struct mp_error *error)
{
    const char *cursor = pattern;
    struct piece piece;

    MP_TRY(mp_pattern_check(pattern, error));
    while (*cursor) {
        MP_TRY(parse_piece(&cursor, &piece, error));
        MP_TRY(put_piece(out, &piece, error));
    }
    if (out->full)
        return mp_error_set(error, MP_ERR_LIMIT, "'%s' gives a file name of over %zu bytes",
                            pattern, out->size - 1);
    return MP_OK;
}

enum mp_status mp_pattern_expand(const char *pattern, char *buffer, size_t size,
                                 struct mp_error *error)
{
    struct output out = {.buffer = buffer, .size = size};
    enum mp_status status;

    if (!size)
        return mp_error_set(error, MP_ERR_ARGUMENT, "no room for a file name");
    buffer[0] = '\0';
    status = expand(pattern, &out, error);
    if (status != MP_OK)
        buffer[0] = '\0';
    return status;
}

bool mp_pattern_number(const char *path, unsigned number, char *buffer, size_t size)
{
    static const char suffix[] = ".mpt";
    size_t stem = strlen(path);
    bool has_suffix = stem >= sizeof(suffix) && mp_text_equal(path + stem - 4, suffix);
    int length;

    if (has_suffix)
        stem -= 4;
    if (stem >= size)
        return false;
    length = snprintf(buffer, size, "%.*s.%u%s", (int)stem, path, number, has_suffix ? suffix : "");
    return length > 0 && (size_t)length < size;
}
