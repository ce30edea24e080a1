/* Writes events of Chrome's trace format, one a line, without a JSON library's overhead.
 *
 *     event_begin(events, 'X', "kernel");
 *     event_name(events, &row->name);
 *     event_place(events, device, stream);
 *     event_time(events, start);
 *     event_duration(events, duration);
 *     event_args(events);
 *     event_number(events, "correlation", correlation);
 *     event_end(events);
 *
 * Names are escaped once and kept by the number of the text. Text is collected and handed to the
 * stream in pieces; failures of memory stick (events->text.status), those of writing are the
 * stream's.
 */
#ifndef MP_EXPORT_KINETO_EVENTS_H
#define MP_EXPORT_KINETO_EVENTS_H

#include <stdint.h>
#include <stdio.h>

#include "base/data/arena.h"
#include "base/data/buffer.h"
#include "export/rows/rows.h"

struct events_text;

/* Zeroed, it is empty. */
struct events {
    FILE *out;      /* not owned */
    uint64_t shift; /* is added to times, modulo 2^64 */
    uint64_t count; /* events */
    bool in_args;   /* the arguments are open, and */
    bool no_comma;  /* the next one is the first */
    struct mp_buffer text;
    struct mp_arena escaped;
    struct events_text *texts; /* by number of the text */
    size_t text_count, text_capacity;
};

void events_free(struct events *events);

/* Hands all text to the stream. */
void events_flush(struct events *events);

/* `phase` is Chrome's: X complete, M metadata, i instant, s and f flow, C counter. Keys, categories
 * and literals are written as they are. */
void event_begin(struct events *events, char phase, const char *category);
void event_name(struct events *events, const struct export_text *name); /* without one: "" */
void event_literal_name(struct events *events, const char *name);
void event_place(struct events *events, uint64_t process, int64_t thread);
void event_time(struct events *events, uint64_t time);         /* ns of the recorder's clock */
void event_duration(struct events *events, uint64_t duration); /* ns, two's complement */
void event_id(struct events *events, uint64_t id);
void event_literal(struct events *events, const char *text); /* such as ,"bp":"e" */
void event_end(struct events *events);

/* Opens the arguments, which event_end closes. */
void event_args(struct events *events);
void event_number(struct events *events, const char *key, uint64_t number);
void event_signed(struct events *events, const char *key, int64_t number);
void event_real(struct events *events, const char *key,
                double number); /* 6 digits; null unless finite */
void event_word(struct events *events, const char *key, const char *literal);
void event_text(struct events *events, const char *key, const char *text, size_t bytes);
void event_three(struct events *events, const char *key, const uint32_t numbers[3]);

#endif
