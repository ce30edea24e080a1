/* Prints the table of docs/environment.md from config.def; `make check` compares it with the
 * document. */
#include "base/settings/config.h"

#include <stdio.h>

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
            printf(" or a list of %s", setting->metavariable);
        break;
    case MP_SETTING_NUMBER:
        printf("%u to %u %s", setting->least, setting->greatest, setting->metavariable);
        break;
    case MP_SETTING_TEXT:
    case MP_SETTING_PATTERN:
    case MP_SETTING_FORM:
        printf("%s", setting->metavariable);
        break;
    }
}

int main(void)
{
    for (size_t i = 0; i < mp_setting_count; i++) {
        const struct mp_setting *setting = &mp_settings[i];
        printf("| `%s` | ", setting->name);
        print_takes(setting);
        printf(" | %s%s%s | %s |\n", *setting->preset ? "`" : "", setting->preset,
               *setting->preset ? "`" : "", setting->help);
    }
    return 0;
}
