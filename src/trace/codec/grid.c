/* Finds the grid that a device's times lie on.
 *
 * An H100 stamps its work in steps of 32 ns of its own clock. CUPTI maps that clock to the host's
 * by straight lines, so the steps arrive as 32.0006 ns or so, rounded down. The raw remainder then
 * looks like one or two bits of noise in every time, although nothing in it is random. Measured on
 * one H100 over 35 ms: 18.25 ppm of slope, and never more than 1 ns off the line.
 *
 * A step is tried on a sample. Times are followed from one to the next, and the remainder after
 * whole steps is the drift. On a grid the drift is a small fraction of the step; elsewhere it is
 * spread evenly, a quarter of the step on average. Only times near each other are judged in this
 * way, because over a longer gap the unknown slope itself shifts times by more than a step. The
 * near times give a first slope, then all times are followed with it, and the line through their
 * ticks gives slope and offset.
 */
#include "trace/codec/predict.h"

#include "base/poison.h"

#define SAMPLE_ROWS  2048
#define FINEST_STEP  2   /* ns; ticks of a finer one might not fit in 63 bits */
#define FEWEST_TIMES 24  /* fewer show nothing, and cost nothing either */
#define FEWEST_KNOWN 6   /* the same for a step that another chunk has shown */
#define NEAR         1e5 /* ns: over that, 50 ppm of slope are 5 ns */

/* ns; the greatest that fits wins. 1000 and 1024: older devices. */
static const unsigned step_candidates[] = {1024, 1000, 512, 32};

/* libminiprof.so needs only libc, hence no libm. Both functions are exact below 2^53, and all ticks
 * are. */
static double round_down(double x)
{
    double whole = (double)(int64_t)x;
    return whole > x ? whole - 1 : whole;
}

static double magnitude(double x)
{
    return x < 0 ? -x : x;
}

/* Sums of the least squares line through (tick, offset). */
struct line {
    double n, x, y, xx, xy;
};

static void line_add(struct line *line, double x, double y)
{
    line->n += 1;
    line->x += x;
    line->y += y;
    line->xx += x * x;
    line->xy += x * y;
}

struct trial {
    struct line line;
    double near, drift;       /* number of near times, and the sum of their remainders, ns */
    double products, squares; /* of ticks and remainders of the near times */
    double tick, correction, step;
};

static void trial_add(struct trial *trial, double offset)
{
    double tick = round_down((offset - trial->correction) / trial->step + 0.5);
    double correction = offset - tick * trial->step;
    double moved = tick - trial->tick;
    double left = correction - trial->correction;
    if (magnitude(moved) * trial->step < NEAR) {
        trial->near += 1;
        trial->drift += magnitude(left);
        trial->products += left * moved;
        trial->squares += moved * moved;
    }
    trial->tick = tick;
    trial->correction = correction;
    line_add(&trial->line, tick, offset);
}

/* Follows every `stride`th row's times with the given step. */
static struct trial trial_run(const uint64_t *start, const uint64_t *span, uint32_t rows,
                              uint32_t stride, uint64_t anchor, double step)
{
    struct trial trial = {.step = step};
    for (uint32_t i = 0; i < rows; i += stride) {
        if (!start[i])
            continue;
        trial_add(&trial, (double)(int64_t)(start[i] - anchor));
        if (span)
            trial_add(&trial, (double)(int64_t)(start[i] + span[i] - anchor));
    }
    return trial;
}

/* The grid of the line through the trial's ticks; false if the line makes no sense as a step. */
static bool grid_from_line(const struct line *line, double step, struct mp_grid *grid)
{
    double spread = line->n * line->xx - line->x * line->x;
    if (spread <= 0)
        return false;
    double slope = (line->n * line->xy - line->x * line->y) / spread;
    if (!(magnitude(slope - step) < step * 1e-3) || slope < FINEST_STEP)
        return false;
    double offset = (line->y - slope * line->x) / line->n + 0.5; /* times were rounded down */
    if (!(magnitude(offset) < 1e9))
        return false;
    double whole = round_down(offset);
    grid->step = (uint64_t)(slope * (double)MP_GRID_UNIT + 0.5);
    grid->anchor += (uint64_t)(int64_t)whole;
    grid->fraction = (uint32_t)((offset - whole) * (double)MP_GRID_UNIT);
    return true;
}

static bool try_step(const uint64_t *start, const uint64_t *span, uint32_t rows, double step,
                     double fewest, struct mp_grid *grid)
{
    uint32_t sample = rows < SAMPLE_ROWS ? rows : SAMPLE_ROWS;
    struct trial trial = trial_run(start, span, sample, 1, grid->anchor, step);
    if (trial.near < fewest || trial.drift > trial.near * step / 16)
        return false;
    double slope = trial.squares > 0 ? step + trial.products / trial.squares : step;
    if (fewest == FEWEST_KNOWN) /* it was measured over more times than these */
        slope = step;
    if (magnitude(slope - step) > step * 1e-3)
        return false;
    trial =
        trial_run(start, span, rows, (rows + SAMPLE_ROWS - 1) / SAMPLE_ROWS, grid->anchor, slope);
    return grid_from_line(&trial.line, slope, grid);
}

struct mp_grid mp_grid_find(const uint64_t *start, const uint64_t *span, uint32_t rows,
                            uint64_t hint)
{
    struct mp_grid grid = {.step = MP_GRID_UNIT};
    for (uint32_t i = 0; i < rows && !grid.anchor; i++)
        grid.anchor = start[i];
    if (hint > MP_GRID_UNIT &&
        try_step(start, span, rows, (double)hint / (double)MP_GRID_UNIT, FEWEST_KNOWN, &grid))
        return grid;
    for (unsigned i = 0; i < sizeof step_candidates / sizeof *step_candidates; i++)
        if (try_step(start, span, rows, step_candidates[i], FEWEST_TIMES, &grid))
            return grid;
    return grid;
}
