/* Numbers and their units as nvprof prints them. The unit is chosen before the number is rounded,
 * which is nvprof's order: 999999 ns print as 1000.0us, not as 1.0000ms.
 */
#include "base/text/units.h"

#include <stdio.h>

#include "base/poison.h"

#define EXPONENT_FROM  1000.0
#define EXPONENT_BELOW 0.01 /* without a unit: nvprof prints 9.93e-03, but 0.015576 */
#define NUMBER_WIDTH   8

/* Prints `value` with `precision` digits behind the point; returns the length. */
static int print_number(char *out, size_t size, double value, int precision)
{
    if (value >= EXPONENT_FROM)
        return snprintf(out, size, "%.*e", precision, value);
    return snprintf(out, size, "%.*f", precision, value);
}

/* Prints `value` with as many digits as `width` characters hold. */
static void fit(char *out, size_t size, double value, int width)
{
    int precision;

    for (precision = width - 2; precision > 0; precision--) {
        if (print_number(out, size, value, precision) <= width)
            return;
    }
    print_number(out, size, value, 0);
}

static const char *print_fitted(char *buffer, size_t size, double value, int width,
                                const char *unit)
{
    char number[MP_FORMATTED_BYTES];

    fit(number, sizeof(number), value, width);
    snprintf(buffer, size, "%s%s", number, unit);
    return buffer;
}

const char *mp_format_time(char *buffer, size_t size, uint64_t ns)
{
    if (ns < 1000)
        snprintf(buffer, size, "%uns", (unsigned)ns);
    else if (ns < 1000000)
        print_fitted(buffer, size, (double)ns / 1e3, 6, "us");
    else if (ns < 1000000000)
        print_fitted(buffer, size, (double)ns / 1e6, 6, "ms");
    else
        print_fitted(buffer, size, (double)ns / 1e9, 7, "s");
    return buffer;
}

uint64_t mp_whole_ns(double ns)
{
    if (!(ns > 0))
        return 0;
    return (uint64_t)((ns > 1e19 ? 1e19 : ns) + 0.5);
}

const char *mp_format_time_mean(char *buffer, size_t size, double ns)
{
    return mp_format_time(buffer, size, mp_whole_ns(ns));
}

const char *mp_format_time_decimals(char *buffer, size_t size, uint64_t ns)
{
    if (ns < 1000)
        snprintf(buffer, size, "%uns", (unsigned)ns);
    else if (ns < 1000000)
        snprintf(buffer, size, "%.6fus", (double)ns / 1e3);
    else if (ns < 1000000000)
        snprintf(buffer, size, "%.6fms", (double)ns / 1e6);
    else
        snprintf(buffer, size, "%.6fs", (double)ns / 1e9);
    return buffer;
}

static const struct {
    const char *size;
    const char *throughput;
    double bytes;
} size_units[] = {{"B", "B/s", 1},
                  {"KB", "KB/s", 1024.0},
                  {"MB", "MB/s", 1048576.0},
                  {"GB", "GB/s", 1073741824.0}};

unsigned mp_size_unit(double bytes)
{
    unsigned unit = 0;

    /* From 1000 on the next unit, of 1024. */
    while (unit < 3 && bytes / size_units[unit].bytes >= 1000.0)
        unit++;
    return unit;
}

const char *mp_size_unit_name(unsigned unit)
{
    return size_units[unit].size;
}

double mp_size_unit_bytes(unsigned unit)
{
    return size_units[unit].bytes;
}

const char *mp_format_size(char *buffer, size_t size, uint64_t bytes)
{
    unsigned unit = mp_size_unit((double)bytes);

    if (unit == 0)
        snprintf(buffer, size, "%uB", (unsigned)bytes);
    else
        print_fitted(buffer, size, (double)bytes / size_units[unit].bytes, 6,
                     size_units[unit].size);
    return buffer;
}

const char *mp_format_throughput(char *buffer, size_t size, double bytes_per_second)
{
    double value = bytes_per_second > 0 ? bytes_per_second : 0;
    unsigned unit = mp_size_unit(value);

    return print_fitted(buffer, size, value / size_units[unit].bytes, 6,
                        size_units[unit].throughput);
}

const char *mp_format_number(char *buffer, size_t size, double value)
{
    if (value > 0 && value < EXPONENT_BELOW)
        snprintf(buffer, size, "%.2e", value);
    else
        fit(buffer, size, value, NUMBER_WIDTH);
    return buffer;
}

const char *mp_format_percent(char *buffer, size_t size, double percent)
{
    snprintf(buffer, size, "%.2f%%", percent);
    return buffer;
}
