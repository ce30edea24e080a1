/* Walks through folders for traces. Their paths are collected first, so that a command can say how
 * many there are.
 */
#include "export/fleet/tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/data/buffer.h"
#include "base/data/reserve.h"
#include "cli/command.h"
#include "profile/set.h"

#include "base/poison.h"

static int add_path(struct tree *tree, const char *command, const char *path, bool named)
{
    if (mp_reserve((void **)&tree->traces, tree->count, &tree->capacity, sizeof *tree->traces) ==
        MP_OK)
        tree->traces[tree->count] = (struct tree_trace){strdup(path), named};
    if (tree->capacity <= tree->count || !tree->traces[tree->count].path) {
        complain(command, "out of memory");
        return EXIT_UNREADABLE;
    }
    tree->count++;
    return EXIT_FINE;
}

static bool is_trace_name(const char *name)
{
    size_t length = strlen(name);

    return length > 4 && !strcmp(name + length - 4, ".mpt");
}

static int take_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int add_folder(struct tree *tree, const char *command, const char *folder);

static int add_entry(struct tree *tree, const char *command, const char *folder, const char *name)
{
    struct mp_buffer path = {.data = NULL};
    struct stat found;
    int code = EXIT_FINE;

    mp_buffer_append_format(&path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/",
                            name);
    if (mp_buffer_append_byte(&path, '\0') != MP_OK) {
        complain(command, "out of memory");
        code = EXIT_UNREADABLE;
    } else if (lstat((const char *)path.data, &found) == 0 && S_ISDIR(found.st_mode)) {
        code = add_folder(tree, command, (const char *)path.data);
    } else if (is_trace_name(name)) {
        code = add_path(tree, command, (const char *)path.data, false);
    }
    mp_buffer_free(&path);
    return code;
}

/* A folder that cannot be read is said, and the others are searched. */
static int add_folder(struct tree *tree, const char *command, const char *folder)
{
    struct dirent **names = NULL;
    int count = scandir(folder, &names, take_visible, alphasort);
    int code = EXIT_FINE;

    if (count < 0) {
        complain(command, "cannot read the folder '%s': %s", folder, strerror(errno));
        return EXIT_FINDINGS;
    }
    for (int i = 0; i < count; i++) {
        int one = add_entry(tree, command, folder, names[i]->d_name);

        code = worse_code(code, one);
        free(names[i]);
    }
    free(names);
    return code;
}

int tree_add(struct tree *tree, const char *command, const char *path)
{
    size_t before = tree->count;
    int code;

    if (!trace_set_is_folder(path))
        return add_path(tree, command, path, true);
    code = add_folder(tree, command, path);
    if (tree->count > before || code != EXIT_FINE)
        return code;
    complain(command, "no traces (*.mpt) in the folder '%s' or below", path);
    return EXIT_UNREADABLE;
}

void tree_free(struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        free(tree->traces[i].path);
    free(tree->traces);
    *tree = (struct tree){.count = 0};
}
