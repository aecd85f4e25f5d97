/*
 * input_tree.h: directories of documents for tests. Every function aborts
 * the test when it cannot do what it is for.
 */
#ifndef TESTS_INPUT_TREE_H
#define TESTS_INPUT_TREE_H

#include <stddef.h>

enum { INPUT_TREE_PATH = 4096 };

/* A fresh directory; the path is the caller's room. */
void input_tree_open(char path[INPUT_TREE_PATH]);
void input_tree_remove(const char *path);

/* A file below root with the directories that lead to it. */
void input_tree_file(const char *root, const char *path, const void *data,
                     size_t len);
void input_tree_text(const char *root, const char *path, const char *text);
void input_tree_directory(const char *root, const char *path);
void input_tree_link(const char *root, const char *path, const char *target);

/* root/path in static room. */
const char *input_tree_path(const char *root, const char *path);

#endif
