/*
 * spill.h: files without a name. What is spilled there is gone when the
 * descriptor is closed or the process ends, however it ends.
 */
#ifndef RUNTIME_SPILL_H
#define RUNTIME_SPILL_H

#include "base/error.h"

/* A new empty file in `directory`; *fd is the caller's to close. */
enum df_status spill_file(int *fd, const char *directory,
                          struct df_error *err) DF_MUST_CHECK;

#endif
