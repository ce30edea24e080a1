/* Pairs equal items of two sequences (Myers, in linear space). Both sequences are walked from both
 * ends at once; where the two walks meet, the sequences are cut in two, and each half is aligned by
 * itself. */
#include "profile/common/align.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/poison.h"

/* A stretch of each sequence. */
struct stretch {
    uint32_t left, left_end;
    uint32_t right, right_end;
};

struct alignment {
    const uint32_t *left, *right;
    struct align_pair *pairs;
    size_t count;
    /* how far each diagonal has come, by left - right + middle; one from the begin, one from the
     * end */
    int64_t *forward, *backward;
    int64_t middle;
};

static void align_put(struct alignment *alignment, uint32_t left, uint32_t right)
{
    alignment->pairs[alignment->count++] = (struct align_pair){left, right};
}

static void put_unpaired(struct alignment *alignment, const struct stretch *stretch)
{
    for (uint32_t i = stretch->left; i < stretch->left_end; i++)
        align_put(alignment, i, ALIGN_NONE);
    for (uint32_t i = stretch->right; i < stretch->right_end; i++)
        align_put(alignment, ALIGN_NONE, i);
}

/* ---- Where two walks meet ---- */

struct meeting {
    uint32_t left, right;
};

/* What a walk knows: positions are relative to the stretch, diagonals to its begin. */
struct walk {
    const struct alignment *alignment;
    const struct stretch *stretch;
    int64_t width, height; /* of the stretch: items left, items right */
};

/* Whether the items after x and y are equal; seen from the end if `back`. */
static bool is_equal(const struct walk *walk, int64_t x, int64_t y, bool back)
{
    const struct alignment *alignment = walk->alignment;
    const struct stretch *stretch = walk->stretch;

    if (x >= walk->width || y >= walk->height)
        return false;
    return back ? alignment->left[stretch->left_end - 1 - x] ==
                      alignment->right[stretch->right_end - 1 - y]
                : alignment->left[stretch->left + x] == alignment->right[stretch->right + y];
}

/* How far a diagonal comes with this many differences, counted from where the walk began. */
static int64_t go_on(const struct walk *walk, int64_t *reached, int64_t diagonal,
                     int64_t differences, bool back)
{
    bool down = diagonal == -differences ||
                (diagonal != differences && reached[diagonal - 1] < reached[diagonal + 1]);
    int64_t x = down ? reached[diagonal + 1] : reached[diagonal - 1] + 1;

    while (is_equal(walk, x, x - diagonal, back))
        x++;
    reached[diagonal] = x;
    return x;
}

static bool is_inside(const struct walk *walk, int64_t x, int64_t diagonal)
{
    return x <= walk->width && x - diagonal <= walk->height && x - diagonal >= 0;
}

/* One step of each walk; true when they have met. */
static bool step(const struct walk *walk, int64_t differences, struct meeting *meeting)
{
    int64_t *forward = walk->alignment->forward + walk->alignment->middle;
    int64_t *backward = walk->alignment->backward + walk->alignment->middle;
    int64_t delta = walk->width - walk->height;

    for (int64_t diagonal = -differences; diagonal <= differences; diagonal += 2) {
        int64_t x = go_on(walk, forward, diagonal, differences, false);
        int64_t other = delta - diagonal;

        if (delta % 2 == 0 || other < -(differences - 1) || other > differences - 1 ||
            x + backward[other] < walk->width || !is_inside(walk, x, diagonal) ||
            !is_inside(walk, backward[other], other))
            continue;
        *meeting = (struct meeting){(uint32_t)x, (uint32_t)(x - diagonal)};
        return true;
    }
    for (int64_t diagonal = -differences; diagonal <= differences; diagonal += 2) {
        int64_t x = go_on(walk, backward, diagonal, differences, true);
        int64_t other = delta - diagonal;

        if (delta % 2 != 0 || other < -differences || other > differences ||
            x + forward[other] < walk->width || !is_inside(walk, x, diagonal) ||
            !is_inside(walk, forward[other], other))
            continue;
        *meeting = (struct meeting){(uint32_t)(walk->width - x),
                                    (uint32_t)(walk->height - (x - diagonal))};
        return true;
    }
    return false;
}

/* Returns false when there are too many differences. */
static bool meet(const struct alignment *alignment, const struct stretch *stretch,
                 struct meeting *meeting)
{
    const struct walk walk = {.alignment = alignment,
                              .stretch = stretch,
                              .width = stretch->left_end - stretch->left,
                              .height = stretch->right_end - stretch->right};

    alignment->forward[alignment->middle + 1] = 0;
    alignment->backward[alignment->middle + 1] = 0;
    for (int64_t differences = 0; differences <= ALIGN_PATIENCE; differences++)
        if (step(&walk, differences, meeting))
            return true;
    return false;
}

/* ---- The whole ---- */

/* Pairs equal items at the begin; returns how many items at the end are equal. */
static uint32_t trim(struct alignment *alignment, struct stretch *stretch)
{
    uint32_t same = 0;

    while (stretch->left < stretch->left_end && stretch->right < stretch->right_end &&
           alignment->left[stretch->left] == alignment->right[stretch->right])
        align_put(alignment, stretch->left++, stretch->right++);
    while (stretch->left < stretch->left_end && stretch->right < stretch->right_end &&
           alignment->left[stretch->left_end - 1] == alignment->right[stretch->right_end - 1]) {
        stretch->left_end--;
        stretch->right_end--;
        same++;
    }
    return same;
}

/* Each call cuts a stretch in two, so the depth is at most twice the bits of the number of
 * differences. */
static void align(struct alignment *alignment, struct stretch stretch)
{
    uint32_t same = trim(alignment, &stretch);
    struct stretch begin = stretch;
    struct stretch end = stretch;
    struct meeting meeting;

    if (stretch.left == stretch.left_end || stretch.right == stretch.right_end ||
        !meet(alignment, &stretch, &meeting)) {
        put_unpaired(alignment, &stretch);
    } else {
        begin.left_end = end.left = stretch.left + meeting.left;
        begin.right_end = end.right = stretch.right + meeting.right;
        align(alignment, begin);
        align(alignment, end);
    }
    for (uint32_t i = 0; i < same; i++)
        align_put(alignment, stretch.left_end + i, stretch.right_end + i);
}

enum mp_status align_sequences(const uint32_t *left, size_t left_count, const uint32_t *right,
                               size_t right_count, struct align_pair **pairs, size_t *count)
{
    struct alignment alignment = {.left = left, .right = right};
    int64_t *reached;

    *pairs = NULL;
    *count = 0;
    if (left_count > ALIGN_MAX || right_count > ALIGN_MAX - left_count)
        return MP_ERR_LIMIT;
    size_t max = left_count + right_count + 2;
    if (max > ALIGN_PATIENCE + 2)
        max = ALIGN_PATIENCE + 2;
    reached = calloc(2 * (2 * max + 1), sizeof *reached);
    alignment.pairs = calloc(left_count + right_count + 1, sizeof *alignment.pairs);
    if (!reached || !alignment.pairs) {
        free(reached);
        free(alignment.pairs);
        return MP_ERR_MEMORY;
    }
    alignment.middle = (int64_t)max;
    alignment.forward = reached;
    alignment.backward = reached + 2 * max + 1;
    align(&alignment, (struct stretch){0, (uint32_t)left_count, 0, (uint32_t)right_count});
    free(reached);
    *pairs = alignment.pairs;
    *count = alignment.count;
    return MP_OK;
}
