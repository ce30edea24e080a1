/* Writes a trace whose rows are known (known_trace.h): make_trace KIND FILE. */
#include <stdio.h>
#include <string.h>

#include "known_trace.h"

static const struct {
    const char *name;
    struct known_options options;
} kinds[] = {
    {"plain", {.header = NULL}},
    {"empty", {.empty = true}},
    {"calls", {.no_work = true}},
    {"doubtful", {.doubtful = true}},
    {"undefined", {.undefined = true}},
    {"dropped", {.dropped = 12}},
    {"one-dropped", {.dropped = 1}},
    {"many", {.many = 200000}},
    {"metrics", {.metrics = true}},
    {"metrics-none", {.header = KNOWN_HEADER "MINIPROF_METRICS=ipc\n", .no_work = true}},
    {"nvtx", {.nvtx = true}},
    {"no-api", {.empty = true, .header = KNOWN_HEADER "MINIPROF_API=none\n"}},
    {"no-gpu", {.no_work = true, .header = KNOWN_HEADER "MINIPROF_GPU=off\n"}},
    {"anonymous", {.header = "clock=monotonic\n"}},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, argv[1]) != 0)
            continue;
        if (known_write(argv[2], &kinds[i].options))
            return 0;
        fprintf(stderr, "make_trace: cannot write '%s'\n", argv[2]);
        return 1;
    }
    fprintf(stderr, "usage: make_trace KIND FILE, with KIND one of");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        fprintf(stderr, " %s", kinds[i].name);
    fputc('\n', stderr);
    return 2;
}
