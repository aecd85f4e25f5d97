/*
 * store_file.h: what store.c must know of a store's file and LMDB does not
 * tell: whether it can be one at all, and where it is mapped in this process,
 * so that the memory that is counted for it can be given back.
 */
#ifndef STATE_STORE_FILE_H
#define STATE_STORE_FILE_H

#include <sys/types.h>

#include "base/error.h"

/* DF_STATE when the file is not there (*missing is set) or cannot be a store,
 * DF_SYSTEM when that cannot be told. Files that pass are LMDB's to judge. */
enum df_status store_file_check(const char *path, bool *missing,
                                struct df_error *err) DF_MUST_CHECK;

/* Makes the file at path, where there is none, and gives it its blocks: at
 * least `bytes` of it can then be written through a map, which on a full
 * disk would else be a signal. DF_SYSTEM when the disk is full. A file that
 * may not be made or written is left to LMDB to refuse. No file of this
 * process may hold a record lock on it. */
enum df_status store_file_allocate(const char *path, uint64_t bytes,
                                   mode_t mode,
                                   struct df_error *err) DF_MUST_CHECK;

struct store_mapping {
    uint8_t *begin; /* NULL: not found */
    size_t length;
};

/* Whether there is no file at path. */
bool store_file_is_missing(const char *path);

/* The first shared mapping of the open file fd, which may have lost its name.
 * Costs a reading of /proc/self/maps. */
struct store_mapping store_file_mapping(int fd);

/* Forgets which of the file's pages are mapped in. They stay in the system's
 * cache and come back when they are touched: bytes and pointers stay good. */
void store_file_relax(struct store_mapping m);

#endif
