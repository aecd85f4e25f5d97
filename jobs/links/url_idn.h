/*
 * url_idn.h: international domain names in ASCII, "domain to ASCII" of the
 * WHATWG URL standard: UTS 46, non-transitional, CheckBidi and CheckJoiners,
 * without CheckHyphens, VerifyDnsLength and UseSTD3ASCIIRules. The only user
 * of ICU. Private to jobs/links/url*.c.
 *
 * ICU's tables are of one Unicode version, and newer letters are no letters
 * to it. What the standard changed since then for letters that were there
 * before is corrected here: the same bytes from ICU 72 to 78.
 */
#ifndef JOBS_LINKS_URL_IDN_H
#define JOBS_LINKS_URL_IDN_H

#include "jobs/links/url.h"

/* Longest domain that is taken, in UTF-8, and given, in ASCII. The standard
 * has no limit, the DNS has 253, and Punycode needs quadratic time. */
enum { URL_IDN_MAX = 1024 };

/* Writes domain in ASCII and lower case at o, at most URL_IDN_MAX bytes, and
 * sets *len. It may be empty or hold any ASCII: that is the caller's to
 * refuse. domain may lie at o. Safe from any thread. */
enum url_result url_idn_to_ascii(uint8_t *o, struct bytes domain, size_t *len);

#endif
