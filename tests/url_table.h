/*
 * url_table.h: tables of references and the URLs they are.
 */
#ifndef TESTS_URL_TABLE_H
#define TESTS_URL_TABLE_H

#include "jobs/links/url.h"

/* Expected instead of a URL. */
#define URL_TABLE_INVALID "(invalid)"
#define URL_TABLE_OTHER "(other)"

struct url_row {
    const char *href;
    const char *expected;
};

/* Resolves the rows' references against a base, or NULL. Fails the
 * running cmocka test at the first that is not as expected. */
void url_table_check(const char *against, const struct url_row *rows,
                     size_t n);

/* The same for one reference, which may hold any bytes. */
void url_table_check_bytes(const struct url_base *base, struct bytes href,
                           const char *expected);

#endif
