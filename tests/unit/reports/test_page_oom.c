/* A page when memory is out, at each allocation in turn: it is as it should be, or an error. malloc
 * and its kin are wrapped (tests/tests.mk).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/report.h"
#include "unit/deps/deps_fixture.h"
#include "unit/failing_malloc.h"

static enum mp_status print_page(FILE *out, struct mp_error *error)
{
    const struct html_report_options options = {.events = 1000};
    struct html_report_result result;

    return html_report_write(out, scene.trace, &options, &result, error);
}

/* The page if there was memory for it, with the allocation that fails; 0: none does. *failed says
 * whether it came. */
static char *page_without(unsigned failing, bool *failed)
{
    struct mp_error error = {.status = MP_OK};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    enum mp_status status;

    countdown = failing;
    status = print_page(out, &error);
    *failed = failing && countdown == 0;
    countdown = 0;
    fclose(out);
    if (status == MP_OK)
        return text;
    assert_int_equal(status, MP_ERR_MEMORY);
    assert_true(*error.text);
    free(text);
    return NULL;
}

static void a_page_has_all_of_its_views(void **state)
{
    bool failed = true;
    char *whole;

    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 20, 50, 1);
    put_nvtx_range("step", 5, 60);
    scene_load();
    whole = page_without(0, &failed);
    assert_non_null(whole);
    failed = true;
    for (unsigned failing = 1; failed; failing++) {
        char *page = page_without(failing, &failed);

        if (page)
            assert_string_equal(page, whole);
        free(page);
    }
    free(whole);
    scene_end(SOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_has_all_of_its_views),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
