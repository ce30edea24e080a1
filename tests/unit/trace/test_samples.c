/* The size of sampled counters in the file: at most 1.5 bytes for each counter and sample, measured
 * on samples of made programs: kernels with counters of their own, of which each sample is the mean
 * over its time, with noise.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/metrics/sampled.h"
#include "unit/trace_fixture.h"

#define COUNTERS    13u
#define SAMPLES     20000u
#define INTERVAL    100000.0 /* ns: 10 kHz */
#define MAX_KERNELS 64u

struct made_kernel {
    double ns;
    double values[COUNTERS];
};

struct program {
    const char *name;
    unsigned kernels;
    double shortest, longest; /* us */
    double idle;              /* us behind each kernel */
    double noise;             /* of a sample, relative */
};

static double chance(uint64_t *seed)
{
    return (double)(fixture_random(seed) >> 11) / 9007199254740992.0;
}

/* A normal distribution, nearly. */
static double noise(uint64_t *seed)
{
    return (chance(seed) + chance(seed) + chance(seed) + chance(seed) - 2) * 1.7320508;
}

/* SMs, tensor, DRAM, PCIe in and out, clock, active, occupancy, issue, read, write, NVLink. */
static void make_kernel(const struct program *program, struct made_kernel *kernel, uint64_t *seed)
{
    double read = 70 * chance(seed), write = 25 * chance(seed);
    double sms = chance(seed) < 0.7 ? 95 + 5 * chance(seed) : 100 * chance(seed);
    const double values[COUNTERS] = {sms,
                                     chance(seed) < 0.5 ? 0 : 80 * chance(seed),
                                     read + write,
                                     0,
                                     0,
                                     1755e6,
                                     100,
                                     60 * chance(seed),
                                     50 * chance(seed),
                                     read,
                                     write,
                                     0,
                                     0};

    kernel->ns = 1000 * (program->shortest + (program->longest - program->shortest) * chance(seed));
    memcpy(kernel->values, values, sizeof(values));
}

/* Where the program is, and what it does from there. */
struct position {
    unsigned kernel;
    double left; /* of the kernel, or of the idle time behind it, ns */
    bool idle;
};

/* The means over one sample. */
static void run(const struct program *program, const struct made_kernel *kernels,
                struct position *at, double *values)
{
    double left = INTERVAL;

    memset(values, 0, COUNTERS * sizeof(*values));
    while (left > 0) {
        double step = at->left < left ? at->left : left;

        for (unsigned i = 0; i < COUNTERS && !at->idle; i++)
            values[i] += kernels[at->kernel].values[i] * step / INTERVAL;
        left -= step;
        at->left -= step;
        if (at->left > 0)
            continue;
        if (at->idle)
            at->kernel = (at->kernel + 1) % program->kernels;
        at->idle = !at->idle;
        at->left = at->idle ? 1000 * program->idle + 1 : kernels[at->kernel].ns;
    }
    values[5] = 1755e6; /* the clock runs when nothing else does */
}

static void append(struct mp_writer *writer, uint64_t time, uint64_t length, const double *values,
                   double spread, uint64_t *seed)
{
    for (unsigned i = 0; i < COUNTERS; i++) {
        double step = i == 5 || i == 3 || i == 4 || i > 10 ? 1e6 : 0.1;
        double value = values[i] * (1 + spread * noise(seed));

        /* PCIe and NVLink are never quite still. */
        if ((i == 3 || i == 4) && chance(seed) < 0.1)
            value += 3e6 * chance(seed);
        mp_append_sample(writer, &(struct mp_row_sample){
                                     .counter = i + 1,
                                     .time = time,
                                     .length = length,
                                     .value = sampled_pack(value, step),
                                 });
    }
}

static double bytes_of(const struct program *program)
{
    int fd = fixture_file(NULL, 0);
    struct mp_writer *writer = fixture_writer(fd, "", MP_MAX_CHUNK_RAW_BYTES);
    struct made_kernel kernels[MAX_KERNELS];
    struct position at = {.left = 1};
    uint64_t seed = 1, time = 1000000000;
    size_t size;

    for (unsigned i = 0; i < program->kernels; i++)
        make_kernel(program, &kernels[i], &seed);
    at.left = kernels[0].ns;
    for (unsigned i = 0; i < SAMPLES; i++) {
        uint64_t length = (uint64_t)INTERVAL + 32 * (fixture_random(&seed) % 3) - 32;
        double values[COUNTERS];

        run(program, kernels, &at, values);
        time += length;
        append(writer, time, length, values, program->noise, &seed);
    }
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    free(fixture_file_bytes(fd, &size));
    close(fd);
    return (double)size / SAMPLES / COUNTERS;
}

static void a_sample_takes_at_most_one_and_a_half_bytes(void **state)
{
    static const struct program programs[] = {
        {"small kernels in a loop", 40, 3, 20, 1, 0.01},
        {"kernels as long as a sample", 40, 40, 300, 5, 0.01},
        {"long kernels", 12, 500, 4000, 20, 0.01},
        {"mostly idle", 8, 10, 60, 400, 0.01},
        {"very noisy", 40, 3, 200, 5, 0.1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        double bytes = bytes_of(&programs[i]);

        printf("%s: %.3f bytes a counter and sample\n", programs[i].name, bytes);
        assert_true(bytes <= 1.5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_takes_at_most_one_and_a_half_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
