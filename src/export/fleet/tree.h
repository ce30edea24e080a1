/* Inside of fleet: the traces of files and folders, with the folders below. */
#ifndef MP_EXPORT_FLEET_TREE_H
#define MP_EXPORT_FLEET_TREE_H

#include <stdbool.h>
#include <stddef.h>

struct tree_trace {
    char *path; /* owned */
    bool named; /* on the command line; else found in a folder */
};

struct tree {
    struct tree_trace *traces; /* owned */
    size_t count, capacity;
};

/* Adds a file, or of a folder each *.mpt in it and below, in the order of names. Links to folders
 * and hidden names are left out. Returns an exit code, after complaints. */
int tree_add(struct tree *tree, const char *command, const char *path);

void tree_free(struct tree *tree);

#endif
