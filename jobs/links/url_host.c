#include "jobs/links/url_host.h"

#include "jobs/links/url_chars.h"
#include "jobs/links/url_idn.h"
#include "jobs/links/url_ip.h"

_Static_assert(URL_HOST_ROOM >= URL_IDN_MAX + sizeof ":65535" &&
                   URL_HOST_ROOM >= URL_IP_ROOM + sizeof ":65535",
               "room for any host and port");

static bool is_ace(struct bytes label)
{
    return label.len >= 4 && memcmp(label.data, "xn--", 4) == 0;
}

size_t url_host_find_end(struct bytes rest, bool *is_simple)
{
    size_t label = 0; /* where it begins */
    size_t i = 0;
    bool is_plain = true;

    for (; i < rest.len && url_char_is(rest.data[i], URL_CHAR_HOST); i++) {
        if (rest.data[i] == '.') {
            label = i + 1;
        } else if (i == label && rest.data[i] == 'x') {
            is_plain &= !is_ace(bytes_of(rest.data + i, rest.len - i));
        }
    }
    /* A number's last label begins with a digit. */
    *is_simple = is_plain && label < i && !url_char_is_digit(rest.data[label]);
    for (; i < rest.len && !url_char_is_slash(rest.data[i]) &&
           rest.data[i] != '?';
         i++) {
        *is_simple = false;
    }
    return i;
}

/* ---- user and password ---- */

/* name:password@ as the standard has it: no colon without a password, and
 * nothing at all where both are empty. */
static uint8_t *write_user(uint8_t *o, struct bytes user)
{
    const uint8_t *colon =
        user.len > 0 ? memchr(user.data, ':', user.len) : NULL;
    size_t len = colon != NULL ? (size_t)(colon - user.data) : user.len;
    const uint8_t *begin = o;

    o = url_write_escaped(o, bytes_of(user.data, len), URL_CHAR_USER);
    if (colon != NULL && len + 1 < user.len) {
        *o++ = ':';
        o = url_write_escaped(o, bytes_of(colon + 1, user.len - len - 1),
                              URL_CHAR_USER);
    }
    if (o > begin) {
        *o++ = '@';
    }
    return o;
}

/* ---- host ---- */

/* Writes host unescaped and in lower case; *is_foreign: it is not ASCII. */
static uint8_t *write_unescaped(uint8_t *o, struct bytes host,
                                bool *is_foreign)
{
    *is_foreign = false;
    for (size_t i = 0; i < host.len; i++) {
        uint8_t c = host.data[i];

        i += url_escape_at(host, i, &c) ? 2 : 0;
        *is_foreign |= c >= 0x80;
        *o++ = c >= 'A' && c <= 'Z' ? c | 0x20 : c;
    }
    return o;
}

static bool has_ace_label(struct bytes domain)
{
    for (size_t i = 0; i < domain.len; i++) {
        if ((i == 0 || domain.data[i - 1] == '.') &&
            is_ace(bytes_of(domain.data + i, domain.len - i))) {
            return true;
        }
    }
    return false;
}

static bool has_barred(struct bytes domain)
{
    for (size_t i = 0; i < domain.len; i++) {
        if (url_char_is(domain.data[i], URL_CHAR_BARRED)) {
            return true;
        }
    }
    return false;
}

static enum url_result write_domain(uint8_t **o, struct bytes host)
{
    bool is_foreign;
    uint8_t *end = write_unescaped(*o, host, &is_foreign);
    struct bytes domain = bytes_of(*o, (size_t)(end - *o));

    if (is_foreign || has_ace_label(domain)) {
        enum url_result result = url_idn_to_ascii(*o, domain, &domain.len);

        if (result != URL_OK) {
            return result;
        }
    }
    if (domain.len == 0 || has_barred(domain)) {
        return URL_INVALID;
    }
    if (url_ip_is_v4(domain)) {
        end = url_ip_write_v4(*o, domain);
        if (end == NULL) {
            return URL_INVALID;
        }
        *o = end;
        return URL_OK;
    }
    *o += domain.len;
    return URL_OK;
}

static enum url_result write_host(uint8_t **o, struct bytes host)
{
    uint8_t *end;

    if (host.len == 0) {
        return URL_INVALID;
    }
    if (host.data[0] != '[') {
        return write_domain(o, host);
    }
    if (host.data[host.len - 1] != ']') {
        return URL_INVALID;
    }
    end = url_ip_write_v6(*o, bytes_of(host.data + 1, host.len - 2));
    if (end == NULL) {
        return URL_INVALID;
    }
    *o = end;
    return URL_OK;
}

/* ---- port ---- */

enum { PORT_MAX = 65535 };

/* The colon that ends the host; those in brackets do not. */
static size_t host_length(struct bytes text)
{
    bool is_inside = false;

    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == ':' && !is_inside) {
            return i;
        }
        is_inside = text.data[i] == '[' || (is_inside && text.data[i] != ']');
    }
    return text.len;
}

static bool read_port(struct bytes digits, unsigned *port)
{
    *port = 0;
    for (size_t i = 0; i < digits.len; i++) {
        if (!url_char_is_digit(digits.data[i])) {
            return false;
        }
        *port = *port * 10 + url_char_hex(digits.data[i]);
        if (*port > PORT_MAX) {
            return false;
        }
    }
    return true;
}

static uint8_t *write_port(uint8_t *o, unsigned port)
{
    uint8_t digits[8];
    unsigned n = 0;

    do {
        digits[n++] = (uint8_t)('0' + port % 10);
        port /= 10;
    } while (port > 0);
    *o++ = ':';
    while (n > 0) {
        *o++ = digits[--n];
    }
    return o;
}

/* ---- all of it ---- */

enum url_result url_host_write(uint8_t **o, struct bytes authority,
                               unsigned default_port)
{
    uint8_t *end = *o;
    const uint8_t *at =
        authority.len > 0 ? memrchr(authority.data, '@', authority.len) : NULL;
    struct bytes host = authority;
    struct bytes digits = { 0 };
    enum url_result result;
    unsigned port;

    if (at != NULL) {
        size_t user = (size_t)(at - authority.data);

        end = write_user(end, bytes_of(authority.data, user));
        host = bytes_of(at + 1, authority.len - user - 1);
    }
    digits.len = host.len;
    host.len = host_length(host);
    if (host.len < digits.len) {
        digits = bytes_of(host.data + host.len + 1, digits.len - host.len - 1);
    } else {
        digits = (struct bytes){ 0 };
    }
    if (!read_port(digits, &port)) {
        return URL_INVALID;
    }
    result = write_host(&end, host);
    if (result != URL_OK) {
        return result;
    }
    if (digits.len > 0 && port != default_port) {
        end = write_port(end, port);
    }
    *o = end;
    return URL_OK;
}
