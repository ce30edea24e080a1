/* Prints the list of docs/nvprof.md from nvprof/options.def: a point for each option.
 * tests/cli/docs_are_current.sh compares it with the document. It is a list and no table, as the
 * rows of a table cannot be wrapped. With --plain one line for each option, for tests: name,
 * letter, kind of value, what it takes, min, max, state and the values that are fine in any
 * case, with tabs between them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nvprof/options.h"
#include "wrap.h"

#include "base/poison.h"

#define FIELD(name) offsetof(struct nvprof_values, name)
static const struct nvprof_option options[] = {
#include "nvprof/options.def"
};

#define OPTION_COUNT (sizeof options / sizeof *options)

static const char *const kinds[] = {
    [NVPROF_FLAG] = "flag",       [NVPROF_CHOICE] = "choice",   [NVPROF_LIST] = "list",
    [NVPROF_NUMBER] = "number",   [NVPROF_TEXT] = "text",       [NVPROF_PATTERN] = "pattern",
    [NVPROF_LOG] = "log",         [NVPROF_NAMING] = "naming",   [NVPROF_DEVICES] = "devices",
    [NVPROF_KERNELS] = "kernels", [NVPROF_METRICS] = "metrics", [NVPROF_EVENTS] = "events",
    [NVPROF_FILES] = "files",
};

static const char *const states[] = {
    [NVPROF_WORKS] = "works",
    [NVPROF_ACCEPTED] = "accepted",
    [NVPROF_REFUSED] = "refused",
};

static void print_point(const struct nvprof_option *option)
{
    char lead[16];

    size_t column = (size_t)printf("- `--%s", option->name);
    if (option->takes)
        column += (size_t)printf(" %s", option->takes);
    printf("`");
    if (option->letter)
        printf(column + sizeof "`, `-x`" > WRAP_COLUMNS ? ",\n  `-%c`" : ", `-%c`", option->letter);
    if (option->preset)
        printf(", default `%s`", option->preset);
    printf("\n");
    snprintf(lead, sizeof lead, "*%s*.", states[option->state]);
    print_wrapped(lead, option->doc);
}

static void print_plain(const struct nvprof_option *option)
{
    printf("%s\t%c\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\n", option->name,
           option->letter ? option->letter : '-', kinds[option->kind],
           option->takes ? option->takes : "-", option->min, option->max, states[option->state],
           option->plain ? option->plain : "-");
}

int main(int argc, char **argv)
{
    int plain = argc > 1 && !strcmp(argv[1], "--plain");

    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (plain)
            print_plain(&options[i]);
        else
            print_point(&options[i]);
    }
    return 0;
}
