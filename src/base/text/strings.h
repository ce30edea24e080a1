/* Text without surprises: bounded copies, whole-string numbers, comma-separated lists. */
#ifndef MP_BASE_TEXT_STRINGS_H
#define MP_BASE_TEXT_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies `text` into `buffer` of `size` bytes (at least 1), always with a NUL. Returns false if the
 * text had to be cut. */
bool mp_text_copy(char *buffer, size_t size, const char *text);

/* Appends to the text in `buffer` of `size` bytes, with a NUL, as printf; what does not fit is cut.
 */
void mp_text_add(char *buffer, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

bool mp_text_equal(const char *a, const char *b);
bool mp_text_starts_with(const char *text, const char *prefix);

/* Reads the whole of `text` as a decimal number from `least` to `greatest`, without sign, space or
 * suffix. If the text is anything else, returns false and leaves *value unchanged. */
bool mp_text_to_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* Walks the items of a comma-separated list. Each call sets *item and *bytes (not NUL-terminated,
 * without the spaces around the item) and moves *cursor; false at the end. Start with *cursor at
 * the text. Empty items are delivered too. */
bool mp_text_next_item(const char **cursor, const char **item, size_t *bytes);

#endif
