#include "workplace.h"

#include <stdio.h>

enum { NAME = 32 };

static char base[INPUT_TREE_PATH];

int workplace_open(void **state)
{
    (void)state;
    input_tree_open(base);
    return 0;
}

int workplace_remove(void **state)
{
    (void)state;
    input_tree_remove(base);
    return 0;
}

const char *workplace_new(char root[INPUT_TREE_PATH])
{
    static unsigned number;
    char name[NAME];

    (void)snprintf(name, sizeof name, "test_%u", number++);
    (void)snprintf(root, INPUT_TREE_PATH, "%s", input_tree_path(base, name));
    input_tree_directory(root, "");
    return root;
}
