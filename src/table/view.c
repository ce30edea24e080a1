/* What a view remembers while tables are printed, and what follows from its settings. */
#include "table/view.h"

#include <string.h>

#include "base/poison.h"

/* Whether the list has the title as a whole. */
static bool has_title(const struct report_titles *titles, const char *title)
{
    size_t length = strlen(title);

    for (const char *at = titles->text; *at;) {
        size_t bytes = strcspn(at, ",");

        if (bytes == length && !memcmp(at, title, length))
            return true;
        at += bytes;
        at += strspn(at, ", ");
    }
    return false;
}

void report_titles_add(struct report_titles *titles, const char *title)
{
    size_t length = strlen(title);
    size_t comma = titles->bytes ? 2 : 0;

    if (!length || titles->full || has_title(titles, title))
        return;
    if (titles->bytes + comma + length >= sizeof titles->text) {
        titles->full = true;
        return;
    }
    memcpy(titles->text + titles->bytes, ", ", comma);
    memcpy(titles->text + titles->bytes + comma, title, length + 1);
    titles->bytes += comma + length;
}

bool report_view_lays_out(const struct report_view *view)
{
    return view && (view->width || view->name_width || view->colour);
}

unsigned report_view_line(const struct report_view *view, unsigned usual)
{
    return view && view->width ? view->width : usual;
}
