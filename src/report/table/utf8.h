/* The profiled program's text comes as bytes; only whole characters may be printed. */
#ifndef MP_REPORT_TABLE_UTF8_H
#define MP_REPORT_TABLE_UTF8_H

#include <stddef.h>

/* Length of the UTF-8 character that `bytes` bytes (at least 1) at `text` begin with: 1 to 4, or 0
 * when they begin with none (RFC 3629: no overlong forms, no surrogates, nothing over U+10FFFF). */
size_t utf8_length(const char *text, size_t bytes);

/* Characters of `bytes` bytes at `text`; a byte that belongs to none counts as one. */
size_t utf8_count(const char *text, size_t bytes);

#endif
