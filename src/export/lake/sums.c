/* What is added up as rows come: kernels by name and launch shape, calls by name, NCCL's operations
 * by communicator and function.
 */
#include "base/data/algorithms.h"
#include "export/lake/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "profile/common/statistics.h"

#include "base/poison.h"

/* ---- Kernels and calls ---- */

/* How often, how long, how much of it on the critical path. Memory: 8 bytes a row, so that
 * percentiles are exact. */

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
    MP_TRY(MP_RESERVE(lake->sums, number, lake->sum_capacity));
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
    MP_TRY(MP_RESERVE(sum->durations, sum->count, sum->capacity));
    sum->durations[sum->count++] = row->duration;
    if (analyses->known && row->activity != DEPS_NONE)
        sum->critical += analyses->critical[row->activity];
    return MP_OK;
}

/* calls, total, min, p50, p99, max and critical follow each other in this order in both tables. */
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

    cells[LAKE_KERNEL_SUMMARY_run_id] = tables_words(lake->run);
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

    cells[LAKE_API_SUMMARY_run_id] = tables_words(lake->run);
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

/* ---- NCCL's operations ---- */

/* How many, how long, and, where the job's ranks are matched, how much of it was waiting.
 *
 * Kernels come as rows, and the calls that they carry are looked up. What the matching found of the
 * process lies sorted by the begins of its kernels, so that a row finds its part:
 *
 *     found   (begin of the kernel, instance, side), ...      each is taken once
 *
 * An operation that shares its kernel with n - 1 others counts 1/n of the kernel's times. Memory:
 * 32 bytes for each matched operation of the process.
 */

#define HASH_BYTES 24

/* A side of an instance. */
struct found {
    uint64_t begin; /* of its kernel, as recorded */
    const struct ranks_instance *instance;
    const struct ranks_side *side;
    bool taken;
};

/* Without padding, since it is compared as bytes. */
struct key {
    uint64_t hash;
    uint64_t function; /* number of the text */
};

struct sum {
    struct ranks_operation operation; /* the first one */
    uint64_t instances, bytes, matched, last;
    double kernel, waiting, transfer, late; /* ns */
};

struct lake_collectives {
    const struct ranks *ranks; /* NULL: not matched */
    struct ranks_operations *operations;
    struct found *found;
    size_t found_count, found_capacity;
    struct mp_intern keys; /* of struct key */
    struct sum *sums;      /* by number of the key - 1 */
    size_t sum_count, sum_capacity;
};

/* ---- What the matching found ---- */

static enum mp_status list_found(struct lake_collectives *collectives, uint32_t process)
{
    const struct ranks *ranks = collectives->ranks;

    for (size_t i = 0; i < ranks->instance_count; i++) {
        const struct ranks_instance *instance = &ranks->instances[i];

        for (uint32_t k = 0; k < instance->side_count; k++) {
            const struct ranks_side *side = &ranks->sides[instance->first_side + k];

            if (side->process != process)
                continue;
            MP_TRY(MP_RESERVE(collectives->found, collectives->found_count,
                              collectives->found_capacity));
            collectives->found[collectives->found_count++] =
                (struct found){side->recorded, instance, side, false};
        }
    }
    if (collectives->found_count)
        qsort(collectives->found, collectives->found_count, sizeof *collectives->found,
              mp_compare_u64);
    return MP_OK;
}

/* The first one whose kernel does not begin before. */
static size_t find_begin(const struct lake_collectives *collectives, uint64_t begin)
{
    return MP_SEARCH(0, collectives->found_count, i, collectives->found[i].begin < begin);
}

/* Of a send and its receive the instance has the sender's function. */
static bool is_of(const struct ranks *ranks, const struct found *found,
                  const struct ranks_operation *operation)
{
    const struct ranks_instance *instance = found->instance;

    if (ranks->communicators[instance->communicator].hash != operation->hash)
        return false;
    if (instance->from != RANKS_NONE)
        return !strcmp(operation->function, found->side->rank == instance->from ? "Send" : "Recv");
    return !strcmp(operation->function, ranks_function(ranks, instance->function));
}

static struct found *take(struct lake_collectives *collectives, uint64_t begin,
                          const struct ranks_operation *operation)
{
    for (size_t i = find_begin(collectives, begin);
         i < collectives->found_count && collectives->found[i].begin == begin; i++) {
        struct found *found = &collectives->found[i];

        if (!found->taken && is_of(collectives->ranks, found, operation)) {
            found->taken = true;
            return found;
        }
    }
    return NULL;
}

/* ---- Sums ---- */

static enum mp_status find_operation_sum(struct lake *lake, const struct ranks_operation *operation,
                                         struct sum **sum)
{
    struct lake_collectives *collectives = lake->collectives;
    const struct key key = {
        operation->hash,
        export_rows_intern(lake->process->rows, operation->function, strlen(operation->function))};
    uint32_t number = key.function ? mp_intern_add(&collectives->keys, &key, sizeof key) : 0;

    if (!number)
        return MP_ERR_MEMORY;
    if (number > collectives->sum_count) {
        MP_TRY(MP_RESERVE(collectives->sums, collectives->sum_count, collectives->sum_capacity));
        collectives->sums[collectives->sum_count++] = (struct sum){.operation = *operation};
    }
    *sum = &collectives->sums[number - 1];
    return MP_OK;
}

static void add_found(struct sum *sum, const struct ranks *ranks, const struct found *found)
{
    const struct ranks_instance *instance = found->instance;
    const struct ranks_side *side = found->side;

    sum->matched++;
    sum->waiting += (double)side->waiting / side->fused;
    sum->transfer += (double)instance->transfer / side->fused;
    if (instance->last != RANKS_NONE &&
        &ranks->sides[instance->first_side + instance->last] == side) {
        sum->last++;
        sum->late += (double)instance->late / side->fused;
    }
}

static enum mp_status add_operation(struct lake *lake, const struct export_row *row,
                                    const struct ranks_operation *operation, size_t fused)
{
    struct lake_collectives *collectives = lake->collectives;
    struct sum *sum;

    MP_TRY(find_operation_sum(lake, operation, &sum));
    sum->instances++;
    sum->bytes += operation->bytes;
    sum->kernel += (double)row->duration / (double)fused;
    const struct found *found =
        collectives->ranks ? take(collectives, row->start, operation) : NULL;
    if (found)
        add_found(sum, collectives->ranks, found);
    return MP_OK;
}

enum mp_status lake_add_collectives(struct lake *lake, const struct export_row *row)
{
    size_t first;

    if (!lake->collectives || row->kind != EXPORT_KERNEL)
        return MP_OK;
    size_t count = ranks_operations_find(lake->collectives->operations, row->correlation,
                                         row->graph, row->graph_node, &first);
    for (size_t i = 0; i < count; i++) {
        const struct ranks_operation operation =
            ranks_operations_at(lake->collectives->operations, first + i);

        if (operation.function)
            MP_TRY(add_operation(lake, row, &operation, count));
    }
    return MP_OK;
}

/* ---- The process ---- */

enum mp_status lake_open_collectives(struct lake *lake, struct mp_error *error)
{
    const struct export_process *process = lake->process;
    struct ranks_operations *operations;
    struct lake_collectives *collectives;
    enum mp_status status = ranks_operations_load(process->trace, &operations, error);

    if (status != MP_OK || !operations)
        return status;
    lake->collectives = collectives = calloc(1, sizeof *collectives);
    if (!collectives) {
        ranks_operations_free(operations);
        return mp_error_set(error, MP_ERR_MEMORY, "cannot add NCCL's calls up: out of memory");
    }
    collectives->operations = operations;
    collectives->ranks = process->ranks;
    return collectives->ranks ? list_found(collectives, process->ranks_process) : MP_OK;
}

static struct tables_cell whole(double value)
{
    return TABLES_NUMBER((uint64_t)(value + 0.5));
}

static enum mp_status put_sum(struct lake *lake, uint64_t function, const struct sum *sum)
{
    const struct ranks_operation *operation = &sum->operation;
    struct tables_cell cells[LAKE_COLLECTIVE_COLUMNS] = {{.kind = 0}};
    struct export_text text;
    char hash[HASH_BYTES];

    MP_TRY(export_rows_text(lake->process->rows, (uint32_t)function, &text));
    snprintf(hash, sizeof hash, "%016" PRIx64, operation->hash);
    cells[LAKE_COLLECTIVE_run_id] = tables_words(lake->run);
    if (operation->hash)
        cells[LAKE_COLLECTIVE_communicator] = tables_words(hash);
    cells[LAKE_COLLECTIVE_name] = tables_words(operation->name);
    cells[LAKE_COLLECTIVE_ranks] = tables_some(operation->ranks);
    if (operation->rank != RANKS_NONE)
        cells[LAKE_COLLECTIVE_comm_rank] = TABLES_NUMBER((int32_t)operation->rank);
    cells[LAKE_COLLECTIVE_function] = TABLES_WORDS(text.text, text.bytes);
    cells[LAKE_COLLECTIVE_instances] = TABLES_NUMBER(sum->instances);
    cells[LAKE_COLLECTIVE_bytes] = tables_some(sum->bytes);
    cells[LAKE_COLLECTIVE_kernel_ns] = whole(sum->kernel);
    cells[LAKE_COLLECTIVE_matched] = TABLES_NUMBER(sum->matched);
    if (sum->matched) {
        cells[LAKE_COLLECTIVE_waiting_ns] = whole(sum->waiting);
        cells[LAKE_COLLECTIVE_transfer_ns] = whole(sum->transfer);
        cells[LAKE_COLLECTIVE_last_instances] = TABLES_NUMBER(sum->last);
        cells[LAKE_COLLECTIVE_late_ns] = whole(sum->late);
    }
    return tables_put(lake->tables, LAKE_COLLECTIVE, cells);
}

enum mp_status lake_put_collectives(struct lake *lake)
{
    const struct lake_collectives *collectives = lake->collectives;

    for (uint32_t i = 1; collectives && i <= collectives->sum_count; i++) {
        struct key key;

        memcpy(&key, mp_intern_get(&collectives->keys, i, NULL), sizeof key);
        MP_TRY(put_sum(lake, key.function, &collectives->sums[i - 1]));
    }
    return MP_OK;
}

void lake_forget_collectives(struct lake *lake)
{
    struct lake_collectives *collectives = lake->collectives;

    if (!collectives)
        return;
    lake->collectives = NULL;
    ranks_operations_free(collectives->operations);
    mp_intern_free(&collectives->keys);
    free(collectives->found);
    free(collectives->sums);
    free(collectives);
}
