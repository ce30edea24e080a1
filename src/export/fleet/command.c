/* `miniprof fleet`: many traces in one folder, a lake, for SQL over all of them. */
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"
#include "export/exports.h"
#include "export/lake/lake.h"

#include "base/poison.h"

struct fleet_values {
    struct report_values report;
    const char *job;
    bool events;
    bool force;
};

#define FIELD(name) offsetof(struct fleet_values, name)
static const struct option_spec specs[] = {
    {.name = "job",
     .argument = "NAME",
     .kind = OPTION_TEXT,
     .offset = FIELD(job),
     .help = "the job of the traces; default: the program's name"},
    {.name = "events",
     .kind = OPTION_FLAG,
     .offset = FIELD(events),
     .help = "tables with a row for each kernel, copy, call and range too"},
    {.name = "force",
     .letter = 'f',
     .kind = OPTION_FLAG,
     .offset = FIELD(force),
     .help = "replace runs that the lake already has"},
    REPORT_DEMANGLING_OPTION(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "fleet",
    .synopsis = "add [options] DIR TRACE|FOLDER...",
    .purpose = "Adds traces to a lake: the folder DIR, with Parquet files for DuckDB, ClickHouse "
               "and others. Folders are searched for *.mpt with all folders in them.",
    .notes = "Exit code: 0 fine, 1 a trace is not whole and the rest was added, or a file of a "
             "folder is no trace, 2 wrong usage or a run is there already, 3 a trace cannot be "
             "read or DIR not written.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

/* A name that is the same in the path and in the tables. */
static bool job_is_plain(const char *job)
{
    size_t length = job ? strspn(job, ".") : 0;
    bool plain = job && job[length];

    if (!job)
        return true;
    for (length = 0; job[length] && plain; length++)
        plain = lake_is_plain(job[length]);
    return options_agree(set.command, !plain || length > LAKE_MAX_NAME,
                         "--job takes letters, digits and . _ -, at most 127 of them");
}

static bool arguments_agree(int count, char **arguments)
{
    if (!count || strcmp(arguments[0], "add") != 0) {
        complain(set.command,
                 count ? "'%s' is no action; 'miniprof fleet add DIR TRACE...'"
                       : "what to do? 'miniprof fleet add DIR TRACE...'%s",
                 count ? arguments[0] : "");
        return false;
    }
    return options_agree(set.command, count < 2,
                         "to which folder? 'miniprof fleet add DIR TRACE...'") &&
           options_agree(set.command, count < 3, "which traces? 'miniprof fleet add DIR TRACE...'");
}

int cmd_fleet(int argc, char **argv)
{
    struct fleet_values values = {.report = REPORT_PRESET};
    struct export_job job = {.command = set.command, .format = &export_parquet};
    int first;
    enum options_result result = options_parse(&set, argc, argv, &values, &first);

    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    if (!arguments_agree(argc - first, argv + first) || !job_is_plain(values.job))
        return EXIT_USAGE;
    job.output = argv[first + 1];
    job.force = values.force;
    job.options.analyses = true;
    job.options.one_run = true;
    job.options.events = values.events;
    job.options.job = values.job;
    job.options.style = report_style(&values.report);
    return fleet_add(&job, argc - first - 2, argv + first + 2);
}
