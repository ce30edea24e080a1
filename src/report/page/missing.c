/* What a page does not hold: notes in place of documents, and rows that are left out of one. */
#include "report/page/analyses.h"
#include "report/table/json.h"

#include "base/poison.h"

void html_print_note(FILE *out, const char *text)
{
    struct json_writer json;

    json_begin(&json, out, 1);
    json_open_object(&json);
    json_key_text(&json, "note", text);
    json_close_object(&json);
    json_end(&json);
}

size_t html_at_most(struct html_material *material, const char *key, size_t most, size_t all)
{
    if (all <= most)
        return all;
    if (material->left_out_count < HTML_LEFT_OUT)
        material->left_out[material->left_out_count++] =
            (struct html_left_out){.key = key, .shown = most, .all = all};
    return most;
}

enum mp_status html_print_left_out(FILE *out, struct html_material *material,
                                   struct mp_error *error)
{
    struct json_writer json;

    (void)error;
    json_begin(&json, out, 1);
    json_open_object(&json);
    for (size_t i = 0; i < material->left_out_count; i++) {
        json_key(&json, material->left_out[i].key);
        json_open_object(&json);
        json_key_number(&json, "shown", material->left_out[i].shown);
        json_key_number(&json, "all", material->left_out[i].all);
        json_close_object(&json);
    }
    json_close_object(&json);
    json_end(&json);
    return MP_OK;
}
