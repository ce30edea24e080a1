/* The text of events. Numbers and times are written by hand: a stream of millions of events spends
 * most of its time here. */
#include "export/kineto/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/text/foreign.h"
#include "base/text/strings.h"

#include "base/poison.h"

#define FLUSH_BYTES 65536

struct events_text {
    const char *escaped; /* with its quotes; NULL: not yet */
    size_t bytes;
};

void events_free(struct events *events)
{
    mp_buffer_free(&events->text);
    mp_arena_free(&events->escaped);
    free(events->texts);
}

void events_flush(struct events *events)
{
    if (events->text.size)
        fwrite(events->text.data, 1, events->text.size, events->out);
    events->text.size = 0;
}

/* ---- Pieces ---- */

static void put(struct events *events, const char *text)
{
    mp_buffer_append(&events->text, text, strlen(text));
}

static char *write_number(char *end, uint64_t number)
{
    do {
        *--end = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    return end;
}

static void put_number(struct events *events, uint64_t number)
{
    char digits[20];
    char *begin = write_number(digits + sizeof digits, number);

    mp_buffer_append(&events->text, begin, (size_t)(digits + sizeof digits - begin));
}

static void put_signed(struct events *events, int64_t number)
{
    if (number < 0)
        put(events, "-");
    put_number(events, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

/* Nanoseconds as microseconds with three decimals. */
static void put_time(struct events *events, uint64_t time)
{
    bool negative = time > INT64_MAX;
    uint64_t ns = negative ? 0 - time : time;
    const char decimals[4] = {'.', (char)('0' + ns / 100 % 10), (char)('0' + ns / 10 % 10),
                              (char)('0' + ns % 10)};

    if (negative)
        put(events, "-");
    put_number(events, ns / 1000);
    mp_buffer_append(&events->text, decimals, sizeof decimals);
}

static void put_character(struct mp_buffer *into, const char *text, size_t length, uint32_t code)
{
    char escape[FOREIGN_ESCAPE_BYTES];

    if (code == '"' || code == '\\')
        mp_buffer_append_byte(into, '\\');
    if (foreign_acts(code))
        mp_buffer_append_text(into, foreign_escape(code, escape));
    else
        mp_buffer_append(into, text, length);
}

static void put_quoted(struct mp_buffer *into, const char *text, size_t bytes)
{
    uint32_t code;
    size_t length;

    mp_buffer_append_byte(into, '"');
    for (size_t at = 0; at < bytes; at += length ? length : 1) {
        length = utf8_decode(text + at, bytes - at, &code);
        if (length)
            put_character(into, text + at, length, code);
        else
            mp_buffer_append_text(into, "\xef\xbf\xbd");
    }
    mp_buffer_append_byte(into, '"');
}

/* ---- Names ---- */

static enum mp_status reach_text(struct events *events, uint32_t id)
{
    while (events->text_count <= id) {
        MP_TRY(MP_RESERVE(events->texts, events->text_count, events->text_capacity));
        events->texts[events->text_count++] = (struct events_text){.bytes = 0};
    }
    return MP_OK;
}

/* Escapes a text and keeps the result; NULL: no memory. */
static const char *escape(struct events *events, const struct export_text *text, size_t *bytes)
{
    size_t begin = events->text.size;
    const char *kept = NULL;

    put_quoted(&events->text, text->text, text->bytes);
    *bytes = events->text.size - begin;
    if (events->text.status == MP_OK)
        kept = mp_arena_copy(&events->escaped, events->text.data + begin, *bytes);
    events->text.size = begin;
    return kept;
}

static void put_text(struct events *events, const struct export_text *text)
{
    if (!text->text) {
        put(events, "\"\"");
        return;
    }
    if (!text->id || reach_text(events, text->id) != MP_OK) {
        put_quoted(&events->text, text->text, text->bytes);
        return;
    }
    struct events_text *known = &events->texts[text->id];
    if (!known->escaped)
        known->escaped = escape(events, text, &known->bytes);
    if (known->escaped)
        mp_buffer_append(&events->text, known->escaped, known->bytes);
    else
        put_quoted(&events->text, text->text, text->bytes);
}

/* ---- Events ---- */

void event_begin(struct events *events, char phase, const char *category)
{
    const char head[] = {'{', '"', 'p', 'h', '"', ':', '"', phase, '"'};

    if (events->text.size > FLUSH_BYTES)
        events_flush(events);
    put(events, events->count++ ? ",\n" : "\n");
    mp_buffer_append(&events->text, head, sizeof head);
    if (category) {
        put(events, ",\"cat\":\"");
        put(events, category);
        put(events, "\"");
    }
    events->no_comma = false;
}

void event_name(struct events *events, const struct export_text *name)
{
    put(events, ",\"name\":");
    put_text(events, name);
}

void event_literal_name(struct events *events, const char *name)
{
    put(events, ",\"name\":\"");
    put(events, name);
    put(events, "\"");
}

void event_place(struct events *events, uint64_t process, int64_t thread)
{
    put(events, ",\"pid\":");
    put_number(events, process);
    put(events, ",\"tid\":");
    put_signed(events, thread);
}

void event_time(struct events *events, uint64_t time)
{
    put(events, ",\"ts\":");
    put_time(events, time + events->shift);
}

void event_duration(struct events *events, uint64_t duration)
{
    put(events, ",\"dur\":");
    put_time(events, duration);
}

void event_id(struct events *events, uint64_t id)
{
    put(events, ",\"id\":");
    put_number(events, id);
}

void event_literal(struct events *events, const char *text)
{
    put(events, text);
}

void event_end(struct events *events)
{
    put(events, events->in_args ? "}}" : "}");
    events->in_args = false;
}

/* ---- Arguments ---- */

void event_args(struct events *events)
{
    put(events, ",\"args\":{");
    events->in_args = true;
    events->no_comma = true;
}

static void put_key(struct events *events, const char *key)
{
    put(events, events->no_comma ? "\"" : ",\"");
    put(events, key);
    put(events, "\":");
    events->no_comma = false;
}

void event_number(struct events *events, const char *key, uint64_t number)
{
    put_key(events, key);
    put_number(events, number);
}

void event_signed(struct events *events, const char *key, int64_t number)
{
    put_key(events, key);
    put_signed(events, number);
}

void event_real(struct events *events, const char *key, double number)
{
    put_key(events, key);
    if (isfinite(number))
        mp_buffer_append_format(&events->text, "%.6g", number);
    else
        put(events, "null");
}

void event_word(struct events *events, const char *key, const char *literal)
{
    put_key(events, key);
    put(events, "\"");
    put(events, literal);
    put(events, "\"");
}

void event_text(struct events *events, const char *key, const char *text, size_t bytes)
{
    put_key(events, key);
    put_quoted(&events->text, text, bytes);
}

void event_three(struct events *events, const char *key, const uint32_t numbers[3])
{
    put_key(events, key);
    for (int i = 0; i < 3; i++) {
        put(events, i ? "," : "[");
        put_number(events, numbers[i]);
    }
    put(events, "]");
}
