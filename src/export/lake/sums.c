/* Kernels by name and launch shape, calls by name: how often, how long, how much of it on the
 * critical path. Memory: 8 bytes a row, so that percentiles are exact.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/reserve.h"
#include "export/lake/build.h"
#include "profile/common/statistics.h"

#include "base/poison.h"

static void fill_key(const struct export_row *row, struct lake_key *key)
{
    memset(key, 0, sizeof *key);
    key->name = row->name.id;
    key->kind = row->kind;
    if (row->kind != EXPORT_KERNEL)
        return;
    key->device = row->place ? row->place->device + 1 : 0;
    if (!row->shape)
        return;
    memcpy(key->shape.grid, row->shape->grid, sizeof key->shape.grid);
    memcpy(key->shape.block, row->shape->block, sizeof key->shape.block);
    key->shape.registers = row->shape->registers;
    key->shape.static_shared = row->shape->static_shared;
    key->shape.dynamic_shared = row->shape->dynamic_shared;
    key->shape.defined = true;
}

static enum mp_status find_sum(struct lake *lake, const struct lake_key *key, struct lake_sum **sum)
{
    size_t before = lake->sum_capacity;
    uint32_t number = mp_intern_add(&lake->keys, key, sizeof *key);

    if (!number)
        return MP_ERR_MEMORY;
    MP_TRY(mp_reserve((void **)&lake->sums, number, &lake->sum_capacity, sizeof *lake->sums));
    if (lake->sum_capacity > before)
        memset(lake->sums + before, 0, (lake->sum_capacity - before) * sizeof *lake->sums);
    *sum = &lake->sums[number];
    return MP_OK;
}

enum mp_status lake_add(struct lake *lake, const struct export_row *row)
{
    const struct export_analyses *analyses = export_rows_analyses(lake->process->rows);
    struct lake_sum *sum;
    struct lake_key key;

    lake->totals[row->kind].count++;
    lake->totals[row->kind].time += row->duration;
    if (row->kind != EXPORT_KERNEL && row->kind != EXPORT_CALL)
        return MP_OK;
    fill_key(row, &key);
    MP_TRY(find_sum(lake, &key, &sum));
    MP_TRY(
        mp_reserve((void **)&sum->durations, sum->count, &sum->capacity, sizeof *sum->durations));
    sum->durations[sum->count++] = row->duration;
    if (analyses->known && row->activity != DEPS_NONE)
        sum->critical += analyses->critical[row->activity];
    return MP_OK;
}

/* calls, total, min, p50, p99, max and critical stand one behind the other in both tables. */
_Static_assert((int)LAKE_KERNEL_SUMMARY_critical_ns - LAKE_KERNEL_SUMMARY_calls == 6, "the order");
_Static_assert((int)LAKE_API_SUMMARY_critical_ns - LAKE_API_SUMMARY_calls == 6, "the order");

static void fill_numbers(const struct lake *lake, struct lake_sum *sum, struct tables_cell *cells)
{
    uint64_t total = 0;

    for (size_t i = 0; i < sum->count; i++)
        total += sum->durations[i];
    const struct statistics statistics = statistics_of(sum->durations, sum->count);
    cells[0] = TABLES_NUMBER(sum->count);
    cells[1] = TABLES_NUMBER(total);
    cells[2] = TABLES_NUMBER(statistics.min);
    cells[3] = TABLES_NUMBER(statistics.p50);
    cells[4] = TABLES_NUMBER(statistics.p99);
    cells[5] = TABLES_NUMBER(statistics.max);
    if (export_rows_analyses(lake->process->rows)->known)
        cells[6] = TABLES_NUMBER(sum->critical);
}

static enum mp_status put_kernel(struct lake *lake, const struct lake_key *key,
                                 const struct export_text *name, struct lake_sum *sum)
{
    struct tables_cell cells[LAKE_KERNEL_SUMMARY_COLUMNS] = {{.kind = 0}};

    cells[LAKE_KERNEL_SUMMARY_run_id] = lake_words(lake->run);
    cells[LAKE_KERNEL_SUMMARY_name] = TABLES_WORDS(name->text, name->bytes);
    if (key->device)
        cells[LAKE_KERNEL_SUMMARY_device] = TABLES_NUMBER(key->device - 1);
    for (int i = 0; i < 3 && key->shape.defined; i++) {
        cells[LAKE_KERNEL_SUMMARY_grid_x + i] = TABLES_NUMBER((int32_t)key->shape.grid[i]);
        cells[LAKE_KERNEL_SUMMARY_block_x + i] = TABLES_NUMBER((int32_t)key->shape.block[i]);
    }
    if (key->shape.defined) {
        cells[LAKE_KERNEL_SUMMARY_registers] = TABLES_NUMBER((int32_t)key->shape.registers);
        cells[LAKE_KERNEL_SUMMARY_smem_static] = TABLES_NUMBER((int32_t)key->shape.static_shared);
        cells[LAKE_KERNEL_SUMMARY_smem_dynamic] = TABLES_NUMBER((int32_t)key->shape.dynamic_shared);
    }
    fill_numbers(lake, sum, &cells[LAKE_KERNEL_SUMMARY_calls]);
    return tables_put(lake->tables, LAKE_KERNEL_SUMMARY, cells);
}

static enum mp_status put_call(struct lake *lake, const struct export_text *name,
                               struct lake_sum *sum)
{
    struct tables_cell cells[LAKE_API_SUMMARY_COLUMNS] = {{.kind = 0}};

    cells[LAKE_API_SUMMARY_run_id] = lake_words(lake->run);
    cells[LAKE_API_SUMMARY_name] = TABLES_WORDS(name->text, name->bytes);
    fill_numbers(lake, sum, &cells[LAKE_API_SUMMARY_calls]);
    return tables_put(lake->tables, LAKE_API_SUMMARY, cells);
}

enum mp_status lake_put_sums(struct lake *lake)
{
    for (uint32_t i = 1; i <= lake->keys.count; i++) {
        const void *bytes = mp_intern_get(&lake->keys, i, NULL);
        struct export_text name;
        struct lake_key key;

        memcpy(&key, bytes, sizeof key);
        MP_TRY(export_rows_text(lake->process->rows, key.name, &name));
        if (key.kind == EXPORT_KERNEL)
            MP_TRY(put_kernel(lake, &key, &name, &lake->sums[i]));
        else
            MP_TRY(put_call(lake, &name, &lake->sums[i]));
    }
    return MP_OK;
}

void lake_forget_sums(struct lake *lake)
{
    for (size_t i = 0; i < lake->sum_capacity; i++)
        free(lake->sums[i].durations);
    free(lake->sums);
    lake->sums = NULL;
    lake->sum_capacity = 0;
    mp_intern_free(&lake->keys);
    memset(lake->totals, 0, sizeof lake->totals);
}
