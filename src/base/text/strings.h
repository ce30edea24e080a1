/* Text without surprises: bounded copies, whole-string numbers, comma-separated lists, UTF-8
 * characters, and the name that was probably meant.
 */
#ifndef MP_BASE_TEXT_STRINGS_H
#define MP_BASE_TEXT_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/storage.h"
#include "base/text/strings.h"

/* ---- Strings ---- */

/* Copies `text` into `buffer` of `size` bytes (at least 1), always with a NUL. Returns false if the
 * text had to be cut. */
bool mp_text_copy(char *buffer, size_t size, const char *text);

/* Appends to the text in `buffer` of `size` bytes, with a NUL, as printf; what does not fit is cut.
 */
void mp_text_add(char *buffer, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

bool mp_text_equal(const char *a, const char *b);
bool mp_text_starts_with(const char *text, const char *prefix);
bool mp_text_ends_with(const char *text, const char *suffix);

/* Reads the whole of `text` as a decimal number from `min` to `max`, without sign, space or
 * suffix. If the text is anything else, returns false and leaves *value unchanged. */
bool mp_text_to_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* Walks the items of a comma-separated list. Each call sets *item and *bytes (not NUL-terminated,
 * without the spaces around the item) and moves *cursor; false at the end. Start with *cursor at
 * the text. Empty items are delivered too. */
bool mp_text_next_item(const char **cursor, const char **item, size_t *bytes);

/* ---- UTF-8 ----
 *
 * The profiled program's text comes as bytes; only whole characters may be printed. Any thread.
 */

/* Length of the UTF-8 character that `bytes` bytes (at least 1) at `text` begin with: 1 to 4, or 0
 * when they begin with none (RFC 3629: no overlong forms, no surrogates, nothing over U+10FFFF). */
size_t utf8_length(const char *text, size_t bytes);

/* The same, and the character's code point into *code. */
size_t utf8_decode(const char *text, size_t bytes, uint32_t *code);

/* Characters of `bytes` bytes at `text`; a byte that belongs to none counts as one. */
size_t utf8_count(const char *text, size_t bytes);

/* Bytes of the first `characters` of them; all `bytes` if there are fewer. */
size_t utf8_bytes(const char *text, size_t bytes, size_t characters);

/* Whether all of the bytes belong to characters. */
bool utf8_is_valid(const char *text, size_t bytes);

/* Appends the text, with U+FFFD for each byte that belongs to no character (as json.h does).
 * Returns the buffer's status. */
enum mp_status utf8_append_valid(struct mp_buffer *valid, const char *text, size_t bytes);

/* ---- What somebody typed ----
 *
 * The names that are nearest to what somebody typed, for messages about unknown names.
 */

#define MP_NEAREST_MAX 5

/* Zeroed, with `typed` set, it is ready. The names are not copied: they must outlive it. */
struct mp_nearest {
    const char *typed;
    const char *items[MP_NEAREST_MAX]; /* the nearest first; of equal ones the first offered */
    unsigned distances[MP_NEAREST_MAX];
    size_t count;
};

/* Considers a name. The distance is the number of letters to insert, remove or change (Levenshtein,
 * without regard to case), so that the typed text stands somewhere inside of the name. Of names
 * that contain it equally well, the shorter is nearer. Looks at the first 256 bytes of both. */
void mp_nearest_offer(struct mp_nearest *nearest, const char *name);

/* "'a', 'b', 'c'" into `text`; names are cut at `most` bytes. Returns `text`. */
const char *mp_nearest_list(const struct mp_nearest *nearest, int max, char *text, size_t size);

/* ---- The one that was meant ---- */

/* Zeroed, with `typed` set, it is ready. Names are not copied. */
struct mp_meant {
    const char *typed;
    const char *name;
    unsigned distance;
    bool tie;
    /* A name of which one is the beginning of the other, at a dash if the typed text is longer: */
    const char *beginning;
    size_t apart; /* difference of the two lengths */
};

/* Considers a whole name. The distance counts letters inserted, removed or changed, and neighbours
 * that changed places (Damerau and Levenshtein), without regard to case. */
void mp_meant_offer(struct mp_meant *meant, const char *name);

/* The same for another spelling of `name`, which is what mp_meant_name returns then. Two spellings
 * of one name are no tie. */
void mp_meant_offer_as(struct mp_meant *meant, const char *spelling, const char *name);

/* The name that was probably meant: at most one letter in three differs. If there is none, or a
 * tie: the name nearest in length that the typed text begins (iter) or continues
 * (cuda-graph-trace). NULL if neither. */
const char *mp_meant_name(const struct mp_meant *meant);

#endif
