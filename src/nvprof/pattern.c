/* Expands nvprof's placeholders for a process that is not this one. The recorder expands its own
 * names; here the values come from the trace's header.
 */
#include "nvprof/pattern.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/text/strings.h"

#include "base/poison.h"

#define PIECE_BYTES 300 /* %q{} with a name of pattern.c's greatest length */

/* The next placeholder, or a character that stands for itself; false at the end. A malformed piece
 * stays as it is, for mp_pattern_check. */
static bool next_piece(const char **cursor, char *piece, size_t size)
{
    const char *at = *cursor;
    size_t length = 1;

    if (!*at)
        return false;
    if (at[0] == '%' && at[1])
        length = 2;
    if (length == 2 && at[1] == 'q' && at[2] == '{' && strchr(at, '}'))
        length = (size_t)(strchr(at, '}') - at) + 1;
    *cursor = at + length;
    if (length >= size)
        length = size - 1;
    memcpy(piece, at, length);
    piece[length] = '\0';
    return true;
}

enum mp_status nvprof_pattern_check(const char *pattern, bool naming, struct mp_error *error)
{
    char piece[PIECE_BYTES];

    if (!*pattern)
        return mp_error_set(error, MP_ERR_ARGUMENT, "the name is empty");
    while (next_piece(&pattern, piece, sizeof piece)) {
        if (!naming || !mp_text_equal(piece, "%i"))
            MP_TRY(mp_pattern_check(piece, error));
    }
    return MP_OK;
}

bool nvprof_pattern_missing(const char *pattern, char *name, size_t size)
{
    char piece[PIECE_BYTES];

    while (next_piece(&pattern, piece, sizeof piece)) {
        if (!mp_text_starts_with(piece, "%q{"))
            continue;
        piece[strlen(piece) - 1] = '\0';
        if (getenv(piece + 3))
            continue;
        mp_text_copy(name, size, piece + 3);
        return true;
    }
    return false;
}

bool nvprof_pattern_has_pid(const char *pattern)
{
    char piece[PIECE_BYTES];

    while (next_piece(&pattern, piece, sizeof piece)) {
        if (mp_text_equal(piece, "%p"))
            return true;
    }
    return false;
}

struct text {
    char *bytes;
    size_t size;
    size_t used;
};

static bool nvprof_pattern_put(struct text *text, const char *piece, bool doubled)
{
    for (; *piece; piece++) {
        if (text->size - text->used < 3)
            return false;
        text->bytes[text->used++] = *piece;
        if (doubled && *piece == '%')
            text->bytes[text->used++] = '%';
    }
    text->bytes[text->used] = '\0';
    return true;
}

static enum mp_status put_piece(struct text *text, const char *piece, const char *pid, bool naming,
                                struct mp_error *error)
{
    char value[PATH_MAX];
    bool kept = naming && (mp_text_equal(piece, "%i") || mp_text_equal(piece, "%%"));

    if (kept)
        mp_text_copy(value, sizeof value, piece);
    else if (mp_text_equal(piece, "%p"))
        mp_text_copy(value, sizeof value, pid);
    else
        MP_TRY(mp_pattern_expand(piece, value, sizeof value, error));
    if (!nvprof_pattern_put(text, value, naming && !kept))
        return mp_error_set(error, MP_ERR_LIMIT, "the name is too long");
    return MP_OK;
}

enum mp_status nvprof_pattern_expand(const char *pattern, const char *pid, bool naming,
                                     char *buffer, size_t size, struct mp_error *error)
{
    struct text text = {.bytes = buffer, .size = size};
    char piece[PIECE_BYTES];

    buffer[0] = '\0';
    while (next_piece(&pattern, piece, sizeof piece))
        MP_TRY(put_piece(&text, piece, pid, naming, error));
    return MP_OK;
}
