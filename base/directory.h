/*
 * directory.h: directories made, made to last, emptied and removed.
 *
 * Whoever makes, renames or removes a name and wants that to outlast a power
 * cut syncs the directory it is in. What is emptied is only space: what cannot
 * be removed, directories within among it, stays and nobody is told.
 */
#ifndef BASE_DIRECTORY_H
#define BASE_DIRECTORY_H

#include "base/error.h"

/* One that is there already, or anything else of that name, is left as it is
 * with DF_OK. */
enum df_status directory_make(const char *path,
                              struct df_error *err) DF_MUST_CHECK;

/* Makes the names in it last. */
enum df_status directory_sync(const char *path,
                              struct df_error *err) DF_MUST_CHECK;

/* Removes the files in it; remove the directory as well. */
void directory_empty(const char *path);
void directory_remove(const char *path);

#endif
