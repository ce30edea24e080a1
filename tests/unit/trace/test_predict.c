/* Prediction (docs/trace-format.md, section 6): any numbers there and back with any lanes and keys,
 * and the same numbers as a second implementation, written here from the document alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/codec.h"
#include "unit/trace_fixture.h"

#define ROWS     3000
#define PREDICTS 32 /* all combinations of the five bits */

static struct mp_predictor predictors[2];

/* ---- By the book ---- */

struct book {
    uint64_t last[1024], keys[1024], value[4096];
    bool seen[4096];
};

struct book_row {
    unsigned predict;
    uint64_t lane, keys, context;
};

static struct book_row book_place(const struct book *book, unsigned predict, uint64_t lane,
                                  uint64_t key1, uint64_t key2)
{
    struct book_row row = {.predict = predict};
    row.lane = (lane * 0x9E3779B185EBCA87) >> 54;
    row.keys = key1 * 0xC2B2AE3D27D4EB4F + key2 * 0x165667B19E3779F9;
    uint64_t h = row.keys + row.lane * 0x9E3779B185EBCA87;
    if (predict & 16)
        h += book->keys[row.lane] * 0x85EBCA77C2B2AE63;
    if (predict & 8)
        h += book->last[row.lane] * 0x27D4EB2F165667C5;
    row.context = ((h ^ (h >> 32)) * 0xFF51AFD7ED558CCD) >> 52;
    return row;
}

static uint64_t book_value(const struct book *book, const struct book_row *row)
{
    if (row->predict & 8 && !book->seen[row->context])
        return book->last[row->lane] + 1;
    if (row->predict & 4)
        return (uint64_t)((int64_t)(book->value[row->context] + 8) >> 4);
    return row->predict & 2 ? book->value[row->context] : 0;
}

static void book_learn(struct book *book, const struct book_row *row, uint64_t v)
{
    uint64_t *value = &book->value[row->context];
    if (row->predict & 4)
        *value = book->seen[row->context] ? *value + (uint64_t)((int64_t)((v << 4) - *value) >> 2)
                                          : v << 4;
    else if (row->predict & 2)
        *value = v;
    else
        return;
    book->seen[row->context] = true;
}

static uint64_t book_unzigzag(uint64_t x)
{
    return x % 2 ? ~(x / 2) : x / 2;
}

struct book_grid {
    uint64_t anchor, step, fraction;
    uint64_t offset;
    int lean;
};

static uint64_t book_time(struct book_grid *grid, uint64_t tick, uint64_t c)
{
    __int128 scaled = (__int128)(int64_t)tick * (__int128)grid->step + (__int128)grid->fraction;
    uint64_t time = grid->anchor + (uint64_t)(scaled >> 32) + grid->offset + c;
    int64_t by = (int64_t)c;
    if (by == 0) {
        grid->lean += grid->lean < 0 ? 1 : grid->lean > 0 ? -1 : 0;
    } else if (by < -1 || by > 1) {
        grid->offset += c;
        grid->lean = 0;
    } else {
        grid->lean += (int)by;
        if (grid->lean == 8 || grid->lean == -8) {
            grid->offset += c;
            grid->lean = 0;
        }
    }
    return time;
}

/* ---- Numbers ---- */

struct columns {
    uint64_t lane[ROWS], key1[ROWS], key2[ROWS];
    uint64_t values[ROWS], residuals[ROWS], back[ROWS];
    struct mp_keys keys;
};

static void make_columns(struct columns *columns, uint64_t seed)
{
    uint64_t random = seed;
    for (unsigned i = 0; i < ROWS; i++) {
        columns->lane[i] = fixture_random(&random) % (seed % 2 ? 5 : UINT64_MAX);
        columns->key1[i] = fixture_random(&random) % 7;
        columns->key2[i] = fixture_random(&random) % (seed % 3 ? 3 : UINT64_MAX);
        columns->values[i] = fixture_random(&random) >> (fixture_random(&random) % 64);
    }
    columns->keys =
        (struct mp_keys){seed & 4 ? columns->lane : NULL, seed & 8 ? columns->key1 : NULL,
                         seed & 16 ? columns->key2 : NULL};
}

static uint64_t at(const uint64_t *column, unsigned row)
{
    return column ? column[row] : 0;
}

static void numbers_come_back_with_any_prediction(void **state)
{
    (void)state;
    static struct columns columns;
    for (unsigned predict = 0; predict < PREDICTS; predict++)
        for (uint64_t seed = 1; seed <= 32; seed++) {
            make_columns(&columns, seed);
            mp_number_residuals(&predictors[0], predict, &columns.keys, columns.values,
                                columns.residuals, ROWS);
            memset(&predictors[0], 0xA5, sizeof predictors[0]); /* nothing may be left over */
            memcpy(columns.back, columns.residuals, sizeof columns.back);
            mp_number_values(&predictors[0], predict, &columns.keys, columns.back, ROWS);
            assert_memory_equal(columns.back, columns.values, sizeof columns.values);
        }
}

static void numbers_are_those_of_the_document(void **state)
{
    (void)state;
    static struct columns columns;
    for (unsigned predict = 0; predict < PREDICTS; predict++)
        for (uint64_t seed = 1; seed <= 32; seed++) {
            make_columns(&columns, seed); /* the values stand for residuals here */
            struct book *book = calloc(1, sizeof *book);
            memcpy(columns.back, columns.values, sizeof columns.back);
            mp_number_values(&predictors[0], predict, &columns.keys, columns.back, ROWS);
            for (unsigned i = 0; i < ROWS; i++) {
                struct book_row row =
                    book_place(book, predict, at(columns.keys.lane, i), at(columns.keys.key1, i),
                               at(columns.keys.key2, i));
                uint64_t beyond = book_unzigzag(columns.values[i]) + book_value(book, &row);
                uint64_t value = beyond + (predict & 1 ? book->last[row.lane] : 0);
                book_learn(book, &row, beyond);
                book->last[row.lane] = value;
                book->keys[row.lane] = row.keys;
                assert_int_equal(columns.back[i], value);
            }
            free(book);
        }
}

static void extremes_wrap_around(void **state)
{
    (void)state;
    const uint64_t extremes[] = {0,          UINT64_MAX, 0, INT64_MAX, (uint64_t)INT64_MAX + 1,
                                 UINT64_MAX, 1};
    const struct mp_keys none = {0};
    for (unsigned predict = 0; predict < PREDICTS; predict++) {
        uint64_t residuals[7];
        mp_number_residuals(&predictors[0], predict, &none, extremes, residuals, 7);
        mp_number_values(&predictors[0], predict, &none, residuals, 7);
        assert_memory_equal(residuals, extremes, sizeof extremes);
    }
}

static void what_repeats_leaves_no_residual(void **state)
{
    (void)state;
    uint64_t values[600];
    uint64_t residuals[600];
    const struct mp_keys none = {0};
    for (unsigned i = 0; i < 600; i++)
        values[i] = 1 + i % 20; /* the layers of a model, again and again */
    mp_number_residuals(&predictors[0], MP_PREDICT_CONTEXT_LAST | MP_PREDICT_CONTEXT_SELF, &none,
                        values, residuals, 600);
    for (unsigned i = 0; i < 600; i++)
        assert_int_equal(residuals[i] != 0, i == 20); /* only the first return is news */
}

/* ---- Intervals ---- */

struct pairs {
    struct columns start, span;
    uint64_t start_correction[ROWS], span_correction[ROWS];
};

static struct mp_interval interval_of(struct pairs *pairs, bool with_span, unsigned predict,
                                      uint64_t *start, uint64_t *span)
{
    return (struct mp_interval){
        .start_keys = pairs->start.keys,
        .span_keys = {NULL, pairs->span.keys.key1, pairs->span.keys.key2},
        .start_predict = predict,
        .span_predict = predict / 2,
        .start = start,
        .span = with_span ? span : NULL,
        .start_residuals = pairs->start.residuals,
        .span_residuals = pairs->span.residuals,
        .start_correction = pairs->start_correction,
        .span_correction = pairs->span_correction,
        .rows = ROWS,
    };
}

static void make_pairs(struct pairs *pairs, uint64_t seed)
{
    make_columns(&pairs->start, seed);
    make_columns(&pairs->span, seed + 7);
    uint64_t random = seed;
    for (unsigned i = 0; i < ROWS; i++) { /* residuals and corrections, most of them small */
        uint64_t any = fixture_random(&random);
        pairs->start.residuals[i] = any % 100 ? any % 1000 : any;
        pairs->span.residuals[i] = any % 99 ? any % 50 : any >> 7;
        pairs->start_correction[i] = any % 90 ? any % 3 : any >> 9;
        pairs->span_correction[i] = any % 80 ? any / 3 % 3 : any >> 8;
    }
}

/* One row by the document; moves all states on. */
static void book_interval(struct book book[2], struct book_grid *grid,
                          const struct mp_interval *interval, unsigned i, uint64_t expected[2])
{
    const struct mp_keys *keys = &interval->start_keys;
    struct book_row row = book_place(&book[0], interval->start_predict, at(keys->lane, i),
                                     at(keys->key1, i), at(keys->key2, i));
    uint64_t gap = book_unzigzag(interval->start_residuals[i]) + book_value(&book[0], &row);
    book_learn(&book[0], &row, gap);
    uint64_t end = book[0].last[row.lane] + gap;
    expected[0] = book_time(grid, end, book_unzigzag(interval->start_correction[i]));
    expected[1] = 0;
    if (interval->span) {
        struct book_row of_span =
            book_place(&book[1], interval->span_predict, 0, at(interval->span_keys.key1, i),
                       at(interval->span_keys.key2, i));
        uint64_t span = book_unzigzag(interval->span_residuals[i]) + book_value(&book[1], &of_span);
        book_learn(&book[1], &of_span, span);
        end += span;
        expected[1] =
            book_time(grid, end, book_unzigzag(interval->span_correction[i])) - expected[0];
    }
    book[0].last[row.lane] = end;
    book[0].keys[row.lane] = row.keys;
}

static void intervals_are_those_of_the_document(void **state)
{
    (void)state;
    static struct pairs pairs;
    static uint64_t starts[ROWS], spans[ROWS];
    /* START and SPAN never predict from `last` of the SPAN, so SELF and BASE_LAST are left out. */
    static const unsigned predicts[] = {0, 2, 4, 16, 18, 20};
    for (uint64_t seed = 1; seed <= 32; seed++)
        for (unsigned p = 0; p < 6; p++) {
            make_pairs(&pairs, seed);
            uint64_t random = seed;
            struct mp_grid grid = {.anchor = fixture_random(&random),
                                   .step = fixture_random(&random) >> (1 + seed),
                                   .fraction = (uint32_t)fixture_random(&random)};
            if (seed % 4 == 0)
                grid.step = MP_GRID_UNIT;
            struct mp_interval interval = interval_of(&pairs, seed % 2, predicts[p], starts, spans);
            mp_interval_values(predictors, &grid, &interval);
            struct book *book = calloc(2, sizeof *book);
            struct book_grid by_book = {grid.anchor, grid.step, grid.fraction, 0, 0};
            for (unsigned i = 0; i < ROWS; i++) {
                uint64_t expected[2];
                book_interval(book, &by_book, &interval, i, expected);
                assert_int_equal(starts[i], expected[0]);
                if (interval.span)
                    assert_int_equal(spans[i], expected[1]);
            }
            free(book);
        }
}

static void intervals_come_back_on_any_grid(void **state)
{
    (void)state;
    static struct pairs pairs;
    static uint64_t starts[ROWS], spans[ROWS];
    for (uint64_t seed = 1; seed <= 64; seed++) {
        make_pairs(&pairs, seed);
        struct mp_grid grid = {.anchor = seed * 1000003,
                               .step = seed % 4 ? ((seed + 8) << 30) + 12345 * seed : MP_GRID_UNIT,
                               .fraction = (uint32_t)(seed * 99999989)};
        struct mp_interval interval =
            interval_of(&pairs, seed % 2, seed % PREDICTS, pairs.start.values, pairs.span.values);
        mp_interval_residuals(predictors, &grid, &interval);
        interval.start = starts;
        interval.span = interval.span ? spans : NULL;
        memset(predictors, 0xA5, sizeof predictors);
        mp_interval_values(predictors, &grid, &interval);
        assert_memory_equal(starts, pairs.start.values, sizeof starts);
        if (interval.span)
            assert_memory_equal(spans, pairs.span.values, sizeof spans);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_back_with_any_prediction),
        cmocka_unit_test(numbers_are_those_of_the_document),
        cmocka_unit_test(extremes_wrap_around),
        cmocka_unit_test(what_repeats_leaves_no_residual),
        cmocka_unit_test(intervals_are_those_of_the_document),
        cmocka_unit_test(intervals_come_back_on_any_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
