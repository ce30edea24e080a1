/* The program of a folder of unit tests: runs the test by whose name it is started, which is that
 * of a link, BUILD/tests/unit/FOLDER/test_NAME. tests/tests.mk names their mains test_NAME_main. */
#include <stdio.h>
#include <string.h>

#define TEST(name) int name##_main(void);
#include "tests.h"
#undef TEST

static const struct {
    const char *name;
    int (*run)(void);
} tests[] = {
#define TEST(name) {#name, name##_main},
#include "tests.h"
#undef TEST
};

int main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";

    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (!strcmp(tests[i].name, name))
            return tests[i].run();
    }
    fprintf(stderr, "no test is called %s: start a link of this folder\n", name);
    return 2;
}
