/* Writing JSON to a stream: a small state machine that puts commas, newlines and escapes where they
 * belong. Nothing is allocated; output errors are the stream's (ferror).
 *
 * Containers less than `lines` deep have each item on its own line, deeper ones are one line:
 * documents stay readable and rows greppable. Text that is not UTF-8 has U+FFFD for each byte that
 * is not.
 */
#ifndef MP_REPORT_TABLE_JSON_H
#define MP_REPORT_TABLE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_GREATEST_DEPTH 32

struct json_writer {
    FILE *out; /* not owned */
    unsigned lines;
    unsigned depth;
    bool after_key;
    bool filled[JSON_GREATEST_DEPTH]; /* whether the container at this depth has an item */
};

void json_begin(struct json_writer *json, FILE *out, unsigned lines);

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

/* A key and its value in one. */
void json_key_number(struct json_writer *json, const char *key, uint64_t number);
void json_key_real(struct json_writer *json, const char *key, double number);
void json_key_bool(struct json_writer *json, const char *key, bool value);
void json_key_text(struct json_writer *json, const char *key, const char *text);

/* Ends the document with a newline. */
void json_end(struct json_writer *json);

#endif
