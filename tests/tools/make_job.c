/* Writes the traces of a job whose ranks all-reduce: make_job FOLDER RANKS COLLECTIVES [KERNELS].
 *
 *     a layer           KERNELS kernels (10) of 5 us, an all-reduce, a synchronisation
 *     a step            10 layers
 *     hosts             8 ranks each, whose clocks agree
 *     the last rank     of collective i (from 0): i * 7 % RANKS, by 200 us of host code in "step"
 *                       before the first kernel; else nobody is late by more than 64 ns
 *     an all-reduce     ends on all ranks 20 us after the last one has begun
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/hash.h"
#include "trace/writer.h"

#define US       UINT64_C(1000)
#define BEGIN    UINT64_C(1000000)
#define LATE     (200 * US)
#define TRANSFER (20 * US)
#define KERNEL   (5 * US)
#define CALL     (2 * US)
#define REALTIME UINT64_C(1793577600000000000)

enum { PER_STEP = 10, RANKS_OF_HOST = 8 };
enum name { LAUNCH = 1, SYNCHRONIZE, STEP, SPIN, NCCL, ALL_REDUCE, GPU };
static const char *const names[] = {[LAUNCH] = "cudaLaunchKernel_v7000",
                                    [SYNCHRONIZE] = "cudaStreamSynchronize_v3020",
                                    [STEP] = "step",
                                    [SPIN] = "spin",
                                    [NCCL] = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                                    [ALL_REDUCE] = "AllReduce",
                                    [GPU] = "NVIDIA H200"};

struct job {
    const char *folder;
    uint64_t ranks, collectives, kernels;
};

struct run {
    const struct job *job;
    uint64_t rank;
    struct mp_writer *writer;
    uint64_t host, device; /* ns: where both are */
    uint64_t correlation;
};

static uint64_t noise(uint64_t rank, uint64_t i)
{
    return mp_mix64(rank << 32 | i) & 63;
}

static uint64_t last_rank(const struct job *job, uint64_t i)
{
    return i * 7 % job->ranks;
}

static void define(const struct run *run)
{
    struct mp_writer *writer = run->writer;

    for (uint64_t id = LAUNCH; id <= GPU; id++)
        mp_append_string(writer,
                         &(struct mp_row_string){id, {names[id], (uint32_t)strlen(names[id])}});
    for (uint64_t id = LAUNCH; id <= SYNCHRONIZE; id++)
        mp_append_function(writer, &(struct mp_row_function){id, MP_api_runtime, 210 + id, id});
    for (uint64_t id = SPIN; id <= NCCL; id++)
        mp_append_shape(writer, &(struct mp_row_shape){.id = id, .kernel = id, .grid_x = 16});
    mp_append_thread(writer, &(struct mp_row_thread){.id = 1, .tid = 4711});
    mp_append_device(writer, &(struct mp_row_device){.id = 0, .name = GPU});
    mp_append_stream(writer, &(struct mp_row_stream){.id = 1, .stream = 7, .context = 1});
    mp_append_communicator(
        writer, &(struct mp_row_communicator){
                    .id = 1, .hash = 0xabcdef, .ranks = run->job->ranks, .rank = run->rank});
}

static void call(struct run *run, enum name function, uint64_t duration)
{
    mp_append_call(run->writer, &(struct mp_row_call){.thread = 1,
                                                      .function = function,
                                                      .start = run->host,
                                                      .duration = duration,
                                                      .correlation = ++run->correlation});
    run->host += duration;
}

static uint64_t ready(const struct run *run)
{
    return (run->device > run->host ? run->device : run->host) + US;
}

static void put_kernel(struct run *run, enum name name, uint64_t start, uint64_t end)
{
    mp_append_kernel(run->writer, &(struct mp_row_kernel){.stream = 1,
                                                          .shape = name,
                                                          .start = start,
                                                          .duration = end - start,
                                                          .correlation = run->correlation});
    run->device = end;
}

static void spin(struct run *run, uint64_t duration)
{
    uint64_t start;

    call(run, LAUNCH, CALL);
    start = ready(run);
    put_kernel(run, SPIN, start, start + duration);
}

/* All ranks are alike but for the noise and the host code, so each knows when the last one comes:
 * it begins as this one would, had that been late in its place. */
static void all_reduce(struct run *run, uint64_t i, uint64_t on_time)
{
    const struct job *job = run->job;
    uint64_t start, last;

    mp_append_collective(run->writer,
                         &(struct mp_row_collective){.thread = 1,
                                                     .function = ALL_REDUCE,
                                                     .communicator = 1,
                                                     .source = MP_collective_source_nvtx,
                                                     .number = i + 1,
                                                     .bytes = 1 << 20,
                                                     .peer = UINT32_MAX,
                                                     .start = run->host,
                                                     .duration = CALL,
                                                     .correlation = run->correlation + 1});
    call(run, LAUNCH, CALL);
    start = ready(run);
    last = on_time + LATE + noise(last_rank(job, i), i);
    put_kernel(run, NCCL, start, last + TRANSFER);
}

static void synchronize(struct run *run)
{
    uint64_t start = run->host;

    call(run, SYNCHRONIZE, run->device + 2 * US - start);
    mp_append_sync(run->writer, &(struct mp_row_sync){.kind = MP_sync_kind_stream_synchronize,
                                                      .thread = 1,
                                                      .context = 1,
                                                      .stream = 7,
                                                      .start = start,
                                                      .duration = run->host - start,
                                                      .correlation = run->correlation});
}

/* The host waits for each all-reduce, so that all ranks begin the next one together. */
static void layer(struct run *run, uint64_t i)
{
    const struct job *job = run->job;
    uint64_t on_time = run->host + CALL + US + job->kernels * (KERNEL + US);

    if (last_rank(job, i) == run->rank)
        run->host += LATE;
    for (uint64_t k = 0; k < job->kernels; k++)
        spin(run, KERNEL + (k ? 0 : noise(run->rank, i)));
    all_reduce(run, i, on_time);
    synchronize(run);
}

static bool write_run(struct run *run)
{
    const struct mp_writer_options options = {.level = 1};
    char path[512], header[512];
    int fd;

    snprintf(path, sizeof path, "%s/rank%" PRIu64 ".mpt", run->job->folder, run->rank);
    snprintf(header, sizeof header,
             "miniprof=make_job 1\npid=%" PRIu64 "\nexecutable=/opt/job\nhostname=h%03" PRIu64
             "\nrank=%" PRIu64 "\nclock=monotonic\nstart_clock_ns=%" PRIu64
             "\nstart_realtime_ns=%" PRIu64 "\n",
             1000 + run->rank, run->rank / RANKS_OF_HOST, run->rank, BEGIN, REALTIME);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || mp_writer_open(fd, header, &options, &run->writer, NULL) != MP_OK)
        return false;
    define(run);
    run->host = run->device = BEGIN + 1000 * US;
    for (uint64_t i = 0; i < run->job->collectives; i++) {
        if (i % PER_STEP == 0)
            mp_append_nvtx(run->writer, &(struct mp_row_nvtx){.thread = 1,
                                                              .kind = MP_nvtx_kind_push,
                                                              .name = STEP,
                                                              .time = run->host});
        layer(run, i);
        if (i % PER_STEP == PER_STEP - 1)
            mp_append_nvtx(
                run->writer,
                &(struct mp_row_nvtx){.thread = 1, .kind = MP_nvtx_kind_pop, .time = run->host});
    }
    return mp_writer_close(run->writer, NULL) == MP_OK;
}

int main(int argc, char **argv)
{
    struct job job = {.kernels = 10};

    if (argc < 4) {
        fprintf(stderr, "usage: make_job FOLDER RANKS COLLECTIVES [KERNELS]\n");
        return 2;
    }
    job.folder = argv[1];
    job.ranks = strtoull(argv[2], NULL, 0);
    job.collectives = strtoull(argv[3], NULL, 0);
    if (argc > 4)
        job.kernels = strtoull(argv[4], NULL, 0);
    if (!job.ranks || !job.kernels) {
        fprintf(stderr, "make_job: at least one rank and one kernel\n");
        return 2;
    }
    for (uint64_t rank = 0; rank < job.ranks; rank++) {
        struct run run = {.job = &job, .rank = rank};

        if (!write_run(&run)) {
            fprintf(stderr, "make_job: cannot write to %s\n", job.folder);
            return 1;
        }
    }
    return 0;
}
