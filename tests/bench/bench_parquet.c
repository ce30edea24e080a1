/* Writes a Parquet file of so many rows, as a table of kernels has them: for parquet.sh.
 *
 *     bench_parquet ROWS LEVEL FILE    prints "SECONDS MIB BYTES": of the processor, peak memory,
 * file
 *
 * Iterations of 230 launches with 70 shapes on two streams, as bench_generate's; durations are
 * noise around each position's usual ones.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/text/strings.h"
#include "export/parquet/parquet.h"

#include "base/poison.h"

#define LAUNCHES   230
#define SHAPES     70
#define NAME_BYTES 96

enum {
    START,
    DURATION,
    DEVICE,
    CONTEXT,
    STREAM,
    CORRELATION,
    NAME,
    GRID_X,
    GRID_Y,
    BLOCK_X,
    REGISTERS,
    SHARED,
    ITERATION,
    ON_PATH,
    SLACK
};

static const struct parquet_column columns[] = {
    [START] = {"start_ns", PARQUET_INT64, PARQUET_TIME},
    [DURATION] = {"dur_ns", PARQUET_INT64, 0},
    [DEVICE] = {"device", PARQUET_INT32, 0},
    [CONTEXT] = {"context", PARQUET_INT32, 0},
    [STREAM] = {"stream", PARQUET_INT32, 0},
    [CORRELATION] = {"correlation", PARQUET_INT64, 0},
    [NAME] = {"name", PARQUET_STRING, 0},
    [GRID_X] = {"grid_x", PARQUET_INT32, 0},
    [GRID_Y] = {"grid_y", PARQUET_INT32, 0},
    [BLOCK_X] = {"block_x", PARQUET_INT32, 0},
    [REGISTERS] = {"registers", PARQUET_INT32, 0},
    [SHARED] = {"smem_dynamic", PARQUET_INT32, 0},
    [ITERATION] = {"iteration", PARQUET_INT32, PARQUET_OPTIONAL},
    [ON_PATH] = {"on_critical_path", PARQUET_BOOL, 0},
    [SLACK] = {"slack_ns", PARQUET_INT64, PARQUET_OPTIONAL},
};

static const struct parquet_table table = {"kernel", columns, sizeof columns / sizeof *columns};

static char names[SHAPES][NAME_BYTES];
static uint64_t random_state = 88172645463325252u;

static uint64_t random_bits(void) /* xorshift64: the same numbers in every run */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void put_place(struct parquet_writer *writer, uint64_t row, int64_t now, int64_t duration)
{
    parquet_put_int(writer, START, now);
    parquet_put_int(writer, DURATION, duration);
    parquet_put_int(writer, DEVICE, 0);
    parquet_put_int(writer, CONTEXT, 1);
    parquet_put_int(writer, STREAM, row % LAUNCHES % 10 ? 7 : 13);
    parquet_put_int(writer, CORRELATION, (int64_t)(1000 + row * 2));
}

static void put_kernel(struct parquet_writer *writer, uint64_t row)
{
    unsigned shape = (unsigned)(row % LAUNCHES * 7 % SHAPES);

    parquet_put_text(writer, NAME, names[shape], strlen(names[shape]));
    parquet_put_int(writer, GRID_X, 1 + shape * 13 % 512);
    parquet_put_int(writer, GRID_Y, 1 + shape % 4);
    parquet_put_int(writer, BLOCK_X, 32 << shape % 5);
    parquet_put_int(writer, REGISTERS, 16 + shape * 8 % 240);
    parquet_put_int(writer, SHARED, shape % 3 ? 0 : 1024 * (int64_t)shape);
}

static void put_findings(struct parquet_writer *writer, uint64_t row, uint64_t noise)
{
    bool on_path = row % LAUNCHES % 10 != 0;

    if (row % LAUNCHES)
        parquet_put_int(writer, ITERATION, (int64_t)(row / LAUNCHES));
    parquet_put_int(writer, ON_PATH, on_path);
    if (!on_path)
        parquet_put_int(writer, SLACK, (int64_t)(noise >> 40 & 0x3fff));
}

static enum mp_status put_rows(struct parquet_writer *writer, uint64_t rows)
{
    int64_t now = INT64_C(1700000000000000000);
    enum mp_status status = MP_OK;

    for (uint64_t row = 0; row < rows && status == MP_OK; row++) {
        uint64_t noise = random_bits();
        int64_t duration = (int64_t)(2000 + row % LAUNCHES * 97 % 60000 + (noise & 0xff));

        put_place(writer, row, now, duration);
        put_kernel(writer, row);
        put_findings(writer, row, noise);
        status = parquet_end_row(writer);
        now += duration + (int64_t)(noise >> 8 & 0x7ff);
    }
    return status;
}

static enum mp_status write_file(FILE *out, uint64_t rows, int level, struct mp_error *error)
{
    const struct parquet_options options = {.level = level};
    struct parquet_writer *writer;

    for (unsigned i = 0; i < SHAPES; i++)
        (void)snprintf(names[i], NAME_BYTES,
                       "void ns::kernel_%02u<float, %u, (ns::layout)1>(float const*, float*, int)",
                       i, i * 64);
    MP_TRY(parquet_begin(out, &table, &options, &writer, error));
    put_rows(writer, rows);
    return parquet_end(writer, error);
}

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

int main(int count, char **arguments)
{
    uint64_t rows, level;
    struct rusage usage;
    struct mp_error error;
    FILE *out;

    if (count != 4 || !mp_text_to_u64(arguments[1], 1, UINT32_MAX, &rows) ||
        !mp_text_to_u64(arguments[2], 0, 19, &level)) {
        fprintf(stderr, "usage: bench_parquet ROWS LEVEL FILE\n");
        return 2;
    }
    out = fopen(arguments[3], "we");
    if (!out || write_file(out, rows, (int)level, &error) != MP_OK) {
        fprintf(stderr, "bench_parquet: %s\n", out ? error.text : "cannot create the file");
        return 1;
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("%.3f %.1f %ld\n", seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime),
           (double)usage.ru_maxrss / 1024, ftell(out));
    return fclose(out) == 0 ? 0 : 1;
}
