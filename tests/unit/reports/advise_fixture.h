/* What the tests of `advise` share: the findings of the scene of deps_fixture.h, and loops.
 *
 * Times are microseconds from the begin of an iteration, which is an NVTX range "it". `more` makes
 * a kernel longer and everything behind it later: gains stay, their share falls.
 */
#ifndef MP_UNIT_REPORTS_ADVISE_FIXTURE_H
#define MP_UNIT_REPORTS_ADVISE_FIXTURE_H

#include "reports/advise/advise.h"
#include "unit/deps/deps_fixture.h"

#define LOOPS 6
#define BEGIN UINT64_C(1000) /* of the first iteration; 0 would be an unknown time */
#define MIB   1048576u

extern struct advice advice;

/* Loads the scene and applies the rules; advised() is due. */
void advise_by(enum iterations_way way, const char *name);
void advise_loop(void); /* by NVTX ranges "it" */
void advised(void);

/* The finding of a rule; NULL. */
const struct advise_finding *finding(enum advise_rule_id rule);

/* Fails unless the rule was tried, and gains that much, or has no finding. */
void expect_gain(enum advise_rule_id rule, uint64_t ns);
void expect_none(enum advise_rule_id rule);

/* A number of the finding's evidence, rounded down. */
void expect_number(enum advise_rule_id rule, const char *key, uint64_t value);

/* Loops an iteration of that length; `put` gets its begin and a fresh correlation id. */
void put_loop(unsigned count, uint64_t period, uint64_t length, uint64_t more,
              void (*put)(uint64_t t, uint64_t id, uint64_t more));

/* Puts a loop with `more` for which the gain is a percent, and with one more us on top. */
void expect_limit(enum advise_rule_id rule, uint64_t period, uint64_t length, uint64_t more,
                  void (*put)(uint64_t t, uint64_t id, uint64_t more));

#endif
