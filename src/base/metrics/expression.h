/* What a metric is computed from: a small formula over CUPTI's metrics.
 *
 *     expression = term { ("+" | "-") term }
 *     term       = primary { "*" primary | "/" primary }
 *     primary    = number | name | "(" expression ")"
 *
 * Two limits keep an expression one quotient of two sums. In a product, at most one side is not a
 * number. A quotient of two sums is neither added to anything nor divided again.
 *
 *     l1tex__t_sectors.sum
 *     2 * (lts__t_sectors_op_atom.sum + lts__t_sectors_op_red.sum)
 *     (a.sum + b.sum) / (c.sum + d.sum) * 100
 *
 * Nothing is allocated or printed. Any thread.
 */
#ifndef MP_BASE_METRICS_EXPRESSION_H
#define MP_BASE_METRICS_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define METRIC_NAME_BYTES 160 /* of one name, with its NUL */
#define METRIC_MAX_INPUTS 12  /* distinct names in one expression */

/* A sum of inputs, each times its coefficient; 0 when it is not in it. */
struct metric_sum {
    double coefficients[METRIC_MAX_INPUTS];
};

struct metric_expression {
    char names[METRIC_MAX_INPUTS][METRIC_NAME_BYTES]; /* each once */
    size_t input_count;
    struct metric_sum above;
    struct metric_sum below; /* when `divided` */
    bool divided;
};

/* Reads `text`. MP_ERR_ARGUMENT, with one line that says where the mistake is; MP_ERR_LIMIT for too
 * many names or a too long one. After an error *expression must not be used. */
enum mp_status metric_expression_parse(const char *text, struct metric_expression *expression,
                                       struct mp_error *error);

/* Returns how many inputs the expression has. If `names` is not NULL, it must have room for
 * METRIC_MAX_INPUTS and receives the names, which `expression` owns. */
size_t metric_expression_inputs(const struct metric_expression *expression, const char **names);

/* The value, given the values of the inputs in the same order. NaN after a division by zero or when
 * an input is not finite; a report prints NaN as "-" and leaves it out of min, max and avg.
 */
double metric_expression_value(const struct metric_expression *expression, const double *inputs);

#endif
