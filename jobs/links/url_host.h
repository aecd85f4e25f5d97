/*
 * url_host.h: the part of a URL between its slashes: user, host, port.
 * Private to jobs/links/url*.c.
 */
#ifndef JOBS_LINKS_URL_HOST_H
#define JOBS_LINKS_URL_HOST_H

#include "jobs/links/url.h"

enum {
    /* What an authority may need beyond three bytes for each byte of it: an
     * address or a domain. */
    URL_HOST_ROOM = 1088
};

/* The length of the authority that rest begins with. *is_simple: it is a
 * host alone, and copied as it is. */
size_t url_host_find_end(struct bytes rest, bool *is_simple);

/* Writes an authority at *o and moves *o behind it. The port is left out
 * where it is default_port. Credentials stay. On anything but URL_OK *o is
 * as before. */
enum url_result url_host_write(uint8_t **o, struct bytes authority,
                               unsigned default_port);

#endif
