/* The event tables: a row for each kernel, copy, set, call, range and so on. */
#include "export/lake/build.h"

#include "base/poison.h"

#define NO_ID UINT32_MAX

/* ---- What tables have in common ---- */

/* run_id, start_ns and dur_ns are the first three of each. */
static void fill_time(const struct lake *lake, const struct export_row *row,
                      struct tables_cell *cells)
{
    cells[LAKE_KERNEL_run_id] = tables_words(lake->run);
    cells[LAKE_KERNEL_start_ns] = TABLES_NUMBER(row->start + lake->process->who->offset);
    cells[LAKE_KERNEL_dur_ns] = TABLES_NUMBER(row->duration);
}

/* Up to graph_node_id work has the same columns. */
_Static_assert((int)LAKE_MEMCPY_bytes == LAKE_KERNEL_grid_x, "the order of memcpy");
_Static_assert((int)LAKE_MEMSET_bytes == LAKE_KERNEL_grid_x, "the order of memset");

static void fill_work(const struct lake *lake, const struct export_row *row,
                      struct tables_cell *cells)
{
    fill_time(lake, row, cells);
    if (row->place) {
        cells[LAKE_KERNEL_device] = TABLES_NUMBER((int32_t)row->place->device);
        cells[LAKE_KERNEL_context] = TABLES_NUMBER((int32_t)row->place->context);
        cells[LAKE_KERNEL_stream] = TABLES_NUMBER((int32_t)row->place->stream);
    }
    cells[LAKE_KERNEL_correlation] = tables_some(row->correlation);
    cells[LAKE_KERNEL_name] = TABLES_WORDS(row->name.text, row->name.bytes);
    cells[LAKE_KERNEL_graph_id] = tables_some(row->graph);
    cells[LAKE_KERNEL_graph_node_id] = tables_some(row->graph_node);
}

static void fill_host(const struct lake *lake, const struct export_row *row,
                      struct tables_cell *cells)
{
    fill_time(lake, row, cells);
    if (row->thread)
        cells[LAKE_API_thread] = TABLES_NUMBER(row->thread->tid);
    cells[LAKE_API_correlation] = tables_some(row->correlation);
    cells[LAKE_API_name] = TABLES_WORDS(row->name.text, row->name.bytes);
}

/* activity, iteration, on_critical_path, critical_ns: the last four of activities. */
static void fill_analyses(const struct lake *lake, const struct export_row *row,
                          struct tables_cell *last)
{
    const struct export_analyses *analyses = export_rows_analyses(lake->process->rows);

    last[1] = tables_some(row->iteration);
    if (!analyses->known || row->activity == DEPS_NONE)
        return;
    uint64_t critical = analyses->critical[row->activity];
    last[0] = TABLES_NUMBER((int32_t)row->activity);
    last[2] = TABLES_NUMBER(critical > 0);
    last[3] = TABLES_NUMBER(critical);
}

/* ---- Tables ---- */

static enum mp_status put_kernel(struct lake *lake, const struct export_row *row)
{
    struct tables_cell cells[LAKE_KERNEL_COLUMNS] = {{.kind = 0}};
    const struct launch_shape *shape = row->shape;

    fill_work(lake, row, cells);
    for (int i = 0; i < 3 && shape; i++) {
        cells[LAKE_KERNEL_grid_x + i] = TABLES_NUMBER((int32_t)shape->grid[i]);
        cells[LAKE_KERNEL_block_x + i] = TABLES_NUMBER((int32_t)shape->block[i]);
    }
    if (shape) {
        cells[LAKE_KERNEL_registers] = TABLES_NUMBER((int32_t)shape->registers);
        cells[LAKE_KERNEL_smem_static] = TABLES_NUMBER((int32_t)shape->static_shared);
        cells[LAKE_KERNEL_smem_dynamic] = TABLES_NUMBER((int32_t)shape->dynamic_shared);
    }
    fill_analyses(lake, row, &cells[LAKE_KERNEL_activity]);
    return tables_put(lake->tables, LAKE_KERNEL, cells);
}

static enum mp_status put_copy(struct lake *lake, const struct export_row *row)
{
    struct tables_cell cells[LAKE_MEMCPY_COLUMNS] = {{.kind = 0}};

    fill_work(lake, row, cells);
    cells[LAKE_MEMCPY_bytes] = TABLES_NUMBER(export_row_copy(row).bytes);
    fill_analyses(lake, row, &cells[LAKE_MEMCPY_activity]);
    return tables_put(lake->tables, LAKE_MEMCPY, cells);
}

static enum mp_status put_set(struct lake *lake, const struct export_row *row)
{
    const struct mp_row_set set = export_row_set(row);
    struct tables_cell cells[LAKE_MEMSET_COLUMNS] = {{.kind = 0}};

    fill_work(lake, row, cells);
    cells[LAKE_MEMSET_bytes] = TABLES_NUMBER(set.bytes);
    cells[LAKE_MEMSET_value] = TABLES_NUMBER(set.value);
    fill_analyses(lake, row, &cells[LAKE_MEMSET_activity]);
    return tables_put(lake->tables, LAKE_MEMSET, cells);
}

static enum mp_status put_call(struct lake *lake, const struct export_row *row)
{
    struct tables_cell cells[LAKE_API_COLUMNS] = {{.kind = 0}};

    fill_host(lake, row, cells);
    cells[LAKE_API_result] = TABLES_NUMBER(export_row_call(row).result);
    fill_analyses(lake, row, &cells[LAKE_API_activity]);
    return tables_put(lake->tables, LAKE_API, cells);
}

/* Graph launches as a whole, and host functions. */
static enum mp_status put_work(struct lake *lake, const struct export_row *row)
{
    struct tables_cell cells[LAKE_GRAPH_COLUMNS] = {{.kind = 0}};

    _Static_assert((int)LAKE_GRAPH_COLUMNS == LAKE_HOST_FUNCTION_COLUMNS, "the same columns");
    fill_work(lake, row, cells);
    fill_analyses(lake, row, &cells[LAKE_GRAPH_activity]);
    return tables_put(lake->tables, row->kind == EXPORT_GRAPH ? LAKE_GRAPH : LAKE_HOST_FUNCTION,
                      cells);
}

static enum mp_status put_wait(struct lake *lake, const struct export_row *row)
{
    struct tables_cell cells[LAKE_WAIT_COLUMNS] = {{.kind = 0}};

    _Static_assert((int)LAKE_WAIT_name == LAKE_API_name, "the order of wait");
    fill_host(lake, row, cells);
    fill_analyses(lake, row, &cells[LAKE_WAIT_activity]);
    return tables_put(lake->tables, LAKE_WAIT, cells);
}

static enum mp_status put_sync(struct lake *lake, const struct export_row *row)
{
    const struct mp_row_sync sync = export_rows_sync(lake->process->rows, row);
    struct tables_cell cells[LAKE_SYNC_COLUMNS] = {{.kind = 0}};
    uint64_t stream = sync.stream;

    _Static_assert((int)LAKE_SYNC_name == LAKE_API_name, "the order of sync");
    fill_host(lake, row, cells);
    cells[LAKE_SYNC_context] = tables_some(sync.context);
    if (stream != NO_ID)
        cells[LAKE_SYNC_stream] = TABLES_NUMBER(stream);
    cells[LAKE_SYNC_event] = tables_some(sync.event);
    cells[LAKE_SYNC_iteration] = tables_some(row->iteration);
    return tables_put(lake->tables, LAKE_SYNC, cells);
}

static enum mp_status put_nvtx(struct lake *lake, const struct export_row *row)
{
    struct tables_cell cells[LAKE_NVTX_COLUMNS] = {{.kind = 0}};

    fill_time(lake, row, cells);
    if (row->thread)
        cells[LAKE_NVTX_thread] = TABLES_NUMBER(row->thread->tid);
    cells[LAKE_NVTX_name] = TABLES_WORDS(row->name.text, row->name.bytes);
    if (row->domain.text)
        cells[LAKE_NVTX_domain] = TABLES_WORDS(row->domain.text, row->domain.bytes);
    cells[LAKE_NVTX_mark] = TABLES_NUMBER(row->kind == EXPORT_MARK);
    if (row->pushed)
        cells[LAKE_NVTX_depth] = TABLES_NUMBER((int32_t)row->depth);
    cells[LAKE_NVTX_open] = TABLES_NUMBER(row->open);
    cells[LAKE_NVTX_iteration] = tables_some(row->iteration);
    return tables_put(lake->tables, LAKE_NVTX, cells);
}

enum mp_status lake_put_event(struct lake *lake, const struct export_row *row)
{
    static enum mp_status (*const put[EXPORT_KINDS])(struct lake *, const struct export_row *) = {
        [EXPORT_KERNEL] = put_kernel,      [EXPORT_COPY] = put_copy, [EXPORT_SET] = put_set,
        [EXPORT_CALL] = put_call,          [EXPORT_SYNC] = put_sync, [EXPORT_RANGE] = put_nvtx,
        [EXPORT_MARK] = put_nvtx,          [EXPORT_WAIT] = put_wait, [EXPORT_GRAPH] = put_work,
        [EXPORT_HOST_FUNCTION] = put_work,
    };

    return put[row->kind] ? put[row->kind](lake, row) : MP_OK;
}

/* ---- Edges ---- */

/* The row of an activity is that of its first piece. */
static uint32_t row_of_activity(const struct deps *deps, uint32_t index)
{
    return index < deps->host_count ? deps->activities[index].first_of_call : index;
}

enum mp_status lake_put_edges(struct lake *lake)
{
    static const char *const reasons[DEPS_REASONS] = {
        [DEPS_UNKNOWN] = "unknown",
        [DEPS_PROGRAM_ORDER] = "program_order",
        [DEPS_LAUNCH] = "launch",
        [DEPS_STREAM_ORDER] = "stream_order",
        [DEPS_EVENT] = "event",
        [DEPS_DEFAULT_STREAM] = "default_stream",
        [DEPS_SYNCHRONISATION] = "synchronisation",
        [DEPS_GRAPH_EDGE] = "graph_edge",
        [DEPS_IN_EFFECT] = "in_effect",
        [DEPS_WOKEN] = "woken",
        [DEPS_PEER] = "peer",
        [DEPS_BY_TIME] = "by_time",
    };
    const struct export_analyses *analyses = export_rows_analyses(lake->process->rows);
    const struct deps *deps = &analyses->deps;

    for (uint32_t i = 0; analyses->known && i < deps->count; i++) {
        uint32_t bound = deps_bound_to(deps, i);
        struct tables_cell cells[LAKE_EDGE_COLUMNS] = {{.kind = 0}};

        if (bound == DEPS_NONE || row_of_activity(deps, bound) == row_of_activity(deps, i))
            continue;
        cells[LAKE_EDGE_run_id] = tables_words(lake->run);
        cells[LAKE_EDGE_activity] = TABLES_NUMBER((int32_t)row_of_activity(deps, i));
        cells[LAKE_EDGE_waited_for] = TABLES_NUMBER((int32_t)row_of_activity(deps, bound));
        cells[LAKE_EDGE_reason] = tables_words(reasons[deps->activities[i].bound]);
        MP_TRY(tables_put(lake->tables, LAKE_EDGE, cells));
    }
    return MP_OK;
}
