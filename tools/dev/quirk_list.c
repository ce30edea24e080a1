/* Prints the table of docs/cupti.md from quirks.def; `make check` compares it with the document. */
#include <stdint.h>
#include <stdio.h>

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

static void print_quirk(const char *name, uint32_t first, uint32_t fixed, const char *what,
                        const char *done, const char *source)
{
    printf("| `%s` | %s | ", name, what);
    if (first) {
        printf("from ");
        print_release(first);
        printf(fixed ? ", " : "");
    }
    if (fixed) {
        printf("before ");
        print_release(fixed);
    }
    printf("%s | %s | %s |\n", !first && !fixed ? "all" : "", done, source);
}

int main(void)
{
#define QUIRK(name, first, fixed, answer, what, done, source)                                      \
    print_quirk(#name, first, fixed, what, done, source);
#include "record/cupti/quirks.def"
#undef QUIRK
    return 0;
}
