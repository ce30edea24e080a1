/* What a page does not hold: notes in place of documents, and how many rows a document leaves out.
 */
#include "base/text/json_write.h"
#include "page/analyses.h"

#include "base/poison.h"

void html_print_note(FILE *out, const char *text)
{
    struct json_writer json;

    json_open_document(&json, out, 1);
    JSON_FACTS(&json, FACT("note", text));
    json_close_document(&json);
}

size_t html_at_most(struct html_material *material, const char *key, size_t max, size_t all)
{
    if (all <= max)
        return all;
    if (material->left_out_count < HTML_LEFT_OUT)
        material->left_out[material->left_out_count++] =
            (struct html_left_out){.key = key, .shown = max, .all = all};
    return max;
}

enum mp_status html_print_left_out(FILE *out, struct html_material *material,
                                   struct mp_error *error)
{
    struct json_writer json;

    (void)error;
    json_open_document(&json, out, 1);
    for (size_t i = 0; i < material->left_out_count; i++)
        JSON_KEY_OBJECT(&json, material->left_out[i].key,
                        FACT("shown", material->left_out[i].shown),
                        FACT("all", material->left_out[i].all));
    json_close_document(&json);
    return MP_OK;
}
