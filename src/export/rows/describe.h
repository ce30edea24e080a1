/* Inside of the rows: what names a row of each kind, for the table of sources. */
#ifndef MP_EXPORT_ROWS_DESCRIBE_H
#define MP_EXPORT_ROWS_DESCRIBE_H

#include "export/rows/rows.h"

/* Fill in name, raw_name, and of kernels and graphs what else names them. MP_OK, MP_ERR_MEMORY. */
typedef enum mp_status export_describe(struct export_rows *rows, struct export_row *row);

export_describe export_describe_kernel, export_describe_copy, export_describe_set;
export_describe export_describe_graph, export_describe_host_function, export_describe_call;
export_describe export_describe_sync, export_describe_wait, export_describe_memory;
export_describe export_describe_pool, export_describe_unified, export_describe_overhead;
export_describe export_describe_metric, export_describe_collective;

#endif
