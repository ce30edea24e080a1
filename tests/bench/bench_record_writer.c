/* How fast CUPTI's records become bytes in the file, on one core: the writer thread's whole work.
 *
 *     bench_record_writer [ROUNDS]
 *
 * Buffers as CUPTI fills them (1 MiB, records of CUDA 13.0 in their real layout, half kernels, half
 * runtime calls, as a PyTorch program makes them) go through decode_buffer and the trace writer to
 * a file; the processor time of that is divided by the records. With libcupti at hand its own
 * cuptiActivityGetNextRecord does the stepping, otherwise a stand-in of a few instructions.
 */
#include "record/rows/decode.h"
#include "trace/writer.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/poison.h"

#define BUFFERS      64u
#define BUFFER_BYTES ((size_t)1 << 20)
#define LAUNCHES     230
#define NAMES        70
#define KERNEL_BYTES 216 /* CUpti_ActivityKernel10 */
#define CALL_BYTES   40

struct stage {
    uint8_t *memory; /* BUFFERS buffers behind each other */
    size_t valid[BUFFERS];
    uint64_t records;
    char names[NAMES][160];
};

static uint64_t random_state = 88172645463325252u;

static uint64_t random_below(uint64_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % bound;
}

/* Sum of two uniform numbers: a triangle of that width. */
static uint64_t noise(uint64_t width)
{
    return random_below(width / 2) + random_below(width / 2);
}

static CUptiResult next_record(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    uint8_t *at = (uint8_t *)(void *)*record;
    if (!at)
        at = buffer;
    else
        at += ((struct record_any *)(void *)at)->kind == CUPTI_ACTIVITY_KIND_RUNTIME ? CALL_BYTES
                                                                                     : KERNEL_BYTES;
    if (at >= buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(void *)at;
    return CUPTI_SUCCESS;
}

static size_t put_call(uint8_t *at, uint64_t *host, uint32_t correlation, unsigned position)
{
    *host += 1500 + position % 5 * 200 + noise(300);
    struct record_call call = {.kind = CUPTI_ACTIVITY_KIND_RUNTIME,
                               .cbid = 211, /* cudaLaunchKernel */
                               .start = *host,
                               .end = *host + 2500 + noise(500),
                               .process = 4711,
                               .thread = 4711,
                               .correlation = correlation};
    memcpy(at, &call, sizeof call);
    *host = call.end;
    return CALL_BYTES;
}

static size_t put_kernel(uint8_t *at, const struct stage *stage, uint64_t *device, uint64_t host,
                         uint32_t correlation, unsigned position)
{
    unsigned shape = position * 7 % NAMES;
    uint64_t ready = *device > host ? *device : host;
    uint64_t start = (ready + 640 + noise(200)) & ~(uint64_t)31;
    struct record_kernel kernel = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                   .registers = 32,
                                   .start = start,
                                   .end = start + 32 * (40 + shape * 2 + noise(8)),
                                   .context = 1,
                                   .stream = 7,
                                   .grid = {100 + (int)shape, 1, 1},
                                   .block = {256, 1, 1},
                                   .correlation = correlation,
                                   .name = stage->names[shape]};
    memset(at, 0, KERNEL_BYTES);
    memcpy(at, &kernel, sizeof kernel < KERNEL_BYTES ? sizeof kernel : KERNEL_BYTES);
    *device = kernel.end;
    return KERNEL_BYTES;
}

/* Calls and kernels come in buffers of their own thread's: the ratio within a buffer does not
 * matter. */
static void fill(struct stage *stage)
{
    uint64_t host = 1000000000, device = host;
    uint32_t correlation = 0;
    for (unsigned i = 0; i < NAMES; i++)
        snprintf(
            stage->names[i], sizeof stage->names[i],
            "_ZN2at6native29vectorized_elementwise_kernelILi%uENS0_15CUDAFunctor_addIfEESt5array"
            "IPcLm3EEEEviT0_T1_",
            i);
    for (unsigned b = 0; b < BUFFERS; b++) {
        uint8_t *buffer = stage->memory + b * BUFFER_BYTES;
        size_t at = 0;
        while (at + KERNEL_BYTES + CALL_BYTES <= BUFFER_BYTES) {
            unsigned position = correlation++ % LAUNCHES;
            at += put_call(buffer + at, &host, correlation, position);
            at += put_kernel(buffer + at, stage, &device, host, correlation, position);
            stage->records += 2;
        }
        stage->valid[b] = at;
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct mp_writer *open_writer(void)
{
    char path[] = "/tmp/bench_writer.XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    struct mp_writer_options options = {.level = 1};
    struct mp_writer *writer = NULL;
    if (fd < 0 || mp_writer_open(fd, "pid=1\n", &options, &writer, NULL) != MP_OK)
        exit(1);
    return writer;
}

/* One pass over all buffers; returns ns of processor time for each record. */
static double run(struct stage *stage, struct decoder *decoder, struct mp_writer *writer)
{
    double begin = seconds();
    for (unsigned b = 0; b < BUFFERS; b++)
        decode_buffer(decoder, stage->memory + b * BUFFER_BYTES, stage->valid[b]);
    mp_writer_flush(writer);
    return (seconds() - begin) * 1e9 / (double)stage->records;
}

static int by_value(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 9;
    static struct stage stage;
    static struct api_set api;
    static struct capture capture;
    static struct dictionary dictionary;
    static struct decoder decoder;
    static struct cupti_api cupti = {.version = 130001, .next_record = next_record};
    double ns[64];
    void *library = dlopen("libcupti.so.13", RTLD_NOW);
    void *symbol = library ? dlsym(library, "cuptiActivityGetNextRecord") : NULL;
    if (symbol)
        memcpy(&cupti.next_record, &symbol, sizeof symbol);
    if (posix_memalign((void **)&stage.memory, 64, BUFFERS * BUFFER_BYTES))
        return 1;
    fill(&stage);
    api.flags[MP_api_runtime][211] = API_RECORD;
    api.names[MP_api_runtime][211] = "cudaLaunchKernel_v7000";
    for (unsigned i = 0; i < rounds && i < 64; i++) {
        struct mp_writer *writer = open_writer();
        capture_open(&capture, MP_CAPTURE_ALL, true);
        if (dictionary_open(&dictionary, writer, &api) != MP_OK)
            return 1;
        decoder_open(&decoder, &cupti, &api, &capture, &dictionary, writer);
        ns[i] = run(&stage, &decoder, writer);
        struct mp_writer_totals totals;
        mp_writer_totals(writer, &totals);
        if (i == 0)
            printf("records %llu, file %llu bytes, %.2f bytes a record, stepping by %s\n",
                   (unsigned long long)totals.event_rows, (unsigned long long)totals.bytes,
                   (double)totals.bytes / (double)totals.event_rows,
                   symbol ? "libcupti" : "a stand-in");
        decoder_close(&decoder);
        dictionary_close(&dictionary);
        mp_writer_close(writer, NULL);
    }
    qsort(ns, rounds, sizeof *ns, by_value);
    printf("writer path: median %.1f ns a record = %.1f million records/s (%.1f to %.1f over %u"
           " rounds)\n",
           ns[rounds / 2], 1e3 / ns[rounds / 2], 1e3 / ns[rounds - 1], 1e3 / ns[0], rounds);
    return 0;
}
