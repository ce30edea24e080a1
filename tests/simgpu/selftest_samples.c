/*
 * selftest_samples.c: the sample programs under an injection library, and without one.
 */
#include "selftest.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct dump {
    uint8_t *bytes;
    size_t size;
    size_t counts[64]; /* by activity kind */
};

/* Runs a sample through the shell and gives back its stdout. */
static void run(const char *environment, const char *command, char *output, size_t size)
{
    char line[1024];
    FILE *pipe;
    size_t length;

    snprintf(line, sizeof(line), "%s %s/%s", environment, selftest_samples, command);
    pipe = popen(line, "r"); /* NOLINT(cert-env33-c): the command is ours */
    EXPECT(pipe);
    length = fread(output, 1, size - 1, pipe);
    output[length] = '\0';
    EXPECT_EQ(pclose(pipe), 0);
}

static void read_dump(const char *path, struct dump *dump)
{
    FILE *file = fopen(path, "rb");
    long size;
    uint32_t head[2];

    EXPECT(file);
    fseek(file, 0, SEEK_END);
    size = ftell(file);
    rewind(file);
    EXPECT(size > 0);
    memset(dump, 0, sizeof(*dump));
    dump->size = (size_t)size;
    dump->bytes = malloc(dump->size);
    EXPECT(dump->bytes && fread(dump->bytes, 1, dump->size, file) == dump->size);
    fclose(file);
    for (size_t at = 0; at < dump->size; at += sizeof(head) + head[1]) {
        memcpy(head, dump->bytes + at, sizeof(head));
        EXPECT(head[0] < 64);
        dump->counts[head[0]]++;
    }
}

static void run_injected(const char *options, const char *command, struct dump *dump)
{
    char environment[700], output[256], path[64];

    snprintf(path, sizeof(path), "/tmp/simgpu-selftest-%d", (int)getpid());
    snprintf(environment, sizeof(environment),
             "%s SIMGPU_SELFTEST_OUT=%s CUDA_INJECTION64_PATH=%s/libselftest_inject.so", options,
             path, selftest_libraries);
    run(environment, command, output, sizeof(output));
    read_dump(path, dump);
    unlink(path);
}

static void vecadd_passes(void)
{
    char output[64];

    run("", "vecadd --n 5000 --repeat 3", output, sizeof(output));
    EXPECT(strcmp(output, "vecadd: PASSED\n") == 0);
}

/* The sum that the sample must print, computed here from the definition of its layers. */
static uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= UINT32_C(0x7feb352d);
    x ^= x >> 15;
    x *= UINT32_C(0x846ca68b);
    return x ^ (x >> 16);
}

static uint32_t expected_checksum(uint32_t iterations, uint32_t layers, uint32_t seed)
{
    uint32_t checksum = 0;

    for (uint32_t iteration = 0; iteration < iterations; iteration++) {
        uint32_t sum = 0;

        for (uint32_t i = 0; i < 16384; i++) {
            uint32_t x = mix(seed) + 2654435761u * (iteration + i);
            uint32_t main_path = x, branch = 0, out = x;

            for (uint32_t layer = 0; layer < layers; layer++) {
                if (layer % 4 == 1)
                    branch = x * 1664525u + layer;
                else if (layer % 4 == 3)
                    out = x = main_path + 3 * branch + layer;
                else
                    out = main_path = (layer % 4 == 0 ? x : main_path) * 1664525u + layer;
            }
            sum = sum * 31 + out;
        }
        checksum += mix(sum + iteration);
    }
    return checksum;
}

static void inference_computes_the_same_in_every_mode(void)
{
    static const char *const modes[] = {"",
                                        "--graph",
                                        "--streams 1",
                                        "--streams 5",
                                        "--graph --streams 4",
                                        "--pageable",
                                        "--no-profiler-api",
                                        "--exit-mode thread-exit"};
    char command[128], expected[80], output[80];

    snprintf(expected, sizeof(expected), "inference: 3 iterations, checksum %08x\n",
             expected_checksum(3, 22, 5));
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        snprintf(command, sizeof(command),
                 "inference --iterations 3 --layers 22 --seed 5 --build 20 %s", modes[i]);
        run("", command, output, sizeof(output));
        EXPECT(strcmp(output, expected) == 0);
        run("CUDA_INJECTION64_PATH=none", command, output, sizeof(output));
        EXPECT(strcmp(output, expected) == 0);
    }
}

static void inference_is_recorded_completely(void)
{
    struct dump dump;

    run_injected("", "inference --iterations 5 --layers 20 --build 16 --warmup 1", &dump);
    EXPECT_EQ(dump.counts[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], 16 + 6 * 20);
    EXPECT_EQ(dump.counts[CUPTI_ACTIVITY_KIND_MEMCPY], 6 * 2);
    EXPECT_EQ(dump.counts[CUPTI_ACTIVITY_KIND_MEMSET], 1);
    /* One per build launch (event) and per iteration (stream); two waits a block. */
    EXPECT_EQ(dump.counts[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION], 16 + 6 * (1 + 5 * 2));
    EXPECT_EQ(dump.counts[CUPTI_ACTIVITY_KIND_CUDA_EVENT], 2 * 16 + 6 * 5 * 2);
    EXPECT_EQ(dump.counts[CUPTI_ACTIVITY_KIND_MEMORY2], 2 * (1 + 4 + 2));
    EXPECT_EQ(dump.counts[CUPTI_ACTIVITY_KIND_OVERHEAD], 16 + 4);
    EXPECT_EQ(dump.counts[CUPTI_ACTIVITY_KIND_STREAM], 2);
    EXPECT_EQ(dump.counts[CUPTI_ACTIVITY_KIND_CONTEXT], 1);
    EXPECT(dump.counts[CUPTI_ACTIVITY_KIND_DRIVER] > 300);
}

#ifdef SIMGPU_LACKS_cuptiActivityEnableDriverApi
#define only_launches_are_recorded_on_request selftest_skip
#else
static void only_launches_are_recorded_on_request(void)
{
    struct dump dump;

    run_injected("SIMGPU_SELFTEST_LAUNCHES_ONLY=1",
                 "inference --iterations 5 --layers 20 --build 16 --warmup 1", &dump);
    EXPECT_EQ(dump.counts[CUPTI_ACTIVITY_KIND_DRIVER], 16 + 6 * 20);
}
#endif

static void graphs_are_recorded_whole_on_request(void)
{
    struct dump nodes, whole;

    run_injected("", "inference --graph --iterations 5 --layers 20 --build 16 --warmup 1", &nodes);
    EXPECT_EQ(nodes.counts[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], 16 + 6 * 20);
    run_injected("SIMGPU_SELFTEST_GRAPH_TRACE=1",
                 "inference --graph --iterations 5 --layers 20 --build 16 --warmup 1", &whole);
    EXPECT_EQ(whole.counts[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], 16);
    EXPECT_EQ(whole.counts[CUPTI_ACTIVITY_KIND_GRAPH_TRACE], 6);
}

static void two_runs_give_the_same_bytes(void)
{
    static const char *const commands[] = {"vecadd --repeat 5", "inference", "inference --graph",
                                           "inference --pageable --streams 3"};
    struct dump first, second, reseeded;

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        run_injected("", commands[i], &first);
        run_injected("", commands[i], &second);
        EXPECT(first.size == second.size && memcmp(first.bytes, second.bytes, first.size) == 0);
    }
    run_injected("SIMGPU_SEED=2", commands[1], &reseeded);
    run_injected("", commands[1], &first);
    EXPECT(first.size == reseeded.size && memcmp(first.bytes, reseeded.bytes, first.size) != 0);
}

static void threads_record_all_their_work(void)
{
    struct dump dump;

    run_injected("", "inference --threads 4 --iterations 5 --build 0 --warmup 0", &dump);
    EXPECT_EQ(dump.counts[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], 4 * 5 * 20);
    EXPECT_EQ(dump.counts[CUPTI_ACTIVITY_KIND_MEMCPY], 4 * 5 * 2);
}

static void a_missing_injection_library_is_ignored(void)
{
    char output[80];

    run("CUDA_INJECTION64_PATH=/nowhere/lib.so", "vecadd", output, sizeof(output));
    EXPECT(strcmp(output, "vecadd: PASSED\n") == 0);
}

const struct selftest sample_tests[] = {
    {"vecadd passes", vecadd_passes, NULL},
    {"inference computes the same in every mode", inference_computes_the_same_in_every_mode, NULL},
    {"inference is recorded completely", inference_is_recorded_completely, NULL},
    {"only launches are recorded on request", only_launches_are_recorded_on_request, NULL},
    {"graphs are recorded whole on request", graphs_are_recorded_whole_on_request, NULL},
    {"two runs give the same bytes", two_runs_give_the_same_bytes, NULL},
    {"threads record all their work", threads_record_all_their_work, NULL},
    {"a missing injection library is ignored", a_missing_injection_library_is_ignored, NULL},
    {0}};
