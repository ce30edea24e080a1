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
    {"losses", {.dropped = 12, .losses = true}},
    {"streams", {.streams = 2000}},
    {"dependent", {.dependent = 100}},
    {"many", {.many = 200000}},
    {"untimed",
     {.header = KNOWN_HEADER "MINIPROF_CONCURRENT_KERNELS=off\n",
      .dependent = 100,
      .untimed = 50,
      .nodes = true}},
    {"untimed-node", {.dependent = 100, .untimed = 1, .nodes = true}},
    {"untimed-few", {.dependent = 100, .untimed = 2}},
    {"untimed-more", {.dependent = 100, .untimed = 3}},
    {"metrics", {.metrics = true}},
    {"counters", {.counters = true}},
    {"many-samples", {.samples = 300000}},
    {"metrics-none", {.header = KNOWN_HEADER "MINIPROF_METRICS=ipc\n", .no_work = true}},
    {"nvtx", {.nvtx = true}},
    {"layers", {.layers = true}},
    {"slow-layer", {.slow_layer = true}},
    {"stacks", {.stacks = true}},
    {"stacks-sampled", {.stacks = true, .host_samples = true}},
    {"stacks-native", {.stacks = true, .natives = true}},
    {"stacks-asked",
     {.header = KNOWN_HEADER "MINIPROF_STACKS=python\nMINIPROF_STACKS_OVER=2000000\n"}},
    {"stacks-few",
     {.stacks = true, .header = KNOWN_HEADER "MINIPROF_STACKS_EVERY=10\nMINIPROF_STACKS_OVER=5\n"}},
    {"layers-no-calls", {.layers = true, .no_calls = true}},
    {"hostile",
     {.hostile = true,
      .nvtx = true,
      .header = "miniprof=make_trace 1\npid=4242\nexecutable=/opt/<script>window.bad=1</script>\n"
                "clock=monotonic\n"}},
    {"no-api", {.empty = true, .header = KNOWN_HEADER "MINIPROF_API=none\n"}},
    {"flight",
     {.header = KNOWN_HEADER "MINIPROF_STEP=re\tquest\nflight_reason=slow step\n"
                             "flight_trigger_ns=1500\nflight_from_ns=1000\n"
                             "flight_until_ns=3000\nflight_step_start_ns=300\n"
                             "flight_step_ns=61204000\nflight_step_limit_ns=52953000\n"}},
    {"flight-crash",
     {.dropped = 1,
      .header = KNOWN_HEADER "flight_reason=SIGSEGV\nflight_trigger_ns=2000000\n"
                             "flight_from_ns=1000000\nflight_until_ns=2000000\n"}},
    {"flight-odd",
     {.header = KNOWN_HEADER "flight_reason=a\033b\nflight_trigger_ns=1 2\nflight_from_ns=9\n"
                             "flight_until_ns=8\nflight_step_limit_ns=-1\n"}},
    {"flight-late",
     {.header = KNOWN_HEADER "flight_reason=SIGUSR2\nflight_trigger_ns=4000\n"
                             "flight_from_ns=1000\nflight_until_ns=3000\n"}},
    {"no-gpu", {.no_work = true, .header = KNOWN_HEADER "MINIPROF_GPU=off\n"}},
    {"baseline", {.nvtx = true, .header = KNOWN_HEADER "MINIPROF_BASELINE=10\n"}},
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
