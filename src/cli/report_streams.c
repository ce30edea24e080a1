/* The beginning and the end of what is printed of several traces. */
#include "cli/report_streams.h"

#include <stdio.h>

#include "base/text/foreign.h"
#include "cli/command.h"

#include "base/poison.h"

bool report_streams_open(const char *command, struct report_out *out, bool several)
{
    struct json_documents *documents = out->documents;

    if (!documents || !(several || documents->lines))
        return true;
    if (!json_documents_open(documents, out->file, documents->lines)) {
        complain(command, "out of memory");
        return false;
    }
    out->file = documents->file;
    return true;
}

void report_streams_name(const struct report_out *out, const char *process)
{
    if (out->sheet) {
        out->sheet->process = process;
        out->sheet->rowless = false;
    }
    if (out->documents && out->documents->file)
        json_documents_name(out->documents, process);
}

/* `miniprof deps: no table 'x' in this report; it has latencies` */
static void complain_of_table(const char *command, const struct report_sheet *sheet)
{
    size_t named = 0;

    fprintf(stderr, "miniprof %s: no table '", command);
    foreign_put_text(stderr, sheet->wanted);
    fputs("' in this report", stderr);
    for (size_t i = 0; i < sheet->table_count; i++) {
        if (sheet->tables[i])
            fprintf(stderr, "%s %s", named++ ? "," : "; --table is one of", sheet->tables[i]);
    }
    fputs(named ? ", or not given\n" : "; it has one, without a name\n", stderr);
}

int report_streams_close(const char *command, struct report_out *out, int code)
{
    const struct report_sheet *sheet = out->sheet;

    if (out->documents && out->documents->file) {
        json_documents_close(out->documents);
        out->file = out->documents->to;
    }
    if (!sheet || sheet->headed || !sheet->wanted || code >= EXIT_USAGE)
        return code;
    complain_of_table(command, sheet);
    return EXIT_USAGE;
}
