/* The profiled program's text comes as bytes; only whole characters may be printed. Any thread. */
#ifndef MP_BASE_TEXT_UTF8_H
#define MP_BASE_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/buffer.h"

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

#endif
