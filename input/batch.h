/*
 * batch.h: delta directories on disk (README.md, "How deltas are laid
 * out").
 *
 *     BATCH/inserted/...   documents that exist from this batch on
 *     BATCH/deleted/...    documents that existed, with their old content
 *     BATCH/manifest.tsv   optional: path TAB document id
 *     BATCH/_SUCCESS       optional: marks a finished upload
 *
 * Scanning reads names, lengths and times, never content (the manifest
 * aside). Refusals are DF_INPUT and name the file; trouble of the system
 * itself (no memory, too many open files) is DF_SYSTEM.
 */
#ifndef INPUT_BATCH_H
#define INPUT_BATCH_H

#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"

enum batch_section { BATCH_DELETED, BATCH_INSERTED }; /* order in digests */

/* One document file. Strings belong to the batch. */
struct batch_file {
    enum batch_section section;
    const char *path;    /* below the batch directory: "inserted/a/b.txt";
                            below the directory itself for batch_scan_tree */
    struct bytes id;     /* path below the section, or the manifest's id */
    uint64_t length;     /* bytes on disk */
    int64_t mtime;       /* nanoseconds since 1970 */
    struct hash128 hash; /* of the bytes on disk; set by reading
                            (reader.h), zero before */
};

/* A name that was left out, and why. */
struct batch_notice {
    const char *path; /* below the batch directory */
    const char *why;  /* static: "ends in .tmp", "symbolic link" ... */
};

/* A batch, scanned. Readable by any thread; hash is written by readers. */
struct batch {
    char *name; /* last component of its path */
    char *path; /* as opened: absolute or relative to the working directory */
    struct batch_file *files; /* by section, then byte order of path */
    size_t file_count;
    struct batch_notice *notices; /* in byte order of path */
    size_t notice_count;
    bool has_marker; /* _SUCCESS is there */
    void *owned;     /* private: where the strings live */
};

/* Scans one batch directory, by so many threads (at most WALK_LANES_MAX are
 * of use, walk.h). On failure *b is empty. */
enum df_status batch_scan(struct batch *b, const char *path, unsigned threads,
                          struct df_error *err) DF_MUST_CHECK;

/* Scans a plain directory of documents (verify, rebuild): every file is an
 * inserted document whose id is its path below the directory; a
 * manifest.tsv at the top names others. The same rules of what is left out
 * and refused hold. */
enum df_status batch_scan_tree(struct batch *b, const char *path,
                               unsigned threads,
                               struct df_error *err) DF_MUST_CHECK;

void batch_fini(struct batch *b);

/* Of all files, on disk. */
uint64_t batch_bytes(const struct batch *b);

/* XXH3-128 over the files' (section, id, length, hash), sorted by section
 * and id; all hashes must be set. */
enum df_status batch_digest(const struct batch *b, struct hash128 *digest,
                            struct df_error *err) DF_MUST_CHECK;

/*
 * Paths of batches in natural order of their names. `path` is one batch (it
 * has inserted/, deleted/, updated/, manifest.tsv or _SUCCESS in it) or a
 * directory of batches, whose subdirectories all must be batches or empty.
 * What is left out of a directory of batches (hidden names, links, stray
 * files) goes to notices.
 */
struct batch_list {
    char **paths; /* path + "/" + name, or path itself */
    char **names;
    size_t count;
    struct batch_notice *notices;
    size_t notice_count;
    void *owned; /* private */
};
enum df_status batch_list_open(struct batch_list *list, const char *path,
                               struct df_error *err) DF_MUST_CHECK;
void batch_list_fini(struct batch_list *list);

/* Natural order: runs of digits compare as numbers of any length ("9" before
 * "10"), all else byte by byte. Leading zeros only tell names apart that are
 * the same without them, fewer first: "2026-9-30" is between "2026-09-29" and
 * "2026-10-01". A total order: 0 only for the same bytes. */
int batch_name_compare(const char *a, const char *b);

#endif
