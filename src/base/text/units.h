/* Numbers with units, in two styles. nvprof's has at most 6 characters (7 before `s`), then the
 * unit without a space. miniprof's own is for reading: four digits at most, or all of a whole
 * number with a comma before each three. Its sizes say that their units are of 1024 bytes, its
 * throughput is in units of 1000, and no number below 1e18 has an exponent.
 *
 *     nvprof    571.65us    1.5000KB     4.4797GB/s    5e+03GB/s     1.2e+03s    15300
 *     own       571.7us     1.500KiB     4.810GB/s     4,810GB/s     1,235s      15,300
 *
 * The unit is chosen before rounding (999999 ns is `1,000us`). Sizes change their unit at 1000 but
 * divide by 1024. All functions write a NUL-terminated string, cut when `size` is too small, and
 * return `buffer`. MP_FORMATTED_BYTES is enough.
 */
#ifndef MP_BASE_TEXT_UNITS_H
#define MP_BASE_TEXT_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define MP_FORMATTED_BYTES 32

enum mp_style { MP_STYLE_NVPROF, MP_STYLE_OWN, MP_STYLES };

/* Nanoseconds: `0ns`, `999ns`, `1.2340us`, `12.345us`, `123.46us`, `1.23457s`; in our own style
 * `1.234us`, `12.35us`, `123.5us`, `1.235s`. */
const char *mp_show_time(char *buffer, size_t size, uint64_t ns, enum mp_style style);

/* Bytes: `999B`, `0.9766KB`, `1.5000KB`, `1.0000MB`; in our own style `1.500KiB`. */
const char *mp_show_size(char *buffer, size_t size, uint64_t bytes, enum mp_style style);

/* Bytes a second: `976.56KB/s`, `97.656GB/s`, `1e+05GB/s`; in our own style `1.000MB/s`. */
const char *mp_show_rate(char *buffer, size_t size, double bytes_per_second, enum mp_style style);

/* A number without a unit, in nvprof's style in at most 8 characters, as nvprof -u prints times:
 * `35.45864`, `1.772931`, `0.041317`; from 1000 on and below 0.01 in exponent form: `1.83e+03`,
 * `9.93e-03`. In our own style `35.46`, `1,830`, `9.93e-03`. */
const char *mp_show_number(char *buffer, size_t size, double value, enum mp_style style);

/* A count: `999`, `15,300`; in nvprof's style without commas. */
const char *mp_show_count(char *buffer, size_t size, uint64_t count, enum mp_style style);

/* A percentage: `0.02%`, `31.50%`, and from 100 on in our own style `100.0%`, in nvprof's
 * `100.00%`. */
const char *mp_show_percent(char *buffer, size_t size, double percent, enum mp_style style);

/* A number in our own style with at most `places` digits (0 to 5) after the point, fewer where
 * four digits are reached: `0.10`, `81.00`, `571.7`, `4,860`. Zeros at the end stay, so that
 * columns line up. */
const char *mp_show_places(char *buffer, size_t size, double value, int places);

/* Arguments of printf: `.text` of what these return is valid to the end of the full expression. */
struct mp_shown {
    char text[MP_FORMATTED_BYTES];
};

struct mp_shown mp_count(uint64_t count);   /* `15,300` */
struct mp_shown mp_size(uint64_t bytes);    /* `1.500KiB` */
struct mp_shown mp_figure(double value);    /* a mean of counts: `3`, `0.9831`, `12,346` */
struct mp_shown mp_rounded(double value);   /* two places at most: `0.50`, `1,674` */
struct mp_shown mp_percent(double percent); /* `99.98%` */

/* The same in our own style, as sentences need them. */
const char *mp_format_time(char *buffer, size_t size, uint64_t ns);
const char *mp_format_size(char *buffer, size_t size, uint64_t bytes);
const char *mp_format_throughput(char *buffer, size_t size, double bytes_per_second);

/* Rounds a mean to whole nanoseconds: half up, and 0 for a negative mean. */
uint64_t mp_whole_ns(double ns);

/* mp_format_time of a mean. */
const char *mp_format_time_mean(char *buffer, size_t size, double ns);

/* Digits after the point of an estimate that is known within `error`, 3 at most: to the second
 * digit of the error. */
int mp_places_within(double error);

/* A time that is known within `error` ns, to the second digit of the error: 1234567 is `1.235ms`
 * within 20 us and `1.23ms` within 200 us; 123456 is `123us` within 20 us, `120us` within 200. */
const char *mp_format_time_within(char *buffer, size_t size, uint64_t ns, double error);

/* As nvprof's dependency analysis prints nanoseconds, six decimals however wide: `909ns`,
 * `4.588000us`, `647.659179ms`, `2.629210s`. */
const char *mp_format_time_decimals(char *buffer, size_t size, uint64_t ns);

/* A point in time, to the nanosecond: `909ns`, `4.588us`, `647.659179ms`, `2.629210042s`. */
const char *mp_format_moment(char *buffer, size_t size, uint64_t ns);
#define MP_MOMENT_WIDTH 13 /* up to 100 s: `12.629210042s` */

/* The unit that mp_show_size chooses: 0 bytes, 1 KB, 2 MB, 3 GB. Then its name, and its size in
 * bytes. */
unsigned mp_size_unit(double bytes);
const char *mp_size_unit_name(unsigned unit, enum mp_style style);
double mp_size_unit_bytes(unsigned unit);

/* The same of mp_show_rate. */
unsigned mp_rate_unit(double bytes_per_second, enum mp_style style);
const char *mp_rate_unit_name(unsigned unit);
double mp_rate_unit_bytes(unsigned unit, enum mp_style style);

#endif
