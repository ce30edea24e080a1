/* The stream that joins JSON documents: a small scanner that knows text from braces. */
#include "table/table.h"

#include <errno.h>

#include "base/text/json.h"

#include "base/poison.h"

/* ---- Between documents ---- */

static void begin_document(struct json_documents *documents, char byte)
{
    if (!documents->lines)
        fputs(documents->count ? ",\n" : "[\n", documents->to);
    documents->count++;
    documents->opened = documents->process && byte == '{';
}

static void end_document(struct json_documents *documents)
{
    if (documents->lines)
        fputc('\n', documents->to);
}

/* `"process": "rank 0"` after the first brace, and a comma unless the document is empty. */
static void put_process(struct json_documents *documents, char next)
{
    struct json_writer json;

    documents->opened = false;
    json_begin(&json, documents->to, 0);
    json_key(&json, "process");
    json_text(&json, documents->process);
    if (next != '}')
        fputs(", ", documents->to);
}

/* ---- Bytes ---- */

/* A byte inside of a text: only its end matters. */
static void take_text(struct json_documents *documents, char byte)
{
    putc_unlocked(byte, documents->to);
    if (documents->escaped)
        documents->escaped = false;
    else if (byte == '\\')
        documents->escaped = true;
    else if (byte == '"')
        documents->in_text = false;
}

static void take_layout(struct json_documents *documents, char byte)
{
    if (!documents->depth || (documents->lines && byte == '\n'))
        documents->indented = true;
    else if (!documents->opened && !documents->indented)
        putc_unlocked(byte, documents->to);
}

static void take_byte(struct json_documents *documents, char byte)
{
    if (documents->in_text) {
        take_text(documents, byte);
        return;
    }
    if (byte == ' ' || byte == '\n') {
        take_layout(documents, byte);
        return;
    }
    documents->indented = false;
    if (!documents->depth)
        begin_document(documents, byte);
    else if (documents->opened)
        put_process(documents, byte);
    putc_unlocked(byte, documents->to);
    documents->in_text = byte == '"';
    if (byte == '{' || byte == '[')
        documents->depth++;
    if ((byte == '}' || byte == ']') && !--documents->depth)
        end_document(documents);
}

static ssize_t take_bytes(void *cookie, const char *bytes, size_t count)
{
    struct json_documents *documents = cookie;

    for (size_t i = 0; i < count; i++)
        take_byte(documents, bytes[i]);
    if (ferror(documents->to)) {
        errno = EIO;
        return 0; /* which makes an error of this stream, too */
    }
    return (ssize_t)count;
}

void json_documents_name(struct json_documents *documents, const char *process)
{
    fflush(documents->file);
    documents->process = process;
}

bool json_documents_open(struct json_documents *documents, FILE *to, bool lines)
{
    *documents = (struct json_documents){.to = to, .lines = lines};
    documents->file = fopencookie(documents, "w", (cookie_io_functions_t){.write = take_bytes});
    return documents->file != NULL;
}

void json_documents_close(struct json_documents *documents)
{
    fclose(documents->file);
    if (!documents->lines)
        fputs(documents->count ? "\n]\n" : "[]\n", documents->to);
}
