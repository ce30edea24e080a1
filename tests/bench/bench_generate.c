/* Writes a trace of many records, as an inference program of many hours would: for `make bench`.
 *
 *     bench_generate RECORDS FILE
 *
 * One in two records is a kernel, the others are the calls that launched them. Iterations of 230
 * launches with 70 shapes on two streams; times are noise around each position's usual ones, about
 * as wide as measured on an H100.
 */
#include "trace/writer.h"

#include <fcntl.h>
#include <inttypes.h>
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
    const char *call = "cudaLaunchKernel_v7000";
    mp_append_string(writer, &(struct mp_row_string){SHAPES + 1, {call, (uint32_t)strlen(call)}});
    mp_append_function(writer, &(struct mp_row_function){1, MP_api_runtime, 211, SHAPES + 1});
    mp_append_thread(writer, &(struct mp_row_thread){.id = 1, .tid = 4711});
    mp_append_stream(writer, &(struct mp_row_stream){1, 7, 1, 0});
    mp_append_stream(writer, &(struct mp_row_stream){2, 13, 1, 0});
}

static void generate(struct mp_writer *writer, uint64_t records)
{
    uint64_t host = 1000000000, device[2] = {host, host};
    for (uint64_t i = 0; i < records / 2; i++) {
        unsigned position = (unsigned)(i % LAUNCHES);
        unsigned stream = position % 5 == 4;
        uint64_t shape = 1 + position * 7 % SHAPES;
        host += 1500 + (uint64_t)(position % 5 * 200) + (uint64_t)(300 + noise() * 150);
        uint64_t call = 2500 + (uint64_t)(400 + noise() * 250);
        mp_append_call(
            writer,
            &(struct mp_row_call){
                .thread = 1, .function = 1, .start = host, .duration = call, .correlation = i + 1});
        host += call;
        uint64_t ready = device[stream] > host ? device[stream] : host;
        uint64_t start = (ready + 640 + (uint64_t)(100 + noise() * 60)) & ~(uint64_t)31;
        uint64_t duration = 32 * (40 + shape * 2 + (uint64_t)(4 + noise() * 3));
        mp_append_kernel(writer, &(struct mp_row_kernel){.stream = stream + 1,
                                                         .shape = shape,
                                                         .start = start,
                                                         .duration = duration,
                                                         .correlation = i + 1});
        device[stream] = start + duration;
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: bench_generate RECORDS FILE\n");
        return 2;
    }
    struct mp_writer_options options = {.level = 1};
    struct mp_writer *writer;
    struct mp_error error = {0};
    int fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || mp_writer_open(fd, "pid=1\nexecutable=bench\n", &options, &writer, &error)) {
        fprintf(stderr, "bench_generate: cannot write %s: %s\n", argv[2], error.text);
        return 1;
    }
    define(writer);
    generate(writer, strtoull(argv[1], NULL, 10));
    if (mp_writer_close(writer, &error) != MP_OK) {
        fprintf(stderr, "bench_generate: %s\n", error.text);
        return 1;
    }
    return 0;
}
