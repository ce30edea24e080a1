/*
 * common.h: what the samples share: error checks and an option parser driven by a table.
 */
#ifndef SAMPLES_COMMON_H
#define SAMPLES_COMMON_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ends the program with exit code 1 and a message that names the call. */
#define CU_CHECK(call) check_cuda((call), #call, __FILE__, __LINE__)

void check_cuda(CUresult result, const char *call, const char *file, int line);
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

enum option_type { OPTION_INT, OPTION_SET, OPTION_CHOICE };

/* One row of a sample's option table; the last row has no name. */
struct option_row {
    const char *name;
    enum option_type type;
    int *target;
    int minimum, maximum;       /* OPTION_INT; OPTION_SET stores minimum */
    const char *const *choices; /* OPTION_CHOICE: NULL-terminated, the index is stored */
    const char *help;
};

/* Reads argv into the targets. Prints help and exits 0 on --help, exits 2 on bad usage. */
void parse_options(int argc, char **argv, const struct option_row *rows);

/* Seconds of CLOCK_MONOTONIC. */
double seconds_now(void);
/* Nanoseconds of the clock that is right: the software GPU's, where that is the driver, otherwise
 * CLOCK_MONOTONIC. For the first thread.
 */
uint64_t clock_now(void);
/* A counter in, well mixed bits out. */
uint32_t mix(uint32_t x);

#endif
