/*
 * ICU, and not libidn2: that one applies IDNA 2008 behind UTS 46, for which
 * no flag is off, and so refuses what browsers take (every symbol and emoji,
 * some 19,000 code points; hyphens in places 3 and 4; labels above 63).
 */
#include "jobs/links/url_idn.h"

#include <pthread.h>
#include <unicode/uidna.h>

#include "base/utf8.h"

/* ---- where ICU's tables are older than the standard ---- */

struct correction {
    uint32_t first;
    uint32_t last;
    uint32_t to; /* what `first` becomes, and so on; 0: all vanish */
};

static const struct correction corrections[] = {
    { 0x4c0, 0x4c0, 0x4cf },      /* capital palochka */
    { 0x10a0, 0x10c5, 0x2d00 },   /* Georgian capitals */
    { 0x115f, 0x1160, 0 },        /* Hangul fillers */
    { 0x17b4, 0x17b5, 0 },        /* Khmer inherent vowels */
    { 0x180e, 0x180e, 0 },        /* Mongolian vowel separator */
    { 0x1e9e, 0x1e9e, 0xdf },     /* capital sharp s */
    { 0x2061, 0x2063, 0 },        /* invisible operators */
    { 0x206a, 0x206f, 0 },        /* old format controls */
    { 0x2132, 0x2132, 0x214e },   /* turned capital f */
    { 0x2183, 0x2183, 0x2184 },   /* reversed hundred */
    { 0x3164, 0x3164, 0 },        /* Hangul filler */
    { 0xffa0, 0xffa0, 0 },        /* its half-width form */
    { 0x1d173, 0x1d17a, 0 },      /* musical format controls */
    { 0x2f868, 0x2f868, 0x36fc }, /* compatibility ideographs */
    { 0x2f874, 0x2f874, 0x5f53 }, { 0x2f91f, 0x2f91f, 0x43ab },
    { 0x2f95f, 0x2f95f, 0x7aee }, { 0x2f9bf, 0x2f9bf, 0x45d7 },
};

/* 0 where the code point vanishes. */
static uint32_t corrected(uint32_t point)
{
    for (size_t i = 0; i < sizeof corrections / sizeof *corrections; i++) {
        const struct correction *c = &corrections[i];

        if (point >= c->first && point <= c->last) {
            return c->to == 0 ? 0 : c->to + (point - c->first);
        }
    }
    return point;
}

/* ---- to and from ICU's UTF-16 ---- */

/* U+FFFD, which no domain may hold, for what is not UTF-8 and for NUL. */
static size_t to_utf16(UChar *out, struct bytes domain)
{
    size_t len = 0;
    uint32_t point;

    for (size_t i = 0; i < domain.len;) {
        i += utf8_decode(domain.data + i, domain.len - i, &point);
        point = point == UTF8_BAD || point == 0 ? 0xfffd : corrected(point);
        if (point > 0xffff) {
            out[len++] = (UChar)(0xd7c0 + (point >> 10));
            out[len++] = (UChar)(0xdc00 | (point & 0x3ff));
        } else if (point != 0) {
            out[len++] = (UChar)point;
        }
    }
    return len;
}

/* ---- what ICU lets pass ---- */

static bool begins_with(struct bytes label, const char *prefix)
{
    size_t len = strlen(prefix);

    return label.len >= len && memcmp(label.data, prefix, len) == 0;
}

/* Punycode of nothing but ASCII ("xn--abc-"), or of Punycode. hyphens: some
 * label has them in places 3 and 4 when decoded. */
static bool is_vain(struct bytes label, bool hyphens)
{
    return begins_with(label, "xn--") &&
           (label.data[label.len - 1] == '-' ||
            (hyphens && begins_with(label, "xn--xn--")));
}

static bool has_vain_label(struct bytes domain, bool hyphens)
{
    size_t begin = 0;

    for (size_t i = 0; i <= domain.len; i++) {
        if (i < domain.len && domain.data[i] != '.') {
            continue;
        }
        if (is_vain(bytes_of(domain.data + begin, i - begin), hyphens)) {
            return true;
        }
        begin = i + 1;
    }
    return false;
}

/* ---- ICU ---- */

enum {
    /* What VerifyDnsLength and CheckHyphens would refuse. */
    PARDONED = UIDNA_ERROR_EMPTY_LABEL | UIDNA_ERROR_LABEL_TOO_LONG |
               UIDNA_ERROR_DOMAIN_NAME_TOO_LONG | UIDNA_ERROR_LEADING_HYPHEN |
               UIDNA_ERROR_TRAILING_HYPHEN | UIDNA_ERROR_HYPHEN_3_4
};

/* Made by the first who needs it, read by all threads, never closed. */
static UIDNA *uts46;
static pthread_once_t uts46_once = PTHREAD_ONCE_INIT;

static void open_uts46(void)
{
    UErrorCode status = U_ZERO_ERROR;

    uts46 = uidna_openUTS46(UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ |
                                UIDNA_NONTRANSITIONAL_TO_ASCII,
                            &status);
    uts46 = U_SUCCESS(status) ? uts46 : NULL;
}

enum url_result url_idn_to_ascii(uint8_t *o, struct bytes domain, size_t *len)
{
    UChar in[URL_IDN_MAX];
    UChar ascii[URL_IDN_MAX];
    UIDNAInfo info = UIDNA_INFO_INITIALIZER;
    UErrorCode status = U_ZERO_ERROR;
    int32_t got;

    if (domain.len > URL_IDN_MAX) {
        return URL_INVALID;
    }
    (void)pthread_once(&uts46_once, open_uts46);
    if (uts46 == NULL) {
        return URL_NO_MEMORY;
    }
    got = uidna_nameToASCII(uts46, in, (int32_t)to_utf16(in, domain), ascii,
                            URL_IDN_MAX, &info, &status);
    if (status == U_MEMORY_ALLOCATION_ERROR) {
        return URL_NO_MEMORY;
    }
    if (U_FAILURE(status) || (info.errors & ~(uint32_t)PARDONED) != 0) {
        return URL_INVALID;
    }
    *len = (size_t)got;
    for (size_t i = 0; i < *len; i++) {
        o[i] = (uint8_t)ascii[i];
    }
    return has_vain_label(bytes_of(o, *len),
                          (info.errors & UIDNA_ERROR_HYPHEN_3_4) != 0)
               ? URL_INVALID
               : URL_OK;
}
