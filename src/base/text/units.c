/* Numbers and their units as nvprof prints them, and as miniprof's own commands do. The unit is
 * chosen before the number is rounded, which is nvprof's order: 999999 ns print as 1000.0us, not as
 * 1.0000ms.
 */
#include "base/text/units.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/poison.h"

#define EXPONENT_FROM  1000.0
#define EXPONENT_BELOW 0.01 /* without a unit: nvprof prints 9.93e-03, but 0.015576 */
#define NUMBER_WIDTH   8
#define OWN_DIGITS     4
#define MAX_WHOLE      1e18 /* from here on in exponent form */
#define MAX_PLACES     5    /* after the point, which four digits of 0.01 take */

/* Prints `value` with `precision` digits after the point, as nvprof; returns the length. */
static int print_number(char *out, size_t size, double value, int precision)
{
    if (value >= EXPONENT_FROM)
        return snprintf(out, size, "%.*e", precision, value);
    return snprintf(out, size, "%.*f", precision, value);
}

/* nvprof's: as many digits as `width` characters hold. */
static void fit(char *out, size_t size, double value, int width)
{
    for (int precision = width - 2; precision > 0; precision--) {
        if (print_number(out, size, value, precision) <= width)
            return;
    }
    print_number(out, size, value, 0);
}

/* Copies the whole number `digits`, with a sign or not, and a comma before each three. */
static void separate(char *out, size_t size, const char *digits)
{
    size_t length = strlen(digits), used = 0;

    for (size_t i = 0; i < length && used + 1 < size; i++) {
        bool first = i == 0 || digits[i - 1] == '-';
        if (!first && (length - i) % 3 == 0)
            out[used++] = ',';
        if (used + 1 < size)
            out[used++] = digits[i];
    }
    if (size)
        out[used] = '\0';
}

const char *mp_show_places(char *buffer, size_t size, double value, int places)
{
    static const double half[MAX_PLACES + 1] = {0.5, 0.05, 5e-3, 5e-4, 5e-5, 5e-6};
    static const double next[MAX_PLACES + 1] = {0, 999.95, 99.995, 9.9995, 0.99995, 0.099995};
    double magnitude = value < 0 ? -value : value;
    char whole[MP_FORMATTED_BYTES];

    while (places > 0 && magnitude >= next[places])
        places--;
    if (magnitude < half[places])
        value = 0; /* no -0.00 */
    if (places > 0) {
        snprintf(buffer, size, "%.*f", places, value);
        return buffer;
    }
    if (!(magnitude < MAX_WHOLE)) {
        snprintf(buffer, size, "%.3e", value);
        return buffer;
    }
    snprintf(whole, sizeof whole, "%.0f", value);
    separate(buffer, size, whole);
    return buffer;
}

static const char *print_fitted(char *buffer, size_t size, double value, int width,
                                const char *unit, enum mp_style style)
{
    char number[MP_FORMATTED_BYTES];

    if (style == MP_STYLE_OWN)
        mp_show_places(number, sizeof(number), value, value > 0 ? MAX_PLACES : OWN_DIGITS - 1);
    else
        fit(number, sizeof(number), value, width);
    snprintf(buffer, size, "%s%s", number, unit);
    return buffer;
}

const char *mp_show_count(char *buffer, size_t size, uint64_t count, enum mp_style style)
{
    char digits[MP_FORMATTED_BYTES];

    snprintf(digits, sizeof digits, "%" PRIu64, count);
    if (style == MP_STYLE_OWN)
        separate(buffer, size, digits);
    else
        snprintf(buffer, size, "%s", digits);
    return buffer;
}

struct mp_shown mp_count(uint64_t count)
{
    struct mp_shown shown;

    mp_show_count(shown.text, sizeof shown.text, count, MP_STYLE_OWN);
    return shown;
}

struct mp_shown mp_size(uint64_t bytes)
{
    struct mp_shown shown;

    mp_format_size(shown.text, sizeof shown.text, bytes);
    return shown;
}

struct mp_shown mp_figure(double value)
{
    struct mp_shown shown;

    if (value >= 999.95)
        mp_show_places(shown.text, sizeof shown.text, value, 0);
    else
        snprintf(shown.text, sizeof shown.text, "%.*g", OWN_DIGITS, value);
    return shown;
}

struct mp_shown mp_rounded(double value)
{
    struct mp_shown shown;

    mp_show_places(shown.text, sizeof shown.text, value, 2);
    return shown;
}

static const struct time_unit {
    const char *name;
    double ns;
    int width;  /* of nvprof's numbers */
    int places; /* of a ns */
} time_units[] = {{"ns", 1, 6, 0}, {"us", 1e3, 6, 3}, {"ms", 1e6, 6, 6}, {"s", 1e9, 7, 9}};

/* Before rounding. */
static const struct time_unit *time_unit_of(double ns)
{
    size_t unit = 0;

    while (unit < 3 && ns >= time_units[unit + 1].ns)
        unit++;
    return &time_units[unit];
}

/* Of 1000 ns and more: a ns has no parts. */
static const char *print_time(char *buffer, size_t size, double ns, enum mp_style style)
{
    const struct time_unit *unit = time_unit_of(ns);

    return print_fitted(buffer, size, ns / unit->ns, unit->width, unit->name, style);
}

const char *mp_show_time(char *buffer, size_t size, uint64_t ns, enum mp_style style)
{
    if (ns >= 1000)
        return print_time(buffer, size, (double)ns, style);
    snprintf(buffer, size, "%uns", (unsigned)ns);
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
    if (ns >= 1000)
        return print_time(buffer, size, ns, MP_STYLE_OWN);
    return mp_format_time(buffer, size, mp_whole_ns(ns));
}

int mp_places_within(double error)
{
    int places = 0;

    while (places < OWN_DIGITS - 1 && error < 10) {
        error *= 10;
        places++;
    }
    return places;
}

const char *mp_format_time_within(char *buffer, size_t size, uint64_t ns, double error)
{
    char number[MP_FORMATTED_BYTES];
    double step = 1;

    while (step * 100 <= error && step < 1e18)
        step *= 10;
    ns = (uint64_t)step * mp_whole_ns((double)ns / step);
    const struct time_unit *unit = time_unit_of((double)ns);
    mp_show_places(number, sizeof number, (double)ns / unit->ns,
                   mp_places_within(10 * step / unit->ns));
    snprintf(buffer, size, "%s%s", number, unit->name);
    return buffer;
}

const char *mp_format_time_decimals(char *buffer, size_t size, uint64_t ns)
{
    const struct time_unit *unit = time_unit_of((double)ns);

    snprintf(buffer, size, "%.*f%s", ns < 1000 ? 0 : 6, (double)ns / unit->ns, unit->name);
    return buffer;
}

const char *mp_format_moment(char *buffer, size_t size, uint64_t ns)
{
    const struct time_unit *unit = time_unit_of((double)ns);

    if (ns >= 1000000000) /* a double has too few digits for all of them */
        snprintf(buffer, size, "%" PRIu64 ".%09" PRIu64 "s", ns / 1000000000, ns % 1000000000);
    else
        snprintf(buffer, size, "%.*f%s", unit->places, (double)ns / unit->ns, unit->name);
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
        print_fitted(buffer, size, value, NUMBER_WIDTH, "", style);
    return buffer;
}

const char *mp_show_percent(char *buffer, size_t size, double percent, enum mp_style style)
{
    char number[MP_FORMATTED_BYTES];

    if (style == MP_STYLE_OWN)
        snprintf(buffer, size, "%s%%", mp_show_places(number, sizeof number, percent, 2));
    else
        snprintf(buffer, size, "%.2f%%", percent);
    return buffer;
}

struct mp_shown mp_percent(double percent)
{
    struct mp_shown shown;

    mp_show_percent(shown.text, sizeof shown.text, percent, MP_STYLE_OWN);
    return shown;
}
