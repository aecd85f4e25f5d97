/*
 * durable.h: what a power cut would leave.
 *
 * Remembers, for every file that is written through the shim, what the disk
 * is sure to hold: the pages as they were at the file's last sync, and its
 * length then. Remembers every change of a directory until that directory
 * is synced, as POSIX has it: fsync of a file does not make its name last.
 *
 *     durable_writing(fd, offset, len);      before an unsynced write
 *     durable_wrote_synced(fd, ...);         after a write with O_DSYNC
 *     durable_synced(fd);                    after fsync, of file or directory
 *     change = durable_change_begin(...);    before rename, unlink, mkdir ...
 *     durable_change_end(change, happened);  after
 *     durable_cut(false or true);            the power is gone
 *
 * A cut takes back everything unsynced, or a random part such as a file
 * system may leave: each page and each length kept or lost by itself,
 * directory changes kept up to some point of their order. A page is 4096
 * bytes; one page is not torn.
 *
 * Nothing is done unless the plan cuts the power. One thread at a time. A
 * failure of the model itself aborts. Not seen: writes through mmap and
 * through stdio.
 */
#ifndef FAULTS_DURABLE_H
#define FAULTS_DURABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

void durable_writing(int fd, off_t offset, size_t len);
void durable_wrote_synced(int fd, off_t offset, const struct iovec *parts,
                          int n, size_t len);
void durable_truncating(int fd, off_t length);
void durable_synced(int fd);

enum durable_kind {
    DURABLE_ADDED,  /* path was made: file, link or directory */
    DURABLE_GONE,   /* path was unlinked, or an empty directory removed */
    DURABLE_RENAMED /* path became to; what was at `to` is gone */
};

/* Paths are absolute; to only for DURABLE_RENAMED. NULL when there is
 * nothing to remember; durable_change_end takes NULL. */
struct durable_change;
struct durable_change *durable_change_begin(enum durable_kind kind,
                                            const char *path, const char *to);
void durable_change_end(struct durable_change *change, bool happened);

void durable_cut(bool at_random);

#endif
