/* Writes the 2,000 traces of a fleet into FOLDER/JOB/: make_fleet FOLDER. What the tests expect of
 * them is computed by hand from this page. Times in us; all steps of a trace are the same unless
 * the page says otherwise.
 *
 *     job      hosts x ranks            a step
 *     vision   v00 to v07 x 8           2000 of host code, 8 x (gemm 60, layer_norm 20), all-reduce
 *     llm      m00 to m07 x 8           24 x (gemm 80, layer_norm 20), all-reduce
 *     chat     c00 to c08 x 4           8 x gemm 150, and its result is copied back
 *     search   s00 to s08 x 4           60 x gather 2, launched by calls of 6 each
 *
 * 10 days from Monday, 2 November 2026, 12 steps a trace. Driver 12080, and 13000 from 7 November
 * on. An all-reduce takes 40 after the slowest rank of the job has arrived. NCCL tells of its call;
 * each day has a communicator of its own.
 *
 * Planted:
 *     a slow host             v05: its kernels take 1.3 times as long
 *     a regression            layer_norm takes 25 instead of 20 with driver 13000
 *     idle by a known cause   vision: the host's 2000 at the beginning of each step
 *     CUDA graphs             search: 60 launches of 6 for kernels of 2
 *     a straggler             llm, rank 11 (host m01): its kernels take 1.4 times as long on 5, 6,
 *                             8, 9 and 10 November
 *     P99                     chat: from 9 November on one step of each trace has gemms of 600
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "trace/writer.h"

enum { DAYS = 10, STEPS = 12, FIRST_SPIKE = 7, NEW_DRIVER = 5, SLOW_RANK = 11 };

#define US           UINT64_C(1000)       /* ns */
#define FIRST_DAY    UINT64_C(1793577600) /* 2 November 2026, 0:00 UTC */
#define CLOCK_BEGINS UINT64_C(1000000)

enum name {
    LAUNCH = 1,
    COPY,
    SYNCHRONIZE,
    STEP,
    GPU,
    FUNCTION,
    TYPE,
    GEMM,
    LAYER_NORM,
    GATHER,
    ALL_REDUCE
};
static const char *const names[] = {
    [LAUNCH] = "cudaLaunchKernel_v7000",
    [COPY] = "cudaMemcpyAsync_v3020",
    [SYNCHRONIZE] = "cudaStreamSynchronize_v3020",
    [STEP] = "step",
    [GPU] = "NVIDIA H200",
    [FUNCTION] = "AllReduce",
    [TYPE] = "Bfloat16",
    [GEMM] = "gemm_bf16_128x128",
    [LAYER_NORM] = "layer_norm",
    [GATHER] = "gather",
    [ALL_REDUCE] = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
};

static const struct job {
    const char *name;
    char host; /* first letter of its hosts */
    unsigned hosts, ranks_of_host;
    unsigned layers, gemm, layer_norm, gather; /* us each; 0: none */
    unsigned host_code, call;                  /* us */
    bool reduces, copies;
} jobs[] = {
    {"vision", 'v', 8, 8, 8, 60, 20, 0, 2000, 3, true, false},
    {"llm", 'm', 8, 8, 24, 80, 20, 0, 20, 3, true, false},
    {"chat", 'c', 9, 4, 8, 150, 0, 0, 20, 3, false, true},
    {"search", 's', 9, 4, 60, 0, 0, 2, 20, 6, false, false},
};

struct run {
    const struct job *job;
    unsigned day, rank;
    struct mp_writer *writer;
    uint64_t host, device; /* ns: where both are */
    uint64_t correlation;
    uint64_t reduces; /* so far */
};

/* ---- What is planted ---- */

/* In tenths. */
static unsigned slowness(const struct job *job, unsigned day, unsigned rank)
{
    if (job->host == 'v' && rank / job->ranks_of_host == 5)
        return 13;
    if (job->host == 'm' && rank == SLOW_RANK && day >= 3 && day <= 8 && day != 5)
        return 14;
    return 10;
}

static unsigned layer_norm(const struct job *job, unsigned day)
{
    return job->layer_norm && day >= NEW_DRIVER ? 25 : job->layer_norm;
}

/* ns until the rank arrives at the all-reduce. */
static uint64_t own_time(const struct job *job, unsigned day, unsigned rank)
{
    return (uint64_t)job->layers * (job->gemm + layer_norm(job, day)) * slowness(job, day, rank) *
           (US / 10);
}

static uint64_t reduce_time(const struct run *run)
{
    uint64_t slowest = 0;

    for (unsigned rank = 0; rank < run->job->hosts * run->job->ranks_of_host; rank++) {
        uint64_t time = own_time(run->job, run->day, rank);

        slowest = time > slowest ? time : slowest;
    }
    return slowest - own_time(run->job, run->day, run->rank) + 40 * US;
}

/* ---- Rows ---- */

static void define(struct mp_writer *writer)
{
    for (uint64_t id = LAUNCH; id <= ALL_REDUCE; id++)
        mp_append_string(writer,
                         &(struct mp_row_string){id, {names[id], (uint32_t)strlen(names[id])}});
    for (uint64_t id = LAUNCH; id <= SYNCHRONIZE; id++)
        mp_append_function(writer, &(struct mp_row_function){id, MP_api_runtime, 210 + id, id});
    for (uint64_t id = GEMM; id <= ALL_REDUCE; id++)
        mp_append_shape(writer, &(struct mp_row_shape){.id = id,
                                                       .kernel = id,
                                                       .grid_x = 132,
                                                       .grid_y = 1,
                                                       .grid_z = 1,
                                                       .block_x = 256,
                                                       .block_y = 1,
                                                       .block_z = 1,
                                                       .registers = 64});
    mp_append_thread(writer, &(struct mp_row_thread){.id = 1, .tid = 4711});
    mp_append_device(writer, &(struct mp_row_device){.id = 0, .name = GPU});
    mp_append_stream(writer,
                     &(struct mp_row_stream){.id = 1, .stream = 7, .context = 1, .device = 0});
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

/* When work that was launched now begins. */
static uint64_t ready(const struct run *run)
{
    return (run->device > run->host ? run->device : run->host) + US;
}

static void kernel(struct run *run, enum name name, uint64_t duration)
{
    uint64_t start;

    call(run, LAUNCH, run->job->call * US);
    start = ready(run);
    mp_append_kernel(run->writer, &(struct mp_row_kernel){.stream = 1,
                                                          .shape = name,
                                                          .start = start,
                                                          .duration = duration,
                                                          .correlation = run->correlation});
    run->device = start + duration;
}

static void join_communicator(struct run *run)
{
    const struct job *job = run->job;

    mp_append_communicator(run->writer, &(struct mp_row_communicator){
                                            .id = 1,
                                            .hash = (uint64_t)job->host << 32 | run->day,
                                            .ranks = (uint64_t)job->hosts * job->ranks_of_host,
                                            .rank = run->rank});
}

static void all_reduce(struct run *run)
{
    uint64_t start = run->host;

    kernel(run, ALL_REDUCE, reduce_time(run));
    run->reduces++;
    mp_append_collective(run->writer,
                         &(struct mp_row_collective){.thread = 1,
                                                     .function = FUNCTION,
                                                     .communicator = 1,
                                                     .source = MP_collective_source_plugin,
                                                     .number = run->reduces,
                                                     .sequence = run->reduces,
                                                     .datatype = TYPE,
                                                     .bytes = 65536,
                                                     .peer = UINT32_MAX,
                                                     .start = start,
                                                     .duration = run->host - start,
                                                     .correlation = run->correlation});
}

static void copy_back(struct run *run)
{
    uint64_t start;

    call(run, COPY, 4 * US);
    start = ready(run);
    mp_append_copy(run->writer, &(struct mp_row_copy){.stream = 1,
                                                      .kind = MP_copy_kind_DtoH,
                                                      .source = MP_memory_kind_device,
                                                      .target = MP_memory_kind_pinned,
                                                      .bytes = 4096,
                                                      .start = start,
                                                      .duration = 2 * US,
                                                      .correlation = run->correlation,
                                                      .count = 1});
    run->device = start + 2 * US;
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

static void step(struct run *run, unsigned number)
{
    const struct job *job = run->job;
    uint64_t slow = slowness(job, run->day, run->rank) * (US / 10);
    bool spike = job->host == 'c' && run->day >= FIRST_SPIKE && number == run->rank % STEPS;

    mp_append_nvtx(run->writer,
                   &(struct mp_row_nvtx){
                       .thread = 1, .kind = MP_nvtx_kind_push, .name = STEP, .time = run->host});
    run->host += job->host_code * US;
    for (unsigned i = 0; i < job->layers; i++) {
        if (job->gemm)
            kernel(run, GEMM, (spike ? 600 : job->gemm) * slow);
        if (job->layer_norm)
            kernel(run, LAYER_NORM, layer_norm(job, run->day) * slow);
        if (job->gather)
            kernel(run, GATHER, job->gather * slow);
    }
    if (job->reduces)
        all_reduce(run);
    if (job->copies)
        copy_back(run);
    synchronize(run);
    mp_append_nvtx(run->writer,
                   &(struct mp_row_nvtx){.thread = 1, .kind = MP_nvtx_kind_pop, .time = run->host});
    run->host += US;
}

/* ---- Files ---- */

static bool write_run(struct run *run, const char *folder)
{
    const struct job *job = run->job;
    const struct mp_writer_options options = {.level = 1};
    unsigned host = run->rank / job->ranks_of_host;
    char path[512], header[512];
    int fd;

    snprintf(path, sizeof path, "%s/%s/day%u-rank%u.mpt", folder, job->name, run->day, run->rank);
    snprintf(header, sizeof header,
             "miniprof=make_fleet 1\npid=%u\nexecutable=/opt/%s\nhostname=%c%02u\nrank=%u\n"
             "driver_version=%d\ncupti_version=26\nclock=monotonic\nstart_clock_ns=%" PRIu64
             "\nstart_realtime_ns=%" PRIu64 "\n",
             1000 + run->rank, job->name, job->host, host, run->rank,
             run->day >= NEW_DRIVER ? 13000 : 12080, CLOCK_BEGINS,
             (FIRST_DAY + run->day * UINT64_C(86400) + UINT64_C(28800)) * 1000000000);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || mp_writer_open(fd, header, &options, &run->writer, NULL) != MP_OK)
        return false;
    define(run->writer);
    if (run->job->reduces)
        join_communicator(run);
    run->host = run->device = CLOCK_BEGINS + 1000 * US;
    for (unsigned i = 0; i < STEPS; i++)
        step(run, i);
    return mp_writer_close(run->writer, NULL) == MP_OK;
}

static bool write_job(const struct job *job, const char *folder)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", folder, job->name);
    mkdir(path, 0777);
    for (unsigned day = 0; day < DAYS; day++) {
        for (unsigned rank = 0; rank < job->hosts * job->ranks_of_host; rank++) {
            if (!write_run(&(struct run){.job = job, .day = day, .rank = rank}, folder))
                return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_fleet FOLDER\n");
        return 2;
    }
    mkdir(argv[1], 0777);
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        if (!write_job(&jobs[i], argv[1])) {
            fprintf(stderr, "make_fleet: cannot write into '%s'\n", argv[1]);
            return 1;
        }
    }
    return 0;
}
