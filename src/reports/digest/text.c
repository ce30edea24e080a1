/* The digest as a screen of text. How much room the parts get depends on what there is to say: the
 * first layout that fits into the screen is taken.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "base/text/units.h"
#include "reports/digest/print.h"
#include "table/table.h"

#include "base/poison.h"

#define INDENT        2
#define KEY_COLUMNS   12
#define NAMED_COLUMNS 28 /* of the program and of ranges */
#define PART_COLUMNS  27
#define BAR_COLUMNS   28
#define HOT_COLUMNS   44 /* of a name */
#define HOT_BEFORE    33 /* columns before the name, if every number fits its column */
#define WHY_COLUMNS   19
#define DETAIL_INDENT 4
#define MIN_NAME      12
#define MIN_PERCENT   0.05 /* less is 0.0 % */

/* Lines that parts may take. */
struct layout {
    size_t first[2];  /* of the first finding: evidence, what to do */
    size_t others[2]; /* the same of the other findings */
    size_t names;     /* below the evidence of each */
    size_t hot;       /* names by device time */
    size_t parts;     /* of the latency */
    size_t note;      /* of a note */
    size_t findings;
    size_t commands;
};

static const struct layout layouts[] = {
    {{3, 3}, {3, 3}, 2, 5, 9, 3, 3, 6}, {{3, 3}, {3, 3}, 1, 3, 9, 3, 3, 6},
    {{3, 3}, {3, 3}, 0, 3, 9, 3, 3, 6}, {{2, 2}, {2, 2}, 0, 3, 9, 3, 3, 6},
    {{2, 2}, {2, 2}, 0, 3, 6, 3, 3, 6}, {{2, 2}, {2, 1}, 0, 3, 6, 2, 3, 6},
    {{2, 2}, {2, 0}, 0, 3, 6, 2, 3, 6}, {{2, 2}, {2, 0}, 0, 3, 5, 2, 3, 6},
    {{2, 2}, {1, 0}, 0, 3, 5, 2, 3, 6}, {{2, 1}, {1, 0}, 0, 3, 5, 2, 3, 6},
    {{2, 1}, {1, 0}, 0, 2, 4, 2, 3, 6}, {{1, 1}, {1, 0}, 0, 2, 4, 1, 2, 6},
    {{1, 1}, {1, 0}, 0, 1, 3, 1, 1, 3}, {{1, 1}, {1, 0}, 0, 1, 3, 1, 1, 2},
};

/* ---- Lines ---- */

static void put_spaces(FILE *out, size_t count)
{
    fprintf(out, "%*s", (int)count, "");
}

/* Bytes of the words that fit into `columns`; part of a word if it alone is wider. "%" stays with
 * its number. */
static size_t fitting(const char *text, size_t columns)
{
    size_t max = utf8_bytes(text, strlen(text), columns);
    size_t at = max;

    while (at && (text[at] != ' ' || text[at + 1] == '%'))
        at--;
    return at ? at : max;
}

/* Prints text from `column` on, in at most `most` lines, which are indented by `indent`; what is
 * left out is "...". */
static void put_wrapped(FILE *out, size_t column, size_t indent, size_t max, const char *text)
{
    for (size_t lines = 1;; lines++, column = indent) {
        size_t room = DIGEST_TEXT_COLUMNS - column;
        size_t bytes = strlen(text);
        bool last = utf8_count(text, bytes) <= room;

        if (!last)
            bytes = fitting(text, lines == max ? room - strlen(" ...") : room);
        foreign_put(out, text, bytes);
        fputs(!last && lines == max ? " ...\n" : "\n", out);
        if (last || lines == max)
            return;
        text += bytes;
        text += strspn(text, " ");
        put_spaces(out, indent);
    }
}

static void put_keyed(FILE *out, const char *key, const char *text, size_t max)
{
    fprintf(out, "%-*s", KEY_COLUMNS, key);
    put_wrapped(out, KEY_COLUMNS, KEY_COLUMNS, max, text);
}

/* ---- The head ---- */

static void put_head(FILE *out, const struct digest *digest, const struct layout *layout)
{
    struct digest_line lines[DIGEST_NOTES];
    size_t count = digest_answers(digest, lines);

    if (!digest->quality.whole) {
        snprintf(lines[count].text, sizeof lines[count].text, "Warning: %s.",
                 digest->quality.warning);
        put_wrapped(out, 0, INDENT, layout->note, lines[count].text);
    }
    for (size_t i = 0; i < count; i++)
        put_wrapped(out, 0, INDENT, 2, lines[i].text);
    size_t noted = digest_notes(digest, lines);
    for (size_t i = 0; i < noted; i++) {
        const char *mark = i || count ? "Note: " : "";

        fputs(mark, out);
        put_wrapped(out, strlen(mark), INDENT, layout->note, lines[i].text);
    }
}

static void put_facts(FILE *out, const struct digest *digest)
{
    struct digest_line lines[DIGEST_FACTS];
    size_t count = digest_facts(digest, NAMED_COLUMNS, lines);

    fputc('\n', out);
    for (size_t i = 0; i < count; i++)
        put_keyed(out, lines[i].key, lines[i].text, 1);
}

/* ---- Where the time goes ---- */

static void put_part(FILE *out, const struct digest *digest, const char *words, double ns)
{
    static const char bar[] = "############################";
    double share = digest_share(digest, ns);
    int columns = (int)(share * BAR_COLUMNS / 100 + 0.5);
    char time[MP_FORMATTED_BYTES];

    fprintf(out, "  %-*s  %5.1f %%  %9s%s%.*s\n", PART_COLUMNS, words, share,
            mp_format_time_mean(time, sizeof time, ns), columns ? "  " : "", columns, bar);
}

static bool is_shown(const struct digest *digest, int part)
{
    return digest_share(digest, digest->parts[part]) >= MIN_PERCENT;
}

/* Whether a part is among the `max` largest. */
static bool is_great(const struct digest *digest, int part, size_t max)
{
    size_t greater = 0;

    for (int i = 0; i < DIGEST_PARTS; i++) {
        if (digest->parts[i] > digest->parts[part] ||
            (i < part && digest->parts[i] == digest->parts[part]))
            greater++;
    }
    return greater < max;
}

static void put_parts(FILE *out, const struct digest *digest, size_t max)
{
    char time[MP_FORMATTED_BYTES];
    double rest = 0;
    size_t shown = 0;

    for (int i = 0; i < DIGEST_PARTS; i++)
        shown += is_shown(digest, i);
    if (shown > max)
        max--; /* the last line has all else */
    fprintf(out, "\nWhere %s goes (mean %s)\n",
            digest->iterations.way == ITERATIONS_WHOLE      ? "the time"
            : digest->iterations.way == ITERATIONS_REQUESTS ? "a request"
                                                            : "an iteration",
            mp_format_time_mean(time, sizeof time, digest->latency.mean));
    for (int i = 0; i < DIGEST_PARTS; i++) {
        if (is_shown(digest, i) && is_great(digest, i, max))
            put_part(out, digest, digest_part_words((enum digest_part)i), digest->parts[i]);
        else
            rest += digest->parts[i];
    }
    if (digest_share(digest, rest) >= MIN_PERCENT)
        put_part(out, digest, "all else", rest);
}

/* ---- What to change ---- */

/* "113.99us, 31 per iteration  nchwToNhwcKernel<float>" */
static void put_finding_line(FILE *out, const struct advise_line *line)
{
    size_t used = DETAIL_INDENT + strlen(line->text) + 2;
    size_t room = used + MIN_NAME < DIGEST_TEXT_COLUMNS ? DIGEST_TEXT_COLUMNS - used : MIN_NAME;
    char name[4 * DIGEST_TEXT_COLUMNS + 4];
    char text[sizeof line->text + sizeof name + 2];

    snprintf(text, sizeof text, "%s%s%s", line->text, line->name ? "  " : "",
             line->name ? digest_kernel_name(line->name, room, name, sizeof name) : "");
    put_spaces(out, DETAIL_INDENT);
    put_wrapped(out, DETAIL_INDENT, DETAIL_INDENT, 1, text);
}

/* The evidence of one rule is about the name in its first line. */
static size_t lines_shown(const struct advise_finding *finding, size_t max)
{
    size_t min = finding->rule == ADVISE_SLOW_LAYER;

    max = max > min ? max : min;
    return finding->line_count < max ? finding->line_count : max;
}

static void put_finding(FILE *out, size_t number, const struct advise_finding *finding,
                        const struct layout *layout)
{
    const size_t *lines = number == 1 ? layout->first : layout->others;
    char text[ADVISE_TEXT_BYTES + 256];

    digest_gain(finding, text, 64);
    fprintf(out, " %zu. %s: %s\n", number, finding->title, text);
    put_spaces(out, DETAIL_INDENT);
    put_wrapped(out, DETAIL_INDENT, DETAIL_INDENT, lines[0], finding->evidence);
    for (size_t i = 0; i < lines_shown(finding, layout->names); i++)
        put_finding_line(out, &finding->lines[i]);
    if (!lines[1])
        return;
    snprintf(text, sizeof text, "To do: %s", finding->to_do);
    put_spaces(out, DETAIL_INDENT);
    put_wrapped(out, DETAIL_INDENT, DETAIL_INDENT, lines[1], text);
}

static void put_findings(FILE *out, const struct digest *digest, const struct layout *layout)
{
    size_t count =
        digest->finding_count < layout->findings ? digest->finding_count : layout->findings;
    char step[MP_FORMATTED_BYTES];

    if (!count)
        return;
    fprintf(out, "\nWhat to change (%s of %s): gains, of %s %s, do not add up\n",
            mp_count(count).text, mp_count(digest->findings_all).text,
            mp_format_time(step, sizeof step, digest->basis),
            deps_basis_text(digest->without_recording));
    for (size_t i = 0; i < count; i++)
        put_finding(out, i + 1, &digest->findings[i], layout);
}

/* ---- Names by time, commands ---- */

static void put_hot(FILE *out, const struct digest *digest, size_t max)
{
    size_t count = digest->hot_count < max ? digest->hot_count : max;
    char name[4 * HOT_COLUMNS + 4];
    char time[MP_FORMATTED_BYTES];

    while (count && digest->hot[count - 1].percent < MIN_PERCENT)
        count--;
    if (!count)
        return;
    fprintf(out, "\n%-11s%9s  %9s  %s\n", "GPU time", "Total", "Calls", "Name");
    for (size_t i = 0; i < count; i++) {
        const struct digest_hot *hot = &digest->hot[i];

        int taken =
            fprintf(out, "  %5.1f %%  %9s  %9s  ", hot->percent,
                    mp_format_time(time, sizeof time, hot->total), mp_count(hot->calls).text);
        size_t room = taken > HOT_BEFORE ? HOT_COLUMNS - (size_t)(taken - HOT_BEFORE) : HOT_COLUMNS;

        foreign_put_text(out, digest_kernel_name(hot->name, room, name, sizeof name));
        fputc('\n', out);
    }
}

/* Bytes of a command line that fit into `columns`, up to a space that no quotes enclose; all of
 * them if there is none. */
static size_t shell_break(const char *line, size_t columns)
{
    size_t bytes = strlen(line);
    size_t max = utf8_bytes(line, bytes, columns);
    size_t found = 0;
    bool quoted = false;

    for (size_t at = 0; at < bytes && (at <= max || !found); at++) {
        if (line[at] == '\\' && !quoted)
            at++;
        else if (line[at] == '\'')
            quoted = !quoted;
        else if (line[at] == ' ' && !quoted)
            found = at;
    }
    return found ? found : bytes;
}

/* In lines that a shell takes for one. */
static void put_command_line(FILE *out, const char *line)
{
    size_t room = DIGEST_TEXT_COLUMNS - INDENT - WHY_COLUMNS;

    while (utf8_count(line, strlen(line)) > room) {
        size_t bytes = shell_break(line, room - strlen(" \\"));

        if (!line[bytes])
            break;
        foreign_put(out, line, bytes);
        fputs(" \\\n", out);
        put_spaces(out, INDENT + WHY_COLUMNS);
        line += bytes + 1;
    }
    foreign_put_text(out, line);
    fputc('\n', out);
}

static void put_commands(FILE *out, const struct digest *digest, size_t max)
{
    fputs("\nLook further\n", out);
    for (size_t i = 0; i < digest->command_count && i < max; i++) {
        fprintf(out, "  %-*s", WHY_COLUMNS, digest->commands[i].why);
        put_command_line(out, digest->commands[i].line);
    }
}

/* ---- Several traces ---- */

#define NAME_COLUMNS 20
#define JOB_LINES    4 /* of a sentence */

/* A trace of several. */
struct trace_line {
    const struct digest *digest;
    const char *name, *whole;
    uint64_t count;
    double busy;
    bool work, loop, knows_busy;
};

#define OF(member)       MEMBER(struct trace_line, member)
#define OF_TRACE(member) THROUGH(struct trace_line, digest, member)
#define IF(member)       WHEN(struct trace_line, member)

static const struct report_column columns[] = {
    COLUMN("Trace", NULL, TEXT, NAME_COLUMNS, OF(name), .left = true),
    COLUMN("Count", NULL, COUNT, 7, OF(count)),
    COLUMN("P50", NULL, TIME, 8, OF_TRACE(latency.p50), IF(work)),
    COLUMN("P99", NULL, TIME, 8, OF_TRACE(latency.p99), IF(loop)),
    COLUMN("A second", NULL, REAL, 9, OF_TRACE(iterations.throughput), IF(loop)),
    COLUMN("GPU busy", NULL, PERCENT, 8, OF(busy), IF(knows_busy)),
    COLUMN("Whole", NULL, TEXT, 5, OF(whole)),
};

static void each_digest(struct report_table *table, report_take *take)
{
    const struct digest_report *report = table->of;

    for (size_t i = 0; i < report->count; i++) {
        const struct digest *digest = &report->digests[i];
        char name[4 * NAME_COLUMNS + 4];
        bool work = !digest->no_work;

        digest_shorten(digest_title(report, i), NAME_COLUMNS, name, sizeof name);
        take(table, &(struct trace_line){.digest = digest,
                                         .name = name,
                                         .whole = digest->quality.whole ? "yes" : "no",
                                         .count = work ? digest->iterations.count : 0,
                                         .busy = digest_share(digest, digest->busy),
                                         .work = work,
                                         .loop = work && digest->iterations.count > 1,
                                         .knows_busy = work && !digest->quality.gap});
    }
}

/* Whether several of the traces are ranks that communicate. */
static bool are_ranks(const struct digest_report *report)
{
    size_t ranks = 0;

    for (size_t i = 0; i < report->count; i++)
        ranks += report->digests[i].one_rank;
    return ranks > 1;
}

static void put_job(FILE *out, const struct job_answer *job)
{
    struct job_line lines[JOB_ANSWERS];
    size_t count = job_answer_lines(job, lines);

    for (size_t i = 0; i < count; i++)
        put_wrapped(out, 0, INDENT, JOB_LINES, lines[i].text);
    fputc('\n', out);
}

/* Of which trace the screen below is, and why. */
static void put_shown(FILE *out, const struct digest_report *report)
{
    const struct digest *shown = &report->digests[report->shown];
    char p50[MP_FORMATTED_BYTES];

    if (shown->no_work) {
        fprintf(out, "None of %s traces has GPU work.\n", mp_count(report->count).text);
        return;
    }
    fprintf(out, "Of %s traces ", mp_count(report->count).text);
    foreign_put_text(out, digest_title(report, report->shown));
    if (report->shows_late)
        fputs(" is the late rank's.\n", out);
    else
        fprintf(out, " is the slowest: P50 %s.\n",
                mp_format_time(p50, sizeof p50, shown->latency.p50));
}

static void put_list(FILE *out, const struct digest_report *report)
{
    const struct report_out to = {.file = out, .format = REPORT_TEXT};
    const char *title = digest_title(report, report->shown);

    if (report->job)
        put_job(out, report->job);
    else if (are_ranks(report))
        fputs(
            "Ranks of a job wait for each other: `miniprof advise` of their folder says which one\n"
            "is late, and `miniprof ranks` why.\n",
            out);
    put_shown(out, report);
    report_print(&to,
                 &(struct report_layout){REPORT_COLUMNS(columns), .of = report,
                                         .measuring = REPORT_UNITS_ONLY},
                 each_digest);
    fputc('\n', out);
    foreign_put_text(out, title);
    fputs(":\n", out);
}

/* ---- The screen ---- */

static void put_screen(FILE *out, const struct digest *digest, const struct layout *layout)
{
    put_head(out, digest, layout);
    put_facts(out, digest);
    if (!digest->no_work) {
        if (!digest->quality.gap) {
            put_parts(out, digest, layout->parts);
            put_findings(out, digest, layout);
        }
        put_hot(out, digest, layout->hot);
    }
    put_commands(out, digest, layout->commands);
}

static size_t lines_of(const char *text)
{
    size_t lines = 0;

    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* The screen in a layout; NULL: out of memory. The caller frees it. */
static char *screen_of(const struct digest *digest, const struct layout *layout)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = memory_file_open(&text, &bytes);

    if (!memory)
        return NULL;
    put_screen(memory, digest, layout);
    fclose(memory); /* where anything found no room, `text` stays NULL */
    return text;
}

enum mp_status print_digest_text(FILE *out, const struct digest_report *report)
{
    size_t count = sizeof layouts / sizeof *layouts;

    if (report->count > 1)
        put_list(out, report);
    for (size_t i = 0; i < count; i++) {
        char *screen = screen_of(&report->digests[report->shown], &layouts[i]);

        if (!screen)
            return MP_ERR_MEMORY;
        bool fits = lines_of(screen) <= DIGEST_TEXT_LINES || i + 1 == count;
        if (fits)
            fputs(screen, out);
        free(screen);
        if (fits)
            break;
    }
    return MP_OK;
}
