/* Writes a trace of many records, as an inference program of many hours would: for `make bench`.
 *
 *     bench_generate RECORDS FILE [syncs|nvtx|memory]
 *
 * One in two records is a kernel, the others are the calls that launched them. Iterations of 230
 * launches with 70 shapes on two streams; times are noise around each position's usual ones, about
 * as wide as measured on an H100. With `syncs`, every tenth launch is followed by an event that the
 * other stream waits for, and every iteration ends with cudaStreamSynchronize; RECORDS then counts
 * kernels and calls as far as they launch. With `nvtx`, every iteration is a range, and every ten
 * launches in it are one of 23 more; RECORDS counts kernels and calls. With `memory` there are
 * allocations and frees in such ranges instead, of which 50000 live at a time; RECORDS counts rows
 * of memory, each with a call.
 */
#include "trace/writer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

#define LAUNCHES 230
#define SHAPES   70

static uint64_t random_state = 88172645463325252u;

static uint64_t random_bits(void) /* xorshift64: the same numbers in every run */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* About normally distributed, standard deviation 1/2: the sum of three uniform numbers. */
static double noise(void)
{
    uint64_t bits = random_bits();
    return (double)((bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF)) / 65536 - 1.5;
}

enum { LAUNCH = 1, RECORD, WAIT, SYNCHRONIZE };
static const char *const function_names[] = {
    [LAUNCH] = "cudaLaunchKernel_v7000",
    [RECORD] = "cudaEventRecord_v3020",
    [WAIT] = "cudaStreamWaitEvent_v3020",
    [SYNCHRONIZE] = "cudaStreamSynchronize_v3020",
};
static const uint64_t stream_ids[2] = {7, 13}; /* CUPTI's */

static void define(struct mp_writer *writer)
{
    char name[64];
    for (uint64_t i = 1; i <= SHAPES; i++) {
        int length = snprintf(name, sizeof name, "_Z%dkernel_%02dPfi", 9, (int)i);
        mp_append_string(writer, &(struct mp_row_string){i, {name, (uint32_t)length}});
        mp_append_shape(writer, &(struct mp_row_shape){.id = i,
                                                       .kernel = i,
                                                       .grid_x = 100 + i,
                                                       .grid_y = 1,
                                                       .grid_z = 1,
                                                       .block_x = 256,
                                                       .block_y = 1,
                                                       .block_z = 1,
                                                       .registers = 32});
    }
    for (uint64_t i = LAUNCH; i <= SYNCHRONIZE; i++) {
        const char *call = function_names[i];
        mp_append_string(writer,
                         &(struct mp_row_string){SHAPES + i, {call, (uint32_t)strlen(call)}});
        mp_append_function(writer,
                           &(struct mp_row_function){i, MP_api_runtime, 210 + i, SHAPES + i});
    }
    mp_append_thread(writer, &(struct mp_row_thread){.id = 1, .tid = 4711});
    mp_append_stream(writer, &(struct mp_row_stream){1, stream_ids[0], 1, 0});
    mp_append_stream(writer, &(struct mp_row_stream){2, stream_ids[1], 1, 0});
}

/* The program as it goes along. */
struct program {
    struct mp_writer *writer;
    uint64_t host; /* ns */
    uint64_t device[2];
    uint64_t correlation;
};

static void call(struct program *program, uint64_t function, uint64_t duration)
{
    mp_append_call(program->writer, &(struct mp_row_call){.thread = 1,
                                                          .function = function,
                                                          .start = program->host,
                                                          .duration = duration,
                                                          .correlation = program->correlation});
    program->host += duration;
}

/* A call that makes or awaits a dependency, 600 ns long or until `until`. */
static void sync_call(struct program *program, uint64_t function, uint64_t kind, unsigned stream,
                      uint64_t until)
{
    uint64_t start = program->host;
    uint64_t end = until > start + 600 ? until : start + 600;

    program->correlation++;
    call(program, function, end - start);
    mp_append_sync(program->writer, &(struct mp_row_sync){
                                        .thread = 1,
                                        .kind = kind,
                                        .context = 1,
                                        .stream = stream_ids[stream],
                                        .event = kind == MP_sync_kind_stream_synchronize ? 0 : 4096,
                                        .start = start + 50,
                                        .duration = end - start - 100,
                                        .correlation = program->correlation});
}

static void add_syncs(struct program *program, unsigned position, unsigned stream)
{
    if (position % 10 == 9) {
        sync_call(program, RECORD, MP_sync_kind_event_record, stream, 0);
        sync_call(program, WAIT, MP_sync_kind_stream_wait_event, !stream, 0);
        if (program->device[!stream] < program->device[stream])
            program->device[!stream] = program->device[stream];
    }
    if (position == LAUNCHES - 1)
        sync_call(program, SYNCHRONIZE, MP_sync_kind_stream_synchronize, stream,
                  program->device[stream] + 4000);
}

enum { LAYER = 10, LAYERS = LAUNCHES / LAYER, RANGE_STRINGS = SHAPES + SYNCHRONIZE };

static void define_ranges(struct mp_writer *writer)
{
    char name[32];

    for (int i = 0; i <= LAYERS; i++) {
        int length = i ? snprintf(name, sizeof name, "layer %d", i)
                       : snprintf(name, sizeof name, "iteration");
        uint64_t id = RANGE_STRINGS + 1 + (uint64_t)i;
        mp_append_string(writer, &(struct mp_row_string){id, {name, (uint32_t)length}});
    }
}

/* A push of a layer, or of the iteration for 0. */
static void push(struct program *program, unsigned layer)
{
    mp_append_nvtx(program->writer, &(struct mp_row_nvtx){.thread = 1,
                                                          .kind = MP_nvtx_kind_push,
                                                          .name = RANGE_STRINGS + 1 + layer,
                                                          .time = program->host += 100});
}

static void pop(struct program *program)
{
    mp_append_nvtx(
        program->writer,
        &(struct mp_row_nvtx){.thread = 1, .kind = MP_nvtx_kind_pop, .time = program->host += 100});
}

static void begin_ranges(struct program *program, unsigned position)
{
    if (position % LAYER)
        return;
    if (!position)
        push(program, 0);
    push(program, 1 + position / LAYER);
}

static void end_ranges(struct program *program, unsigned position)
{
    if (position % LAYER == LAYER - 1)
        pop(program);
    if (position == LAUNCHES - 1)
        pop(program);
}

enum { LIVING = 50000 };

/* Allocations of some sizes, each freed LIVING ones later. */
static void generate_memory(struct mp_writer *writer, uint64_t records)
{
    struct program program = {writer, 1000000000, {0, 0}, 0};

    for (uint64_t i = 0; i < records; i++) {
        unsigned position = (unsigned)(i % LAUNCHES);
        bool release = i >= LIVING && i % 2;
        uint64_t number = release ? i - LIVING + LIVING % 2 : i;

        program.host += 1500 + (uint64_t)(300 + noise() * 150);
        program.correlation++;
        begin_ranges(&program, position);
        call(&program, release ? RECORD : LAUNCH, 2500 + (uint64_t)(400 + noise() * 250));
        mp_append_memory(writer, &(struct mp_row_memory){
                                     .operation = release ? MP_memory_operation_release
                                                          : MP_memory_operation_allocate,
                                     .kind = MP_memory_kind_device,
                                     .context = 1,
                                     .bytes = 4096 << number % 7,
                                     .address = 0x7f0000000000 + 4096 * (number - number % 2),
                                     .time = program.host - 100,
                                     .correlation = program.correlation});
        end_ranges(&program, position);
    }
}

static void generate(struct mp_writer *writer, uint64_t records, bool syncs, bool ranges)
{
    struct program program = {writer, 1000000000, {1000000000, 1000000000}, 0};
    for (uint64_t i = 0; i < records / 2; i++) {
        unsigned position = (unsigned)(i % LAUNCHES);
        unsigned stream = position % 5 == 4;
        uint64_t shape = 1 + position * 7 % SHAPES;
        program.host += 1500 + (uint64_t)(position % 5 * 200) + (uint64_t)(300 + noise() * 150);
        program.correlation++;
        if (ranges)
            begin_ranges(&program, position);
        call(&program, LAUNCH, 2500 + (uint64_t)(400 + noise() * 250));
        uint64_t *device = &program.device[stream];
        uint64_t ready = *device > program.host ? *device : program.host;
        uint64_t start = (ready + 640 + (uint64_t)(100 + noise() * 60)) & ~(uint64_t)31;
        uint64_t duration = 32 * (40 + shape * 2 + (uint64_t)(4 + noise() * 3));
        mp_append_kernel(writer, &(struct mp_row_kernel){.stream = stream + 1,
                                                         .shape = shape,
                                                         .start = start,
                                                         .duration = duration,
                                                         .correlation = program.correlation});
        *device = start + duration;
        if (syncs)
            add_syncs(&program, position, stream);
        if (ranges)
            end_ranges(&program, position);
    }
}

int main(int argc, char **argv)
{
    bool syncs = argc == 4 && !strcmp(argv[3], "syncs");
    bool ranges = argc == 4 && !strcmp(argv[3], "nvtx");
    bool memory = argc == 4 && !strcmp(argv[3], "memory");
    if (argc != 3 && !syncs && !ranges && !memory) {
        fprintf(stderr, "usage: bench_generate RECORDS FILE [syncs|nvtx|memory]\n");
        return 2;
    }
    struct mp_writer_options options = {.level = 1};
    struct mp_writer *writer;
    struct mp_error error = {0};
    int fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || mp_writer_open(fd, "pid=1\nexecutable=bench\ncupti_version=130001\n", &options,
                                 &writer, &error)) {
        fprintf(stderr, "bench_generate: cannot write %s: %s\n", argv[2], error.text);
        return 1;
    }
    define(writer);
    if (ranges || memory)
        define_ranges(writer);
    if (memory)
        generate_memory(writer, strtoull(argv[1], NULL, 10));
    else
        generate(writer, strtoull(argv[1], NULL, 10), syncs, ranges);
    if (mp_writer_close(writer, &error) != MP_OK) {
        fprintf(stderr, "bench_generate: %s\n", error.text);
        return 1;
    }
    return 0;
}
