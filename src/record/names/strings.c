/* Strings of the trace: the one kind of definition that all others refer to, and that refers to
 * none of them.
 */
#include <string.h>

#include "record/names/dictionary.h"

#include "base/poison.h"

uint32_t dictionary_string(struct dictionary *dictionary, const char *text)
{
    return dictionary_text(dictionary, text, text ? strlen(text) : 0);
}

uint32_t dictionary_text(struct dictionary *dictionary, const char *text, size_t length)
{
    bool is_new;
    uint32_t id;

    if (!length)
        return 0;
    id = dictionary_intern(dictionary, &dictionary->strings, text, length, &is_new);
    if (is_new)
        mp_append_string(
            dictionary->writer,
            &(struct mp_row_string){.id = id, .text = {.bytes = text, .length = (uint32_t)length}});
    return id;
}
