/*
 * url_ip.h: hosts that are numbers, as the WHATWG URL standard reads and
 * writes them. Pure functions. Private to jobs/links/url*.c.
 */
#ifndef JOBS_LINKS_URL_IP_H
#define JOBS_LINKS_URL_IP_H

#include "base/bytes.h"

/* Room for either address as text: 8 times 4 digits, 7 colons, 2 brackets. */
enum { URL_IP_ROOM = 41 };

/* Whether host "ends in a number": it is an IPv4 address, or invalid. */
bool url_ip_is_v4(struct bytes host);

/* Writes the address at o, in its one form, and returns where it ends; NULL
 * where it is none. IPv4 comes in up to four parts, each decimal, octal
 * (0...) or hexadecimal (0x...). IPv6 comes without its brackets and is
 * written with them. text may lie at o. */
uint8_t *url_ip_write_v4(uint8_t *o, struct bytes text);
uint8_t *url_ip_write_v6(uint8_t *o, struct bytes text);

#endif
