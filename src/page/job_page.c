/* Joins the ranks of a folder for its page. */
#include "page/job_page.h"

#include <stdlib.h>

#include "cli/command.h"

#include "base/poison.h"

/* Without iterations there are no findings, and the page says why. */
static enum mp_status find_iterations(struct job_page *page, const struct job_page_options *options)
{
    const struct iterations_options by = {.range = options->range};
    enum mp_status status = matched_iterations(&page->matched, &page->job.job, &by,
                                               &page->job.iterations, &page->job.no_iterations);

    return status == MP_ERR_MEMORY ? status : MP_OK;
}

static enum mp_status join(struct job_page *page, const struct job_page_options *options,
                           struct mp_error *error)
{
    const struct deps_options graph = {.style = options->style, .fronts = true};
    struct html_job *job = &page->job;
    enum mp_status status;

    MP_TRY(matched_join(&page->matched, &graph, &job->job, error));
    MP_TRY(job_windows(&job->job, options->range, &job->windows, error));
    status = find_iterations(page, options);
    job->ranks = matched_report(&page->matched);
    return status
               ? mp_error_set(error, status, "cannot analyse the job: %s", mp_status_name(status))
               : MP_OK;
}

bool job_page_open(struct job_page *page, const struct job_page_options *options, int count,
                   char **arguments, int *code)
{
    struct mp_error error;
    enum mp_status status;

    page->job = (struct html_job){.critical = NULL};
    if (!matched_is_job(&page->matched, options->command, count, arguments, options->one_clock)) {
        *code = worse_code(*code, page->matched.code);
        return false;
    }
    matched_complain(&page->matched);
    status = join(page, options, &error);
    if (status != MP_OK) {
        complain(options->command, "the page has nothing of the job: %s", error.text);
        matched_worsen(&page->matched, EXIT_FINDINGS);
    }
    *code = worse_code(*code, page->matched.code);
    return status == MP_OK;
}

void job_page_close(struct job_page *page)
{
    deps_windows_free(&page->job.windows);
    deps_windows_free(&page->job.iterations);
    free(page->job.critical);
    free(page->job.peers);
    job_free(&page->job.job);
    matched_free(&page->matched);
}
