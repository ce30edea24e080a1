/* Writes a trace whose rows are known (known_trace.h): make_trace KIND FILE. */
#include <stdio.h>
#include <string.h>

#include "known_trace.h"

/* Four processes of a job: three on node-a, of which rank 1 is the straggler, and whose clock began
 * at boot; one on node-b. The time of day was slewed by 12345 ns before rank 1 began. rank3 is of
 * another boot of node-a. */
#define RANK_HEADER(rank, host, pid, clock, realtime)                                              \
    "miniprof=make_trace 1\npid=" pid "\nppid=99\nexecutable=/opt/train\nhostname=" host           \
    "\nrank=" rank "\nclock=monotonic\nstart_clock_ns=" clock "\nstart_realtime_ns=" realtime "\n"

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
    {"rank0", {.header = RANK_HEADER("0", "node-a", "100", "500000", "1700000000000500000")}},
    {"rank1",
     {.header = RANK_HEADER("1", "node-a", "101", "900000", "1700000000000912345"),
      .slow = 540000}},
    {"rank2",
     {.header = RANK_HEADER("2", "node-b", "100", "1000", "1700000000002001000"), .no_work = true}},
    {"rank3", {.header = RANK_HEADER("3", "node-a", "100", "1000", "1700009000000001000")}},
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
