/* Reading JSON that other programs wrote: strict (RFC 8259), bounded, and without memory of its
 * own. The text is walked once, from left to right:
 *
 *     json_read_begin(&reader, text, bytes);
 *     if (json_read_next(&reader) == JSON_READ_OBJECT && json_read_open(&reader))
 *         while (json_read_member(&reader, key, sizeof key))
 *             if (!strcmp(key, "Name")) json_read_text(&reader, name, sizeof name);
 *             else                      json_read_skip(&reader);
 *     if (!json_read_end(&reader)) ...                      // not JSON: forget what was read
 *
 * After the first mistake every call answers that nothing more comes, and json_read_end returns
 * false. The reader does not check that texts are UTF-8; the code that prints them does. One thread
 * at a time.
 */
#ifndef MP_BASE_TEXT_JSON_READ_H
#define MP_BASE_TEXT_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_READ_MAX_DEPTH 16 /* containers in containers; deeper ones are a mistake */

enum json_read_kind {
    JSON_READ_NOTHING, /* the end, or a mistake */
    JSON_READ_OBJECT,
    JSON_READ_ARRAY,
    JSON_READ_STRING,
    JSON_READ_NUMBER,
    JSON_READ_WORD /* true, false, null */
};

struct json_reader {
    const char *at;
    const char *end;
    uint32_t objects; /* bit d: the container at depth d + 1 is an object */
    unsigned depth;
    bool fresh; /* the container was just opened: no comma before what comes */
    bool failed;
};

/* `text` need not end with a NUL and must outlive the reader. */
void json_read_begin(struct json_reader *reader, const char *text, size_t bytes);

/* What comes next; reads nothing but space. */
enum json_read_kind json_read_next(struct json_reader *reader);

/* Enters the object or array that comes next; false when there is none. */
bool json_read_open(struct json_reader *reader);

/* The key of the object's next member, cut to `size` (`key` may be NULL). The member's value comes
 * next and must be read or skipped. False at the end of the object, which is left. */
bool json_read_member(struct json_reader *reader, char *key, size_t size);

/* Whether the array has one more element, which comes next. False at its end, which is left. */
bool json_read_element(struct json_reader *reader);

/* The string, number or word that comes next, as text: strings without quotes and escapes, numbers
 * and words unchanged. Cut between characters to `size` bytes with the NUL. A NUL in a string
 * becomes U+FFFD, and so does half a surrogate pair. False if something else comes. */
bool json_read_text(struct json_reader *reader, char *text, size_t size);

/* Passes over the value that comes next, whatever it is. */
void json_read_skip(struct json_reader *reader);

/* Whether the text was one value, read or skipped to its end, without a mistake. */
bool json_read_end(struct json_reader *reader);

#endif
