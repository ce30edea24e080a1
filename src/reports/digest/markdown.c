/* The digest as Markdown: what the screen has, whole sentences, and all that was kept of findings.
 * What the program wrote is printed as code, so that no name becomes markup.
 */
#include <ctype.h>
#include <string.h>

#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "base/text/units.h"
#include "reports/advise/print.h"
#include "reports/digest/print.h"
#include "table/table.h"

#include "base/poison.h"

#define NAME_COLUMNS 80

/* ---- Text and code ---- */

/* Prints a character if it is visible, else `?`; returns its bytes. */
static size_t put_character(FILE *out, const char *text)
{
    size_t length = utf8_length(text, strlen(text));

    length = length ? length : 1;
    foreign_put(out, text, length);
    return length;
}

/* As code, also if it has a backquote; in a cell of a table a bar would end the cell. */
static void put_code(FILE *out, const char *text, bool cell)
{
    bool quoted = strchr(text, '`') != NULL;

    fputs(quoted ? "`` " : "`", out);
    while (*text) {
        if (cell && *text == '|')
            fputc('\\', out);
        text += put_character(out, text);
    }
    fputs(quoted ? " ``" : "`", out);
}

/* As text: no character of it is markup. */
static void put_text(FILE *out, const char *text)
{
    while (*text) {
        if (strchr("\\`*_<>[]|#", *text))
            fputc('\\', out);
        text += put_character(out, text);
    }
}

/* Our own words, in which `code` is meant as such. */
static void put_prose(FILE *out, const char *text)
{
    bool code = false;

    for (; *text; text++) {
        code ^= *text == '`';
        if (!code && strchr("\\*_<>[]|#", *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void put_item(FILE *out, const char *text)
{
    fputs("- ", out);
    put_text(out, text);
    fputc('\n', out);
}

/* ---- The head ---- */

static void put_head(FILE *out, const struct digest *digest)
{
    struct digest_line lines[DIGEST_ANSWERS + DIGEST_NOTES];

    if (!digest->quality.whole) {
        fputs("> **Warning:** ", out);
        put_text(out, digest->quality.warning);
        fputs(".\n\n", out);
    }
    size_t count = digest_answers(digest, lines);
    count += digest_notes(digest, lines + count);
    if (!count)
        return;
    fputs("**", out);
    put_text(out, lines[0].text);
    fputs("**\n\n", out);
    for (size_t i = 1; i < count; i++)
        put_item(out, lines[i].text);
}

static void put_facts(FILE *out, const struct digest *digest)
{
    struct digest_line lines[DIGEST_FACTS];
    size_t count = digest_facts(digest, 0, lines);

    fputs("\n## What was recorded\n\n| | |\n|---|---|\n", out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "| %s | ", lines[i].key);
        put_text(out, lines[i].text);
        fputs(" |\n", out);
    }
}

/* ---- Where the time goes ---- */

static void put_parts(FILE *out, const struct digest *digest)
{
    char time[MP_FORMATTED_BYTES];

    fprintf(out,
            "\n## Where the time goes\n\nThe mean latency is %s.\n\n"
            "| part | share | mean |\n|---|--:|--:|\n",
            mp_format_time_mean(time, sizeof time, digest->latency.mean));
    for (int i = 0; i < DIGEST_PARTS; i++) {
        double share = digest_share(digest, digest->parts[i]);

        if (share >= 0.05)
            fprintf(out, "| %s | %.1f %% | %s |\n", digest_part_words((enum digest_part)i), share,
                    mp_format_time_mean(time, sizeof time, digest->parts[i]));
    }
}

/* ---- What to change ---- */

/* As much of a kernel's name as tells it from others. */
static void put_kernel(FILE *out, const char *name, bool cell)
{
    char text[4 * NAME_COLUMNS + 4];

    put_code(out, digest_kernel_name(name, NAME_COLUMNS, text, sizeof text), cell);
}

static void put_finding_line(FILE *out, const struct advise_line *line)
{
    fputs("- ", out);
    put_text(out, line->text);
    if (line->name) {
        fputs(*line->text ? ": " : "", out);
        put_kernel(out, line->name, false);
    }
    fputc('\n', out);
}

static void put_finding(FILE *out, size_t number, const struct advise_finding *finding)
{
    char gain[64];

    digest_gain(finding, gain, sizeof gain);
    fprintf(out, "\n### %zu. %s: %s\n\n", number, finding->title, gain);
    fputc(toupper((unsigned char)finding->evidence[0]), out); /* a digit or an English letter */
    put_text(out, finding->evidence + 1);
    fputs(".\n\n", out);
    for (size_t i = 0; i < finding->line_count; i++)
        put_finding_line(out, &finding->lines[i]);
    fputs(finding->line_count ? "\n**To do:** " : "**To do:** ", out);
    put_prose(out, finding->to_do);
    fprintf(out, "\n\nThe gain is %s; it assumes: ", advise_certainty_text(finding->certainty));
    put_text(out, finding->assumes);
    fputs(".\n", out);
}

static void put_findings(FILE *out, const struct digest *digest)
{
    char step[MP_FORMATTED_BYTES];

    if (!digest->finding_count)
        return;
    fprintf(out,
            "\n## What to change\n\n%s of %s finding%s; gains are of an iteration of %s (%s) "
            "and do not add up.\n",
            mp_count(digest->finding_count).text, mp_count(digest->findings_all).text,
            digest->findings_all == 1 ? "" : "s", mp_format_time(step, sizeof step, digest->basis),
            deps_basis_text(digest->without_recording));
    for (size_t i = 0; i < digest->finding_count; i++)
        put_finding(out, i + 1, &digest->findings[i]);
}

/* ---- Names by time, commands ---- */

static void put_hot(FILE *out, const struct digest *digest)
{
    char total[MP_FORMATTED_BYTES];
    char mean[MP_FORMATTED_BYTES];

    fputs("\n## Hot on the GPU\n\n| share | total | calls | mean | name |\n"
          "|--:|--:|--:|--:|---|\n",
          out);
    for (size_t i = 0; i < digest->hot_count; i++) {
        const struct digest_hot *hot = &digest->hot[i];

        fprintf(out, "| %.1f %% | %s | %s | %s | ", hot->percent,
                mp_format_time(total, sizeof total, hot->total), mp_count(hot->calls).text,
                mp_format_time_mean(mean, sizeof mean, hot->mean));
        put_kernel(out, hot->name, true);
        fputs(" |\n", out);
    }
}

static void put_commands(FILE *out, const struct digest *digest)
{
    fputs("\n## Look further\n\n| | |\n|---|---|\n", out);
    for (size_t i = 0; i < digest->command_count; i++) {
        fprintf(out, "| %s | ", digest->commands[i].why);
        put_code(out, digest->commands[i].line, true);
        fputs(" |\n", out);
    }
}

/* ---- Several traces ---- */

static void put_row(FILE *out, const struct digest_report *report, size_t index)
{
    const struct digest *digest = &report->digests[index];
    char p50[MP_FORMATTED_BYTES];
    char p99[MP_FORMATTED_BYTES];

    fputs("| ", out);
    put_code(out, digest_title(report, index), true);
    if (digest->no_work) {
        fputs(" | 0 | - | - | - | - |", out);
    } else {
        fprintf(out, " | %s | %s | %s | %s | ", mp_count(digest->iterations.count).text,
                mp_format_time(p50, sizeof p50, digest->latency.p50),
                mp_format_time(p99, sizeof p99, digest->latency.p99),
                mp_rounded(digest->iterations.throughput).text);
        if (digest->quality.gap)
            fputs("- |", out);
        else
            fprintf(out, "%.1f %% |", digest_share(digest, digest->busy));
    }
    fprintf(out, " %s |\n", digest->quality.whole ? "yes" : "no");
}

static void put_job(FILE *out, const struct job_answer *job)
{
    struct job_line lines[JOB_ANSWERS];
    size_t count = job_answer_lines(job, lines);

    for (size_t i = 0; i < count; i++) {
        fputs(i ? "- " : "**", out);
        put_text(out, lines[i].text);
        fputs(i ? "\n" : "**\n\n", out);
    }
    fputc('\n', out);
}

static void put_list(FILE *out, const struct digest_report *report)
{
    if (report->job)
        put_job(out, report->job);
    fputs("| trace | iterations | P50 | P99 | a second | GPU busy | whole |\n"
          "|---|--:|--:|--:|--:|--:|---|\n",
          out);
    for (size_t i = 0; i < report->count; i++)
        put_row(out, report, i);
    fprintf(out,
            "\nIn full, because it is the %s: ", report->shows_late ? "late rank's" : "slowest");
    put_code(out, digest_title(report, report->shown), false);
    fputs(".\n\n", out);
}

void print_digest_markdown(FILE *out, const struct digest_report *report)
{
    const struct digest *digest = &report->digests[report->shown];

    fputs("# miniprof report\n\n", out);
    if (report->count > 1)
        put_list(out, report);
    put_head(out, digest);
    put_facts(out, digest);
    if (!digest->no_work) {
        if (!digest->quality.gap) {
            put_parts(out, digest);
            put_findings(out, digest);
        }
        put_hot(out, digest);
    }
    put_commands(out, digest);
}
