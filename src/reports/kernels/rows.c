/* The rows of the result while they are made. Launches that differ in what a row does not show
 * become one row; a value in which they differ is marked as not one value.
 */
#include "reports/kernels/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "profile/activity.h"
#include "profile/names/kernel_kinds.h"

#include "base/poison.h"

/* ---- Rows and their keys ---- */

static enum mp_status new_row(struct kernels_making *making, uint32_t *index)
{
    struct kernels *kernels = making->kernels;

    if (kernels->row_count >= MP_MAP_ABSENT)
        return MP_ERR_MEMORY;
    MP_TRY(mp_reserve((void **)&kernels->rows, kernels->row_count, &making->row_capacity,
                      sizeof *kernels->rows));
    MP_TRY(mp_reserve((void **)&making->sums, kernels->row_count, &making->sum_capacity,
                      sizeof *making->sums));
    *index = (uint32_t)kernels->row_count++;
    kernels->rows[*index] = (struct kernels_row){.calls = 0};
    making->sums[*index] = (struct kernels_sums){.row = *index};
    return MP_OK;
}

/* The row of these launches, made if it is new. `name` is a number in kernels->names. */
static enum mp_status find_row(struct kernels_making *making, uint32_t name, uint64_t device,
                               uint32_t *index)
{
    /* Ordinals are small. A large one comes from damage and may share a key with another. */
    uint64_t key = (uint64_t)name << 32 | (uint32_t)device;

    if (!making->options->by_name)
        return new_row(making, index);
    *index = mp_map_get(&making->by_name, key);
    if (*index != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(new_row(making, index));
    return mp_map_put(&making->by_name, key, *index);
}

/* ---- Adding up ---- */

static bool same(const uint32_t a[3], const uint32_t b[3])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

static unsigned differences(const struct launch_shape *a, const struct launch_shape *b)
{
    unsigned differing = 0;

    differing |= same(a->grid, b->grid) ? 0 : KERNELS_GRID;
    differing |= same(a->block, b->block) ? 0 : KERNELS_BLOCK;
    differing |= same(a->cluster, b->cluster) ? 0 : KERNELS_CLUSTER;
    differing |= a->registers == b->registers ? 0 : KERNELS_REGISTERS;
    differing |= a->static_shared == b->static_shared ? 0 : KERNELS_STATIC_SHARED;
    differing |= a->dynamic_shared == b->dynamic_shared ? 0 : KERNELS_DYNAMIC_SHARED;
    differing |= a->configured_shared == b->configured_shared ? 0 : KERNELS_CONFIGURED_SHARED;
    differing |= a->local_memory == b->local_memory ? 0 : KERNELS_LOCAL_MEMORY;
    return differing;
}

static void add_shape(struct kernels_row *row, struct kernels_sums *sums,
                      const struct kernels_launches *launches)
{
    static const struct launch_shape undefined;
    const struct launch_shape *shape = launches->shape ? launches->shape : &undefined;

    if (row->shapes)
        row->differing |= differences(&row->shape, shape);
    if (!row->shapes || launches->tally->total > sums->max) {
        row->shape = *shape;
        row->shape_id = launches->shape_id;
        sums->max = launches->tally->total;
    }
    row->shapes++;
}

static void add_occupancy(struct kernels_row *row, struct kernels_sums *sums,
                          const struct kernels_launches *launches)
{
    uint64_t total = launches->tally->total;
    struct occupancy occupancy;

    if (!launches->shape || !launches->limits ||
        !occupancy_of(launches->shape, launches->limits, &occupancy))
        return;
    if (!row->has_occupancy || occupancy.percent < row->min_percent)
        row->min_percent = occupancy.percent;
    if (!row->has_occupancy || occupancy.percent > row->max_percent)
        row->max_percent = occupancy.percent;
    if (row->has_occupancy && (memcmp(occupancy.by, row->occupancy.by, sizeof occupancy.by) != 0 ||
                               occupancy.fills_wave != row->occupancy.fills_wave))
        row->differing |= KERNELS_LIMITS;
    if (!row->has_occupancy || total > sums->largest_known) {
        row->occupancy = occupancy;
        sums->largest_known = total;
    }
    row->has_occupancy = true;
    sums->percent += occupancy.percent * (double)total;
    sums->waves += occupancy.waves * (double)total;
    sums->known += total;
}

enum mp_status kernels_making_add(struct kernels_making *making,
                                  const struct kernels_launches *launches)
{
    struct kernels *kernels = making->kernels;
    const char *name =
        definitions_kernel(&kernels->definitions, launches->shape_id, making->options->style);
    const char *known = name ? name : ACTIVITY_UNNAMED_KERNEL;
    uint32_t id, index;

    if (making->options->by)
        known = called_from_text(launches->callers, known, strlen(known), launches->line);
    id = known ? mp_intern_add(&kernels->names, known, strlen(known)) : 0;
    if (!id)
        return MP_ERR_MEMORY;
    if (!name)
        kernels->quality.undefined += launches->tally->calls;
    MP_TRY(find_row(making, id, launches->device, &index));
    kernels->rows[index].name = mp_intern_get(&kernels->names, id, NULL);
    kernels->rows[index].device = launches->device;
    kernels->rows[index].tensor_cores = kernel_uses_tensor_cores(
        definitions_kernel(&kernels->definitions, launches->shape_id, NAMES_READABLE));
    add_shape(&kernels->rows[index], &making->sums[index], launches);
    add_occupancy(&kernels->rows[index], &making->sums[index], launches);
    tally_merge(&making->sums[index].tally, launches->tally);
    return MP_OK;
}

/* ---- Completing ---- */

static void complete_row(struct kernels *kernels, const struct kernels_sums *sums)
{
    struct kernels_row *row = &kernels->rows[sums->row];
    const struct tally *tally = &sums->tally;

    row->calls = tally->calls;
    row->total = tally->total;
    row->min = tally->min;
    row->max = tally->max;
    row->mean = (double)tally->total / (double)tally->calls;
    row->percent = kernels->total ? 100.0 * (double)tally->total / (double)kernels->total : 0;
    /* With a single shape the sums are exact already. */
    if (row->shapes > 1 && sums->known) {
        row->occupancy.percent = sums->percent / (double)sums->known;
        row->occupancy.waves = sums->waves / (double)sums->known;
    }
}

static void add_totals(struct kernels *kernels, const struct kernels_sums *sums, double *percent)
{
    kernels->calls += sums->tally.calls;
    kernels->total += sums->tally.total;
    if (kernels->rows[sums->row].tensor_cores)
        kernels->tensor_total += sums->tally.total;
    kernels->percent_total += sums->known;
    *percent += sums->percent;
}

static int kernels_compare_rows(const void *left, const void *right)
{
    const struct kernels_row *a = left;
    const struct kernels_row *b = right;
    int order;

    if (a->total != b->total)
        return a->total < b->total ? 1 : -1;
    order = strcmp(a->name, b->name);
    if (order)
        return order;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return (a->shape_id > b->shape_id) - (a->shape_id < b->shape_id);
}

void kernels_making_end(struct kernels_making *making)
{
    struct kernels *kernels = making->kernels;
    double percent = 0;

    for (size_t i = 0; i < kernels->row_count; i++)
        add_totals(kernels, &making->sums[i], &percent);
    for (size_t i = 0; i < kernels->row_count; i++)
        complete_row(kernels, &making->sums[i]);
    kernels->percent = kernels->percent_total ? percent / (double)kernels->percent_total : 0;
    if (kernels->row_count)
        qsort(kernels->rows, kernels->row_count, sizeof *kernels->rows, kernels_compare_rows);
    free(making->sums);
    mp_map_free(&making->by_name);
}
