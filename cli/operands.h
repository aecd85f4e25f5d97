/*
 * operands.h: what was named by mistake. A view, a directory of batches and
 * one of documents are all directories, and a command line says which is
 * which by their order alone.
 */
#ifndef CLI_OPERANDS_H
#define CLI_OPERANDS_H

#include <stdbool.h>

#include "base/error.h"

/* What the arguments behind the first, a VIEW, are. */
enum operands {
    OPERANDS_NONE,     /* there are none, or the first is no VIEW either */
    OPERANDS_WORDS,    /* keys, names of batches, a number */
    OPERANDS_BATCHES,  /* directories of batches, or batches */
    OPERANDS_DOCUMENTS /* a directory */
};

/* DF_USAGE where VIEW is not the first of several, a view stands for
 * something else, or batches stand for documents. What is not there at all is
 * left to whoever opens it. */
enum df_status operands_check(enum operands kind, char *const *argv, int argc,
                              struct df_error *err) DF_MUST_CHECK;

/* The same for one path, of an option for instance. view is NULL where there
 * is none, and need not be there yet. */
enum df_status operands_check_path(enum operands kind, const char *view,
                                   const char *path,
                                   struct df_error *err) DF_MUST_CHECK;

/* DF_USAGE where a directory that is to be written to is a view, or lies among
 * batches that are read. */
enum df_status operands_check_output(const char *path, char *const *batches,
                                     int count,
                                     struct df_error *err) DF_MUST_CHECK;

/* Whether a directory is a view: its file `current` says so. */
bool operands_is_view(const char *directory);

#endif
