/* Prints the list of faults in docs/cupti.md from quirks.def: a heading and four points for each.
 * tests/cli/docs_are_current.sh compares it with the document. It is a list and no table, as the
 * rows of a table cannot be wrapped. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "wrap.h"

#include "base/poison.h"

static const struct {
    uint32_t version; /* CUPTI_API_VERSION */
    const char *cuda;
} releases[] = {{18, "11.8"}, {19, "12.0"}, {20, "12.2"}, {21, "12.3"}, {22, "12.4"},
                {23, "12.5"}, {24, "12.6"}, {26, "12.8"}, {27, "12.9"}, {28, "12.9 Update 1"}};

/* From CUDA 13.0 on the number is major, minor and update, two digits each. */
static void print_release(uint32_t version)
{
    for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++)
        if (releases[i].version == version)
            printf("%s", releases[i].cuda);
    if (version < 130000)
        return;
    printf("%u.%u", version / 10000, version / 100 % 100);
    if (version % 100)
        printf(" Update %u", version % 100);
}

static void print_versions(uint32_t first, uint32_t fixed)
{
    printf("- Versions: ");
    if (!first && !fixed)
        printf("all");
    if (first) {
        printf("from ");
        print_release(first);
        printf(fixed ? ", " : "");
    }
    if (fixed) {
        printf("before ");
        print_release(fixed);
    }
    printf("\n");
}

/* A point of a list, its words wrapped as in wrap.h. */
static void print_point(const char *title, const char *text, const char *end)
{
    size_t column = (size_t)printf("- %s:", title);

    while (*text) {
        size_t word = wrapped_word(text);
        size_t more = text[word] ? 0 : strlen(end);

        if (column + 1 + word + more > WRAP_COLUMNS)
            column = (size_t)printf("\n ") - 1;
        column += (size_t)printf(" %.*s", (int)word, text);
        text += word;
        text += strspn(text, " ");
    }
    printf("%s\n", end);
}

static void print_quirk(const char *name, uint32_t first, uint32_t fixed, const char *what,
                        const char *done, const char *source)
{
    printf("\n### `%s`\n\n", name);
    print_versions(first, fixed);
    print_point("Fault", what, ".");
    print_point("What miniprof does", done, ".");
    print_point("Source", source, "");
}

int main(void)
{
#define QUIRK(name, first, fixed, answer, what, done, source)                                      \
    print_quirk(#name, first, fixed, what, done, source);
#include "record/cupti/quirks.def"
#undef QUIRK
    return 0;
}
