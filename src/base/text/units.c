/* Numbers and their units as nvprof prints them, and as miniprof's own commands do. The unit is
 * chosen before the number is rounded, which is nvprof's order: 999999 ns print as 1000.0us, not as
 * 1.0000ms.
 */
#include "base/text/units.h"

#include <stdio.h>

#include "base/poison.h"

#define EXPONENT_FROM  1000.0
#define EXPONENT_BELOW 0.01 /* without a unit: nvprof prints 9.93e-03, but 0.015576 */
#define NUMBER_WIDTH   8

/* Prints `value` with `precision` digits behind the point; returns the length. */
static int print_number(char *out, size_t size, double value, int precision, enum mp_style style)
{
    if (style == MP_STYLE_NVPROF && value >= EXPONENT_FROM)
        return snprintf(out, size, "%.*e", precision, value);
    return snprintf(out, size, "%.*f", precision, value);
}

/* Prints `value` with as many digits as `width` characters hold. */
static void fit(char *out, size_t size, double value, int width, enum mp_style style)
{
    int precision;

    for (precision = width - 2; precision > 0; precision--) {
        if (print_number(out, size, value, precision, style) <= width)
            return;
    }
    print_number(out, size, value, 0, style);
}

static const char *print_fitted(char *buffer, size_t size, double value, int width,
                                const char *unit, enum mp_style style)
{
    char number[MP_FORMATTED_BYTES];

    fit(number, sizeof(number), value, width, style);
    snprintf(buffer, size, "%s%s", number, unit);
    return buffer;
}

const char *mp_show_time(char *buffer, size_t size, uint64_t ns, enum mp_style style)
{
    if (ns < 1000)
        snprintf(buffer, size, "%uns", (unsigned)ns);
    else if (ns < 1000000)
        print_fitted(buffer, size, (double)ns / 1e3, 6, "us", style);
    else if (ns < 1000000000)
        print_fitted(buffer, size, (double)ns / 1e6, 6, "ms", style);
    else
        print_fitted(buffer, size, (double)ns / 1e9, 7, "s", style);
    return buffer;
}

const char *mp_format_time(char *buffer, size_t size, uint64_t ns)
{
    return mp_show_time(buffer, size, ns, MP_STYLE_OWN);
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

#define SIZE_UNITS 4

static const double size_bytes[SIZE_UNITS] = {1, 1024.0, 1048576.0, 1073741824.0};
static const double rate_bytes[SIZE_UNITS] = {1, 1e3, 1e6, 1e9};

static const char *const size_names[MP_STYLES][SIZE_UNITS] = {
    [MP_STYLE_NVPROF] = {"B", "KB", "MB", "GB"},
    [MP_STYLE_OWN] = {"B", "KiB", "MiB", "GiB"},
};

static const char *const rate_names[SIZE_UNITS] = {"B/s", "KB/s", "MB/s", "GB/s"};

/* From 1000 on the next unit, also where it is one of 1024. */
static unsigned unit_of(double value, const double units[SIZE_UNITS])
{
    unsigned unit = 0;

    while (unit + 1 < SIZE_UNITS && value / units[unit] >= 1000.0)
        unit++;
    return unit;
}

unsigned mp_size_unit(double bytes)
{
    return unit_of(bytes, size_bytes);
}

const char *mp_size_unit_name(unsigned unit, enum mp_style style)
{
    return size_names[style][unit];
}

double mp_size_unit_bytes(unsigned unit)
{
    return size_bytes[unit];
}

unsigned mp_rate_unit(double bytes, enum mp_style style)
{
    return unit_of(bytes, style == MP_STYLE_OWN ? rate_bytes : size_bytes);
}

double mp_rate_unit_bytes(unsigned unit, enum mp_style style)
{
    return style == MP_STYLE_OWN ? rate_bytes[unit] : size_bytes[unit];
}

const char *mp_rate_unit_name(unsigned unit)
{
    return rate_names[unit];
}

const char *mp_show_size(char *buffer, size_t size, uint64_t bytes, enum mp_style style)
{
    unsigned unit = mp_size_unit((double)bytes);

    if (unit == 0)
        snprintf(buffer, size, "%uB", (unsigned)bytes);
    else
        print_fitted(buffer, size, (double)bytes / size_bytes[unit], 6, size_names[style][unit],
                     style);
    return buffer;
}

const char *mp_format_size(char *buffer, size_t size, uint64_t bytes)
{
    return mp_show_size(buffer, size, bytes, MP_STYLE_OWN);
}

const char *mp_show_rate(char *buffer, size_t size, double bytes_per_second, enum mp_style style)
{
    double value = bytes_per_second > 0 ? bytes_per_second : 0;
    unsigned unit = mp_rate_unit(value, style);

    return print_fitted(buffer, size, value / mp_rate_unit_bytes(unit, style), 6, rate_names[unit],
                        style);
}

const char *mp_format_throughput(char *buffer, size_t size, double bytes_per_second)
{
    return mp_show_rate(buffer, size, bytes_per_second, MP_STYLE_OWN);
}

const char *mp_show_number(char *buffer, size_t size, double value, enum mp_style style)
{
    if (value > 0 && value < EXPONENT_BELOW)
        snprintf(buffer, size, "%.2e", value);
    else
        fit(buffer, size, value, NUMBER_WIDTH, style);
    return buffer;
}

const char *mp_format_percent(char *buffer, size_t size, double percent)
{
    snprintf(buffer, size, "%.2f%%", percent);
    return buffer;
}
