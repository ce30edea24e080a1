/* Which quantities of iterations are known where kernels have no times. */
#include "reports/iterations/print.h"

#include "base/poison.h"

bool iterations_is_known(const struct iterations_report *report, enum iteration_quantity quantity)
{
    return iteration_quantity_is_of_host(quantity) || !quality_gap(&report->deps->quality);
}
