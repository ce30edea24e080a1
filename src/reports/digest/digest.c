/* Runs the analyses of a trace one after the other and keeps what their reports begin with. What
 * they need while they run is given back before the digest is handed over.
 */
#include "reports/digest/digest.h"

#include "reports/digest/build.h"

#include "base/poison.h"

#define TEXT_BYTES 4096 /* of a block: a digest has 2 to 3 KB of text */

/* ---- The analyses ---- */

static void material_free(struct digest_material *material)
{
    summary_free(&material->summary);
    advise_free(&material->advice);
    studied_free(&material->studied);
    contents_free(&material->contents);
}

static enum mp_status analyse(struct digest_material *material, struct mp_error *error)
{
    const struct digest_options *options = material->options;
    const struct studied_options studied = {
        .graph = {.style = options->style, .fronts = true},
        .iterations = options->iterations,
    };
    const struct advise_input input = {&material->studied.deps, material->trace,
                                       &material->studied.study};
    const struct summary_options names = {
        .range = options->iterations.range, .style = options->style, .parts = SUMMARY_PART_GPU};

    MP_TRY(contents_build(material->trace, &material->contents, error));
    MP_TRY(studied_load(material->trace, &studied, &material->studied, error));
    material->contents.quality.only = options->iterations.range;
    MP_TRY(advise_build(&input, &material->advice, error));
    return summary_build(material->trace, &names, &material->summary, error);
}

/* ---- Findings, names by time ---- */

/* The names in a finding's lines belong to the graph, which goes. */
static enum mp_status own_names(struct digest *digest, struct advise_finding *finding)
{
    for (size_t i = 0; i < finding->line_count; i++)
        MP_TRY(digest_copy(digest, finding->lines[i].name, &finding->lines[i].name));
    return MP_OK;
}

static enum mp_status take_findings(const struct digest_material *material, struct digest *digest)
{
    const struct advice *advice = &material->advice;

    digest->step = advice->step;
    digest->one_rank = advice->reasons[ADVISE_LATE_RANK] == ADVISE_ONE_RANK;
    digest->findings_all = advice->count;
    digest->finding_count = advice->count < DIGEST_FINDINGS ? advice->count : DIGEST_FINDINGS;
    for (size_t i = 0; i < digest->finding_count; i++) {
        digest->findings[i] = advice->findings[i];
        MP_TRY(own_names(digest, &digest->findings[i]));
    }
    return MP_OK;
}

static enum mp_status take_hot(const struct digest_material *material, struct digest *digest)
{
    const struct summary_group *group = &material->summary.groups[SUMMARY_GPU];

    digest->hot_all = group->row_count;
    digest->hot_count = group->row_count < DIGEST_HOT ? group->row_count : DIGEST_HOT;
    for (size_t i = 0; i < digest->hot_count; i++) {
        const struct summary_row *row = &group->rows[i];

        digest->hot[i] = (struct digest_hot){.calls = row->tally.calls,
                                             .total = row->tally.total,
                                             .mean = row->mean,
                                             .percent = row->percent};
        MP_TRY(digest_copy(digest, row->name, &digest->hot[i].name));
    }
    return MP_OK;
}

/* ---- All of it ---- */

static enum mp_status keep(const struct digest_material *material, struct digest *digest)
{
    MP_TRY(digest_copy(digest, material->options->path, &digest->path));
    MP_TRY(digest_take_recording(material, digest));
    digest_take_quality(material, digest);
    MP_TRY(digest_take_iterations(material, digest));
    digest->baseline_asked = material->studied.baseline.asked;
    digest->recording_cost = material->studied.recording_cost;
    MP_TRY(digest_copy(digest, digest->recording_cost.name, &digest->recording_cost.name));
    MP_TRY(take_findings(material, digest));
    MP_TRY(take_hot(material, digest));
    return digest_take_commands(material, digest);
}

enum mp_status digest_build(struct mp_trace *trace, const struct digest_options *options,
                            struct digest *digest, struct mp_error *error)
{
    struct digest_material material = {.trace = trace, .options = options};
    enum mp_status status;

    *digest = (struct digest){.path = NULL};
    mp_arena_init(&digest->text, TEXT_BYTES);
    status = analyse(&material, error);
    if (!status) {
        status = keep(&material, digest);
        if (status)
            mp_error_set(error, status, "no digest: %s", mp_status_name(status));
    }
    material_free(&material);
    return status;
}

void digest_free(struct digest *digest)
{
    mp_arena_free(&digest->text);
    *digest = (struct digest){.path = NULL};
}

/* ---- Several ---- */

/* What is compared first: 0 no GPU work, 1 no iterations, 2 iterations. */
static unsigned worth_of(const struct digest *digest)
{
    if (digest->no_work)
        return 0;
    return digest->iterations.way == ITERATIONS_WHOLE ? 1 : 2;
}

size_t digest_slowest(const struct digest *digests, size_t count)
{
    size_t slowest = 0;

    for (size_t i = 1; i < count; i++) {
        unsigned worth = worth_of(&digests[i]);
        unsigned best = worth_of(&digests[slowest]);

        if (worth > best ||
            (worth == best && digests[i].latency.p50 > digests[slowest].latency.p50))
            slowest = i;
    }
    return slowest;
}
