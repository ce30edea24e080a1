/* JSON in and out: a strict reader that keeps no tree, and a writer to a stream. */
#ifndef MP_BASE_TEXT_JSON_H
#define MP_BASE_TEXT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- Reading ----
 *
 * Reading JSON that other programs wrote: strict (RFC 8259), bounded, and without allocating any
 * memory. The text is walked once, from left to right:
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

/* ---- Writing ----
 *
 * Writing JSON to a stream: a small state machine puts commas, newlines and escapes where they
 * belong. Nothing is allocated; output errors are the stream's (ferror).
 *
 * Containers less than `lines` deep have each item on its own line; deeper ones are one line. So
 * documents stay readable, and rows can be searched with grep. In text, each byte that is not UTF-8
 * becomes U+FFFD, and each character that acts (foreign.h) an escape.
 */

#define JSON_MAX_DEPTH 32

struct json_writer {
    FILE *out; /* not owned */
    unsigned lines;
    unsigned depth;
    bool after_key;
    bool filled[JSON_MAX_DEPTH]; /* whether the container at this depth has an item */
};

void json_begin(struct json_writer *json, FILE *out, unsigned lines);

/* Ends the document with a newline. */
void json_end(struct json_writer *json);

/* The same for a document that is an object: the caller writes the members in between. */
void json_open_document(struct json_writer *json, FILE *out, unsigned lines);
void json_close_document(struct json_writer *json);

void json_open_object(struct json_writer *json);
void json_close_object(struct json_writer *json);
void json_open_array(struct json_writer *json);
void json_close_array(struct json_writer *json);

/* The key of the next value or container. */
void json_key(struct json_writer *json, const char *key);

void json_number(struct json_writer *json, uint64_t number);
void json_signed(struct json_writer *json, int64_t number);
void json_real(struct json_writer *json, double number); /* null when it is not finite */
void json_bool(struct json_writer *json, bool value);
void json_null(struct json_writer *json);
void json_text(struct json_writer *json, const char *text); /* NULL gives null */
void json_bytes(struct json_writer *json, const char *text, size_t bytes);

/* The key of a container, which is then open. */
void json_key_object(struct json_writer *json, const char *key);
void json_key_array(struct json_writer *json, const char *key);

void json_key_numbers(struct json_writer *json, const char *key, const uint64_t *numbers,
                      size_t count);

/* ---- Facts ---- */

/* A fact is a key and its value. Reports list their facts as data:
 *
 *     JSON_OBJECT(json, FACT("name", row->name), FACT("calls", row->calls),
 *                 FACT_IF("stream", row->defined, row->stream), FLAG("whole", !row->dropped));
 *
 * FACT writes a value by its type: whole numbers without a sign, int64_t, double, bool and text.
 * Other types do not compile. `int` is one of them, because a condition such as `a && b` is an int
 * and must become true or false: FLAG does this. FACT_IF gives null unless the value is known, and
 * looks at the value only then.
 *
 * Facts that several documents share are a macro (profile/common/statistics.h), or a function that
 * returns struct json_fact.
 */
enum json_kind { JSON_NULL, JSON_NUMBER, JSON_SIGNED, JSON_REAL, JSON_BOOL, JSON_TEXT };

struct json_fact {
    const char *key;
    enum json_kind kind;
    union {
        uint64_t number;
        int64_t change;
        double real;
        bool flag;
        const char *text; /* NULL gives null */
    };
};

struct json_fact json_fact_null(const char *key);
struct json_fact json_fact_number(const char *key, uint64_t number);
struct json_fact json_fact_signed(const char *key, int64_t change);
struct json_fact json_fact_real(const char *key, double real);
struct json_fact json_fact_bool(const char *key, bool flag);
struct json_fact json_fact_text(const char *key, const char *text);

#define FACT(key, value)                                                                           \
    _Generic((value),                                                                              \
        uint8_t: json_fact_number,                                                                 \
        uint16_t: json_fact_number,                                                                \
        uint32_t: json_fact_number,                                                                \
        uint64_t: json_fact_number,                                                                \
        int64_t: json_fact_signed,                                                                 \
        double: json_fact_real,                                                                    \
        bool: json_fact_bool,                                                                      \
        char *: json_fact_text,                                                                    \
        const char *: json_fact_text)((key), (value))
#define FACT_IF(key, known, value) ((known) ? FACT(key, value) : json_fact_null(key))
#define FLAG(key, condition)       json_fact_bool((key), (condition))

void json_facts(struct json_writer *json, const struct json_fact *facts, size_t count);
void json_value(struct json_writer *json, const struct json_fact *fact); /* without the key */

/* Facts as members of the open object; as a separate object; as an object with a key. */
#define JSON_FACTS(json, ...)                                                                      \
    json_facts((json), (const struct json_fact[]){__VA_ARGS__},                                    \
               sizeof((const struct json_fact[]){__VA_ARGS__}) / sizeof(struct json_fact))
#define JSON_OBJECT(json, ...)                                                                     \
    (json_open_object(json), JSON_FACTS(json, __VA_ARGS__), json_close_object(json))
#define JSON_KEY_OBJECT(json, key, ...) (json_key((json), (key)), JSON_OBJECT(json, __VA_ARGS__))

#endif
