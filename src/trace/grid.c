/* Finding the grid that a device's times lie on.
 *
 * An H100 stamps its work in steps of 32 ns of its own clock. CUPTI maps that clock to the host's
 * by straight lines, so the steps arrive as 32.0006 ns or so, rounded down: the raw remainder looks
 * like noise of a bit or two for every time, although nothing is random in it. Measured on one
 * H100: over 35 ms, 18.25 ppm of slope and never more than 1 ns off.
 *
 * A step is tried on a sample: times are followed from one to the next, and what is left over of
 * each step is the drift. On a grid it is a fraction of the step; elsewhere it is spread evenly, a
 * quarter of the step on average. The line through all sampled ticks then gives slope and offset.
 */
#include "trace/predict.h"

#include "base/poison.h"

#define SAMPLE_TIMES 4096
#define FEWEST_TIMES 24 /* fewer show nothing, and cost nothing either */

/* ns; the greatest that fits wins. 1000 and 1024: older devices. */
static const unsigned step_candidates[] = {1024, 1000, 512, 32};

/* libminiprof.so needs nothing but libc, so no libm. Both are exact below 2^53, where all ticks
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
    double drift; /* sum of what is left over from one time to the next, ns */
    double tick, correction, step;
};

static void trial_add(struct trial *trial, double offset)
{
    double tick = round_down((offset - trial->correction) / trial->step + 0.5);
    double correction = offset - tick * trial->step;
    trial->drift += magnitude(correction - trial->correction);
    trial->correction = correction;
    line_add(&trial->line, tick, offset);
}

/* Follows a sample of the times with the given step. */
static struct trial trial_run(const uint64_t *start, const uint64_t *span, uint32_t rows,
                              uint64_t anchor, double step)
{
    struct trial trial = {.step = step};
    for (uint32_t i = 0; i < rows; i++) {
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
    if (!(magnitude(slope - step) < step * 1e-3))
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
                     struct mp_grid *grid)
{
    uint32_t sample = rows < SAMPLE_TIMES ? rows : SAMPLE_TIMES;
    struct trial trial = trial_run(start, span, sample, grid->anchor, step);
    if (trial.line.n < FEWEST_TIMES || trial.drift > trial.line.n * step / 16)
        return false;
    struct mp_grid refined = *grid;
    if (!grid_from_line(&trial.line, step, &refined))
        return false;
    if (rows > sample) { /* the slope is known well enough now to follow the whole chunk */
        double slope = (double)refined.step / (double)MP_GRID_UNIT;
        struct mp_grid whole = *grid;
        trial = trial_run(start, span, rows, grid->anchor, slope);
        if (grid_from_line(&trial.line, slope, &whole))
            refined = whole;
    }
    *grid = refined;
    return true;
}

struct mp_grid mp_grid_find(const uint64_t *start, const uint64_t *span, uint32_t rows,
                            uint64_t hint)
{
    struct mp_grid grid = {.step = MP_GRID_UNIT};
    for (uint32_t i = 0; i < rows && !grid.anchor; i++)
        grid.anchor = start[i];
    if (hint == MP_GRID_UNIT)
        return grid;
    if (hint && try_step(start, span, rows, (double)hint / (double)MP_GRID_UNIT, &grid))
        return grid;
    for (unsigned i = 0; i < sizeof step_candidates / sizeof *step_candidates; i++)
        if (try_step(start, span, rows, step_candidates[i], &grid))
            return grid;
    return grid;
}
