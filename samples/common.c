/*
 * common.c: error checks and options for the samples.
 */
#include "common.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_OPTIONS 32

void fail(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

void check_cuda(CUresult result, const char *call, const char *file, int line)
{
    const char *name = NULL;

    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorName(result, &name);
    fail("%s:%d: %s: %s (%d)", file, line, call, name ? name : "unknown error", (int)result);
}

static void print_help(const char *program, const struct option_row *rows)
{
    printf("usage: %s [options]\n", program);
    for (; rows->name; rows++)
        printf("  --%-16s %s\n", rows->name, rows->help);
    printf("  --%-16s %s\n", "help", "this text");
}

static void bad_usage(const char *program, const char *option, const char *value)
{
    fprintf(stderr, "%s: bad value '%s' for --%s\n", program, value, option);
    exit(2);
}

static void store(const char *program, const struct option_row *row, const char *value)
{
    char *end;
    long number;

    if (row->type == OPTION_SET) {
        *row->target = row->minimum;
        return;
    }
    if (row->type == OPTION_CHOICE) {
        for (int i = 0; row->choices[i]; i++) {
            if (strcmp(row->choices[i], value) == 0) {
                *row->target = i;
                return;
            }
        }
        bad_usage(program, row->name, value);
    }
    errno = 0;
    number = strtol(value, &end, 0);
    if (errno || end == value || *end || number < row->minimum || number > row->maximum)
        bad_usage(program, row->name, value);
    *row->target = (int)number;
}

void parse_options(int argc, char **argv, const struct option_row *rows)
{
    struct option longs[MAX_OPTIONS + 2] = {{0}};
    size_t count = 0;
    int index;
    int found;

    for (; rows[count].name && count < MAX_OPTIONS; count++) {
        longs[count].name = rows[count].name;
        longs[count].has_arg = rows[count].type == OPTION_SET ? no_argument : required_argument;
    }
    longs[count].name = "help";
    while ((found = getopt_long(argc, argv, "", longs, &index)) == 0) {
        if ((size_t)index == count) {
            print_help(argv[0], rows);
            exit(0);
        }
        store(argv[0], &rows[index], optarg);
    }
    if (found != -1 || optind != argc) {
        fprintf(stderr, "%s: try --help\n", argv[0]);
        exit(2);
    }
}

double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

uint64_t clock_now(void)
{
    static uint64_t (*simgpu_clock)(void);
    static bool looked;
    struct timespec now;

    if (!looked) {
        *(void **)&simgpu_clock = dlsym(RTLD_DEFAULT, "simgpu_clock_ns");
        looked = true;
    }
    if (simgpu_clock)
        return simgpu_clock();
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= UINT32_C(0x7feb352d);
    x ^= x >> 15;
    x *= UINT32_C(0x846ca68b);
    return x ^ (x >> 16);
}
