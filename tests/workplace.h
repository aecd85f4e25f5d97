/*
 * workplace.h: a directory for all tests of a suite, and one of its own for
 * each.
 *
 *     cmocka_run_group_tests(tests, workplace_open, workplace_remove)
 *         workplace_new(root);     in a test
 */
#ifndef TESTS_WORKPLACE_H
#define TESTS_WORKPLACE_H

#include "input_tree.h"

int workplace_open(void **state);
int workplace_remove(void **state);

/* Makes an empty directory; returns root. */
const char *workplace_new(char root[INPUT_TREE_PATH]);

#endif
