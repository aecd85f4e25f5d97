/*
 * peer_rocksdb.c: counts in RocksDB, added to with its 64-bit add as merge
 * operator and written in one synced batch; see peer.h.
 */
#include "peer.h"

#include <rocksdb/c.h>

static void check(char *error, const char *what)
{
    if (error != NULL) {
        peer_fail(what, error);
    }
}

static rocksdb_t *open_store(const char *path, bool loads)
{
    rocksdb_options_t *o = rocksdb_options_create();
    char *error = NULL;
    rocksdb_t *db;

    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_options_set_uint64add_merge_operator(o);
    if (loads) {
        rocksdb_options_prepare_for_bulk_load(o);
    }
    db = rocksdb_open(o, path, &error);
    check(error, path);
    return db;
}

static void add(rocksdb_t *db, const struct peer_words *w, size_t from,
                size_t to, bool synced)
{
    static const char one[8] = { 1 }; /* little-endian */
    rocksdb_writeoptions_t *options = rocksdb_writeoptions_create();
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    char *error = NULL;

    rocksdb_writeoptions_set_sync(options, synced ? 1 : 0);
    for (size_t i = from; i < to; i++) {
        rocksdb_writebatch_merge(batch, w->at[i], strlen(w->at[i]), one,
                                 sizeof one);
    }
    rocksdb_write(db, options, batch, &error);
    check(error, "write");
    rocksdb_writebatch_destroy(batch);
    rocksdb_writeoptions_destroy(options);
}

static void load(const char *path, const char *file)
{
    enum { CHUNK = 100000 };
    rocksdb_t *db = open_store(path, true);
    struct peer_words w = peer_words(file);
    char *error = NULL;

    for (size_t i = 0; i < w.count; i += CHUNK) {
        add(db, &w, i, i + CHUNK < w.count ? i + CHUNK : w.count, false);
    }
    rocksdb_flush(db, rocksdb_flushoptions_create(), &error);
    check(error, "flush");
    rocksdb_compact_range(db, NULL, 0, NULL, 0);
    rocksdb_close(db);
    peer_words_fini(&w);
}

static void add_timed(const char *path, const char *file)
{
    rocksdb_t *db = open_store(path, false);
    struct peer_words w = peer_words(file);
    int64_t begun = peer_us();

    add(db, &w, 0, w.count, true);
    (void)printf("%lld\n", (long long)(peer_us() - begun));
    rocksdb_close(db);
    peer_words_fini(&w);
}

static void print_sum(const char *path)
{
    rocksdb_t *db = open_store(path, false);
    rocksdb_iterator_t *it =
        rocksdb_create_iterator(db, rocksdb_readoptions_create());
    uint64_t sum = 0;

    for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it);
         rocksdb_iter_next(it)) {
        size_t len;
        const char *value = rocksdb_iter_value(it, &len);
        uint64_t one = 0;

        memcpy(&one, value, len < sizeof one ? len : sizeof one);
        sum += one;
    }
    (void)printf("%llu\n", (unsigned long long)sum);
    rocksdb_iter_destroy(it);
    rocksdb_close(db);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[2], "load") == 0) {
        load(argv[1], argv[3]);
    } else if (argc == 4 && strcmp(argv[2], "add") == 0) {
        add_timed(argv[1], argv[3]);
    } else if (argc == 3 && strcmp(argv[2], "sum") == 0) {
        print_sum(argv[1]);
    } else {
        peer_fail("usage", "DIRECTORY load|add|sum [FILE]");
    }
    return EXIT_SUCCESS;
}
