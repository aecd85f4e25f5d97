/*
 * mirror.h: documents of one directory under another, without being written:
 * hard links, or copies where the file system has no links to give (another
 * disk, files of another user). Symbolic links would be left out by the
 * reader.
 *
 *     mirror_add(&documents, &share, "scratch/batch/inserted", stop, err);
 *     mirror_manifest(&documents, parts, 2, "scratch/batch", err);
 *     mirror_drop(&documents, &share, "scratch/batch/inserted", err);
 *     mirror_remove("scratch");              and everything below
 */
#ifndef RUNTIME_MIRROR_H
#define RUNTIME_MIRROR_H

#include <signal.h>

#include "runtime/deltas.h"

/* Puts the documents of a share under the directory `to`, each by its path;
 * directories are made where they are missing. */
enum df_status mirror_add(const struct batch *documents,
                          const struct delta_share *share, const char *to,
                          const volatile sig_atomic_t *stop,
                          struct df_error *err) DF_MUST_CHECK;

/* Takes them away again; the directories stay. */
enum df_status mirror_drop(const struct batch *documents,
                           const struct delta_share *share, const char *to,
                           struct df_error *err) DF_MUST_CHECK;

/* Whether documents can be linked to below `to`, tried with one of them. */
bool mirror_can_link(const struct batch *documents, const char *to);

/* What a manifest lists: paths of a share, behind a section's name. */
struct mirror_part {
    const char *section; /* "inserted/"; "": there are no sections */
    const struct delta_share *share;
    const struct delta_share *without; /* but not these; NULL: all */
};

/* Writes directory/manifest.tsv for the documents whose ids are not their
 * paths; removes it where there are none. */
enum df_status mirror_manifest(const struct batch *documents,
                               const struct mirror_part *parts, size_t n,
                               const char *directory,
                               struct df_error *err) DF_MUST_CHECK;

/* What cannot be removed stays: it is only space. */
void mirror_remove(const char *path);

#endif
