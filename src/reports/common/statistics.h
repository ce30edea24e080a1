/* Statistics as facts of JSON (base/text/json.h): the same keys in every document. `of`
 * points to a struct statistics. */
#ifndef MP_REPORTS_COMMON_STATISTICS_H
#define MP_REPORTS_COMMON_STATISTICS_H

#include "base/text/json.h"
#include "profile/common/statistics.h"

/* All of them. `unit` ends the keys: "_ns" of times, "" where the object names the quantity. */
#define STATISTICS_FACTS(of, unit)                                                                 \
    FACT("mean" unit, (of)->mean), FACT("std" unit, (of)->deviation), FACT("min" unit, (of)->min), \
        FACT("p50" unit, (of)->p50), FACT("p90" unit, (of)->p90), FACT("p95" unit, (of)->p95),     \
        FACT("p99" unit, (of)->p99), FACT("max" unit, (of)->max)

/* Of times, where a report has few columns; null unless `known`. */
#define STATISTICS_MIDDLE(of, known)                                                               \
    FACT_IF("mean_ns", known, (of)->mean), FACT_IF("p50_ns", known, (of)->p50),                    \
        FACT_IF("p99_ns", known, (of)->p99)
#define STATISTICS_ENDS(of, known)                                                                 \
    FACT_IF("min_ns", known, (of)->min), FACT_IF("max_ns", known, (of)->max)

#endif
