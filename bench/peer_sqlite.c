/*
 * peer_sqlite.c: counts in SQLite, in a table without rowid, added to with
 * its upsert in one transaction, write-ahead log, fully synced; see peer.h.
 */
#include "peer.h"

#include <sqlite3.h>

static const char upsert[] =
    "INSERT INTO counts VALUES (?1, 1) ON CONFLICT (word) DO UPDATE SET "
    "count = count + 1";

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        peer_fail(sql, sqlite3_errmsg(db));
    }
}

static sqlite3 *open_store(const char *directory)
{
    char *path = sqlite3_mprintf("%s/counts.db", directory);
    sqlite3 *db;

    if (sqlite3_open(path, &db) != SQLITE_OK) {
        peer_fail(path, sqlite3_errmsg(db));
    }
    sqlite3_free(path);
    run(db, "PRAGMA journal_mode = WAL");
    run(db, "PRAGMA synchronous = FULL");
    run(db, "PRAGMA cache_size = -400000"); /* KiB: all of it in memory */
    run(db, "CREATE TABLE IF NOT EXISTS counts (word TEXT PRIMARY KEY, count "
            "INTEGER) WITHOUT ROWID");
    return db;
}

static void add(sqlite3 *db, const struct peer_words *w)
{
    sqlite3_stmt *s;

    run(db, "BEGIN");
    if (sqlite3_prepare_v2(db, upsert, -1, &s, NULL) != SQLITE_OK) {
        peer_fail("upsert", sqlite3_errmsg(db));
    }
    for (size_t i = 0; i < w->count; i++) {
        (void)sqlite3_bind_text(s, 1, w->at[i], -1, SQLITE_STATIC);
        if (sqlite3_step(s) != SQLITE_DONE) {
            peer_fail("upsert", sqlite3_errmsg(db));
        }
        (void)sqlite3_reset(s);
    }
    (void)sqlite3_finalize(s);
    run(db, "COMMIT");
}

static int print_row(void *ctx, int n, char **values, char **names)
{
    (void)ctx;
    (void)names;
    (void)printf("%s\n", n > 0 && values[0] != NULL ? values[0] : "0");
    return 0;
}

int main(int argc, char **argv)
{
    sqlite3 *db;
    struct peer_words w = { 0 };
    int64_t begun;

    if (argc < 3 || (argc < 4) != (strcmp(argv[2], "sum") == 0)) {
        peer_fail("usage", "DIRECTORY load|add|sum [FILE]");
    }
    db = open_store(argv[1]);
    if (argc == 4) {
        w = peer_words(argv[3]);
        begun = peer_us();
        add(db, &w);
        (void)printf("%lld\n", (long long)(peer_us() - begun));
        peer_words_fini(&w);
        run(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    } else if (sqlite3_exec(db, "SELECT sum(count) FROM counts", print_row,
                            NULL, NULL) != SQLITE_OK) {
        peer_fail("sum", sqlite3_errmsg(db));
    }
    (void)sqlite3_close(db);
    return EXIT_SUCCESS;
}
