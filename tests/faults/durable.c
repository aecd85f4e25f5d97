#include "tests/faults/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/faults/plan.h"

enum {
    PAGE = 4096,
    BUCKETS = 512,
    OWN_FD_MIN = 400 /* out of the way of the program's descriptors */
};

/* One page as the disk holds it. */
struct page {
    off_t number; /* offset / PAGE */
    unsigned char bytes[PAGE];
    struct page *next;
};

/* A file that was written. fd is our own and stays open, so that its inode
 * cannot become another file's. */
struct file {
    dev_t dev;
    ino_t ino;
    int fd;
    off_t length;                /* as the disk holds it */
    struct page *pages[BUCKETS]; /* by number % BUCKETS */
    struct file *next;
};

struct durable_change {
    enum durable_kind kind;
    char *path;
    char *to;   /* DURABLE_RENAMED */
    char *kept; /* in the attic: the file that went away; NULL for what was
                   a directory, or nothing */
    dev_t dev;  /* directory that must be synced for it to last */
    ino_t ino;
    struct durable_change *before;
};

static struct file *files;
static struct durable_change *last_change;
static unsigned attic_names;

static void *must(void *memory)
{
    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* ENOENT is no failure: what is to be taken back may lie in a directory
 * that was taken back before. */
static void must_undo(long result)
{
    if (result != 0 && errno != ENOENT) {
        perror("faults: cannot take back");
        abort();
    }
}

/* ---- files ----------------------------------------------------------------
 */

static struct file *file_find(int fd, struct stat *st)
{
    if (fstat(fd, st) != 0 || !S_ISREG(st->st_mode)) {
        return NULL;
    }
    for (struct file *f = files; f != NULL; f = f->next) {
        if (f->dev == st->st_dev && f->ino == st->st_ino) {
            return f;
        }
    }
    return NULL;
}

/* Our own descriptor, for reading and writing whatever fd allows. */
static int own_descriptor(int fd)
{
    char path[64];
    long own;
    int high;

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    own = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
    if (own < 0) {
        abort();
    }
    high = fcntl((int)own, F_DUPFD_CLOEXEC, OWN_FD_MIN);
    if (high < 0) {
        return (int)own;
    }
    (void)syscall(SYS_close, own);
    return high;
}

static struct file *file_of(int fd)
{
    struct stat st;
    struct file *f = file_find(fd, &st);

    if (f == NULL) {
        f = must(calloc(1, sizeof *f));
        *f = (struct file){ .dev = st.st_dev,
                            .ino = st.st_ino,
                            .fd = own_descriptor(fd),
                            .length = st.st_size,
                            .next = files };
        files = f;
    }
    return f;
}

static struct page *page_find(const struct file *f, off_t number)
{
    for (struct page *p = f->pages[number % BUCKETS]; p != NULL; p = p->next) {
        if (p->number == number) {
            return p;
        }
    }
    return NULL;
}

static void page_keep(struct file *f, off_t number)
{
    struct page *p;

    if (page_find(f, number) != NULL) {
        return;
    }
    p = must(calloc(1, sizeof *p));
    p->number = number;
    if (pread(f->fd, p->bytes, PAGE, number * PAGE) < 0) {
        abort();
    }
    p->next = f->pages[number % BUCKETS];
    f->pages[number % BUCKETS] = p;
}

void durable_writing(int fd, off_t offset, size_t len)
{
    struct file *f;

    if (!plan_cuts_power()) {
        return;
    }
    f = file_of(fd);
    if (len > 0) {
        off_t last = (offset + (off_t)len - 1) / PAGE;

        for (off_t number = offset / PAGE; number <= last; number++) {
            page_keep(f, number);
        }
    }
}

/* Bytes that last, into the pages that they lie in, where those are kept. */
static void pages_patch(struct file *f, off_t offset, const char *bytes,
                        size_t len)
{
    while (len > 0) {
        size_t within = (size_t)(offset % PAGE);
        size_t part = len < PAGE - within ? len : PAGE - within;
        struct page *p = page_find(f, offset / PAGE);

        if (p != NULL) {
            memcpy(p->bytes + within, bytes, part);
        }
        offset += (off_t)part;
        bytes += part;
        len -= part;
    }
}

void durable_wrote_synced(int fd, off_t offset, const struct iovec *parts,
                          int n, size_t len)
{
    struct stat st;
    struct file *f = plan_cuts_power() ? file_find(fd, &st) : NULL;
    off_t end = offset + (off_t)len;

    if (f == NULL) {
        return; /* nothing unsynced in this file: the write just lasts */
    }
    for (int i = 0; i < n && len > 0; i++) {
        size_t part = parts[i].iov_len < len ? parts[i].iov_len : len;

        pages_patch(f, offset, parts[i].iov_base, part);
        offset += (off_t)part;
        len -= part;
    }
    f->length = f->length > end ? f->length : end;
}

void durable_truncating(int fd, off_t length)
{
    struct file *f;
    off_t at;

    if (!plan_cuts_power()) {
        return;
    }
    f = file_of(fd);
    /* Holes come back by themselves when the length does. */
    for (at = lseek(f->fd, length, SEEK_DATA); at >= 0;
         at = lseek(f->fd, (at / PAGE + 1) * PAGE, SEEK_DATA)) {
        page_keep(f, at / PAGE);
    }
}

static void pages_drop(struct file *f)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        while (f->pages[i] != NULL) {
            struct page *p = f->pages[i];

            f->pages[i] = p->next;
            free(p);
        }
    }
}

/* The page as it was, where the new one is lost. */
static void page_cut(const struct file *f, const struct page *p, bool lost)
{
    if (lost && syscall(SYS_pwrite64, f->fd, p->bytes, (size_t)PAGE,
                        p->number * PAGE) != PAGE) {
        abort();
    }
}

static void file_cut(const struct file *f, bool at_random)
{
    bool length_lost = !at_random || plan_random(2) == 0;
    struct stat st;

    if (fstat(f->fd, &st) != 0) {
        abort();
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct page *p = f->pages[i]; p != NULL; p = p->next) {
            /* A page behind the end was truncated: it comes back with the
             * length or not at all. */
            bool truncated = p->number * PAGE >= st.st_size;

            page_cut(f, p,
                     truncated ? length_lost
                               : !at_random || plan_random(2) == 0);
        }
    }
    if (syscall(SYS_ftruncate, f->fd, length_lost ? f->length : st.st_size) !=
        0) {
        abort();
    }
}

/* ---- directories ----------------------------------------------------------
 */

/* The directory that holds path. */
static void parent_of(const char *path, dev_t *dev, ino_t *ino)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    struct stat st;

    (void)snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
    if (stat(parent[0] == '\0' ? "/" : parent, &st) == 0) {
        *dev = st.st_dev;
        *ino = st.st_ino;
    }
}

static char *attic_name(void)
{
    char *name;

    if (asprintf(&name, "%s/%d-%u", plan_attic(), (int)getpid(),
                 attic_names++) < 0) {
        abort();
    }
    return name;
}

/* A second name for what is about to lose its only one. */
static void keep_victim(struct durable_change *c, const char *victim)
{
    struct stat st;

    if (lstat(victim, &st) == 0 && !S_ISDIR(st.st_mode)) {
        c->kept = attic_name();
        if (syscall(SYS_linkat, AT_FDCWD, victim, AT_FDCWD, c->kept, 0) != 0) {
            abort();
        }
    }
}

struct durable_change *durable_change_begin(enum durable_kind kind,
                                            const char *path, const char *to)
{
    struct durable_change *c;

    if (!plan_cuts_power()) {
        return NULL;
    }
    c = must(calloc(1, sizeof *c));
    c->kind = kind;
    c->path = must(strdup(path));
    c->to = to == NULL ? NULL : must(strdup(to));
    parent_of(to == NULL ? path : to, &c->dev, &c->ino);
    if (kind != DURABLE_ADDED) {
        keep_victim(c, kind == DURABLE_RENAMED ? to : path);
    }
    return c;
}

static void change_free(struct durable_change *c)
{
    if (c->kept != NULL) {
        (void)syscall(SYS_unlinkat, AT_FDCWD, c->kept, 0);
    }
    free(c->path);
    free(c->to);
    free(c->kept);
    free(c);
}

void durable_change_end(struct durable_change *c, bool happened)
{
    if (c == NULL) {
        return;
    }
    if (!happened) {
        change_free(c);
        return;
    }
    c->before = last_change;
    last_change = c;
}

static long move(const char *from, const char *to)
{
    return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static void change_undo(const struct durable_change *c)
{
    char *away;

    switch (c->kind) {
    case DURABLE_ADDED:
        away = attic_name();
        must_undo(move(c->path, away));
        free(away);
        break;
    case DURABLE_GONE:
        must_undo(c->kept == NULL
                      ? syscall(SYS_mkdirat, AT_FDCWD, c->path, 0777)
                      : move(c->kept, c->path));
        break;
    case DURABLE_RENAMED:
        must_undo(move(c->to, c->path));
        if (c->kept != NULL) {
            must_undo(move(c->kept, c->to));
        }
        break;
    }
}

static void changes_synced(dev_t dev, ino_t ino)
{
    struct durable_change **link = &last_change;

    while (*link != NULL) {
        struct durable_change *c = *link;

        if (c->dev == dev && c->ino == ino) {
            *link = c->before;
            change_free(c);
        } else {
            link = &c->before;
        }
    }
}

void durable_synced(int fd)
{
    struct stat st;
    struct file *f;

    if (!plan_cuts_power()) {
        return;
    }
    f = file_find(fd, &st);
    if (f != NULL) {
        pages_drop(f);
        f->length = st.st_size;
    } else if (S_ISDIR(st.st_mode)) {
        changes_synced(st.st_dev, st.st_ino);
    }
}

static uint64_t changes_count(void)
{
    uint64_t n = 0;

    for (struct durable_change *c = last_change; c != NULL; c = c->before) {
        n++;
    }
    return n;
}

void durable_cut(bool at_random)
{
    uint64_t n = changes_count();
    uint64_t lost = at_random ? plan_random(n + 1) : n;

    for (struct file *f = files; f != NULL; f = f->next) {
        file_cut(f, at_random);
    }
    for (struct durable_change *c = last_change; lost > 0; c = c->before) {
        change_undo(c);
        lost--;
    }
}
