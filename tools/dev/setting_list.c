/* Prints the list of docs/environment.md from config.def: a point for each setting.
 * tests/cli/docs_are_current.sh compares it with the document. It is a list and no table, as the
 * rows of a table cannot be wrapped. */
#include "base/settings/config.h"

#include <stdio.h>

#include "wrap.h"

#include "base/poison.h"

static void print_takes(const struct mp_setting *setting)
{
    switch (setting->kind) {
    case MP_SETTING_CHOICE:
    case MP_SETTING_CHOICE_TEXT:
    case MP_SETTING_LIST:
        for (uint32_t i = 0; i < setting->word_count; i++)
            printf("%s`%s`", i ? ", " : "", setting->words[i]);
        if (setting->kind == MP_SETTING_LIST)
            printf(" or %s", setting->metavariable);
        break;
    case MP_SETTING_NUMBER:
        printf("%u to %u%s%s", setting->min, setting->max, *setting->metavariable ? " " : "",
               setting->metavariable);
        break;
    case MP_SETTING_TEXT:
    case MP_SETTING_PATTERN:
    case MP_SETTING_FORM:
        printf("`%s`", setting->metavariable);
        break;
    }
}

int main(void)
{
    for (size_t i = 0; i < mp_setting_count; i++) {
        const struct mp_setting *setting = &mp_settings[i];
        printf("- `%s`: ", setting->name);
        print_takes(setting);
        if (*setting->preset)
            printf("; default `%s`", setting->preset);
        printf(".\n");
        print_wrapped("", setting->help);
    }
    return 0;
}
