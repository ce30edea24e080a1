/* JSON documents of several traces as one: an array, or one document a line.
 *
 * Reports write their documents one after the other, each laid out in lines. This stream stands
 * between them and the reader. It finds where a document begins and ends by its braces, so reports
 * need not know of it:
 *
 *     {...} {...}   becomes   [
 *                             {"process": "rank 0", ...},
 *                             {"process": "rank 1", ...}
 *                             ]
 *
 * As lines, the documents lose their line breaks instead. Text in JSON has none of its own.
 */
#ifndef MP_TABLE_DOCUMENTS_H
#define MP_TABLE_DOCUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct json_documents {
    FILE *to;            /* not owned */
    FILE *file;          /* where the reports write; owned */
    const char *process; /* a key of the documents that follow; NULL: none */
    bool lines;          /* one document a line; else an array */
    size_t count;        /* that have begun */
    unsigned depth;      /* of braces and brackets; 0: between documents */
    bool in_text, escaped;
    bool indented; /* a line break and the spaces after it are being left out */
    bool opened;   /* the last byte opened a document that gets the key `process` */
};

/* Returns false when there is no memory. */
bool json_documents_open(struct json_documents *documents, FILE *to, bool lines);

/* The key `process` of the documents that follow; NULL: they have none. `process` must outlive
 * them. */
void json_documents_name(struct json_documents *documents, const char *process);

/* Writes the end of the array; an empty one if there was no document. Errors are those of `to`. */
void json_documents_close(struct json_documents *documents);

#endif
