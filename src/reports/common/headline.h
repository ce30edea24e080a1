/* How long an iteration takes, in one sentence: the same in report, iters, advise and JSON. */
#ifndef MP_REPORTS_COMMON_HEADLINE_H
#define MP_REPORTS_COMMON_HEADLINE_H

#include "base/text/json.h"
#include "reports/iterations/iterations.h"

#define HEADLINE_BYTES 512

/* "An iteration takes 1.20ms in range 1 (P50 of 50), 40.0us in range 2 (P50 of 50)", without a full
 * stop. `unit` is "iteration" or "request", whose latencies have this P50 (ns). */
const char *describe_headline(const struct iterations_headline *headline, const char *unit,
                              uint64_t latency, char text[HEADLINE_BYTES]);

/* The key "headline" with an object. */
void json_headline(struct json_writer *json, const struct iterations_headline *headline);

#endif
