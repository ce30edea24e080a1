/* Numbers with units, in two styles. nvprof's has at most 6 characters (7 before `s`), then the
 * unit without a space. miniprof's own differs in three things: sizes say that their units are of
 * 1024 bytes, throughput is in units of 1000, and no great number has an exponent.
 *
 *     nvprof    1.5000KB    4.4797GB/s    5e+03GB/s     1.2e+03s
 *     own       1.5000KiB   4.8100GB/s    4810.0GB/s    1234.57s
 *
 * The unit is chosen before rounding (999999 ns is `1000.0us`), and as many digits are printed as
 * fit. Sizes change their unit at 1000 but divide by 1024. All functions write a NUL-terminated
 * string, cut when `size` is too small, and return `buffer`. MP_FORMATTED_BYTES is enough.
 */
#ifndef MP_BASE_TEXT_UNITS_H
#define MP_BASE_TEXT_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define MP_FORMATTED_BYTES 24

enum mp_style { MP_STYLE_NVPROF, MP_STYLE_OWN, MP_STYLES };

/* Nanoseconds: `0ns`, `999ns`, `1.2340us`, `12.345us`, `123.46us`, `1.23457s`. */
const char *mp_show_time(char *buffer, size_t size, uint64_t ns, enum mp_style style);

/* Bytes: `999B`, `0.9766KB`, `1.5000KB`, `1.0000MB`; KiB and MiB in our own style. */
const char *mp_show_size(char *buffer, size_t size, uint64_t bytes, enum mp_style style);

/* Bytes a second: `976.56KB/s`, `97.656GB/s`, `1e+05GB/s`; in our own style `1.0000MB/s`. */
const char *mp_show_rate(char *buffer, size_t size, double bytes_per_second, enum mp_style style);

/* A number without a unit, in nvprof's style in at most 8 characters, as nvprof -u prints times:
 * `35.45864`, `1.772931`, `0.041317`; from 1000 on and below 0.01 in exponent form: `1.83e+03`,
 * `9.93e-03`. */
const char *mp_show_number(char *buffer, size_t size, double value, enum mp_style style);

/* The same in our own style, as sentences need them. */
const char *mp_format_time(char *buffer, size_t size, uint64_t ns);
const char *mp_format_size(char *buffer, size_t size, uint64_t bytes);
const char *mp_format_throughput(char *buffer, size_t size, double bytes_per_second);

/* Rounds a mean to whole nanoseconds: half up, and 0 for a negative mean. */
uint64_t mp_whole_ns(double ns);

/* mp_format_time of a mean. */
const char *mp_format_time_mean(char *buffer, size_t size, double ns);

/* As nvprof's dependency analysis prints nanoseconds, six decimals however wide: `909ns`,
 * `4.588000us`, `647.659179ms`, `2.629210s`. */
const char *mp_format_time_decimals(char *buffer, size_t size, uint64_t ns);

/* The unit that mp_show_size chooses: 0 bytes, 1 KB, 2 MB, 3 GB. Then its name, and its size in
 * bytes. */
unsigned mp_size_unit(double bytes);
const char *mp_size_unit_name(unsigned unit, enum mp_style style);
double mp_size_unit_bytes(unsigned unit);

/* The same of mp_show_rate. */
unsigned mp_rate_unit(double bytes_per_second, enum mp_style style);
const char *mp_rate_unit_name(unsigned unit);
double mp_rate_unit_bytes(unsigned unit, enum mp_style style);

/* A percentage, 0 to 100: `31.50%`, `100.00%`. */
const char *mp_format_percent(char *buffer, size_t size, double percent);

#endif
