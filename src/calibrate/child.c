/* The child of `miniprof calibrate`: does all work of a round and writes its answer. */
#include <stdio.h>
#include <unistd.h>

#include "base/text/strings.h"
#include "calibrate/calibrate.h"
#include "calibrate/probe.h"
#include "cli/command.h"

#include "base/poison.h"

#define PATIENCE_S 120 /* the driver alone takes seconds on machines with many GPUs */

int calibrate_probe(int argc, char **argv)
{
    struct probe probe = {.failed = false};
    uint64_t device;
    bool done;

    if (argc != 3 || !mp_text_to_u64(argv[2], 0, INT32_MAX, &device)) {
        complain("calibrate", "unknown option '" CALIBRATE_PROBE "'");
        return EXIT_USAGE;
    }
    probe.answer = fopen(argv[1], "we");
    if (!probe.answer) {
        complain("calibrate", "cannot write '%s': %m", argv[1]);
        return EXIT_UNREADABLE;
    }
    alarm(PATIENCE_S);
    done = probe_set_up(&probe, (int)device) && probe_calls(&probe) && probe_device(&probe) &&
           probe_trips(&probe);
    if (fclose(probe.answer) != 0)
        done = false;
    return done ? EXIT_FINE : EXIT_FINDINGS;
}
