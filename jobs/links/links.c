/*
 * Reverse web-link graph: key = target URL, element = source URL, value = how
 * many times the source links to the target. A link is gone when its last
 * copy is.
 *
 * A page's URL is its id where that is an http or https URL (manifest.tsv,
 * WARC), else base_url and its path, else "https://" and its path, which is
 * right for a mirror as `wget -r` leaves it (host/path). A browser resolves
 * all links of a page against its <base>, wherever that stands, so the links
 * are gathered first and resolved when the page has been read.
 */
#include "jobs/links/links.h"

#include <stdlib.h>
#include <strings.h>

#include "jobs/links/encoding.h"
#include "jobs/links/html.h"
#include "jobs/links/url.h"

enum counter {
    NOT_HTML,  /* documents that are no HTML page */
    NO_URL,    /* documents whose id gives no http or https URL */
    OTHER,     /* links to other schemes: mailto:, javascript: ... */
    INVALID,   /* links that are no URL by the standard */
    LONG_URLS, /* links whose target or source is beyond DF_KEY_MAX, or for
                  which a page has no room left (EXCESS_MAX) */
    DROPPED    /* links left out by self=drop and nofollow=drop */
};

/*
 * A page of some kilobytes can name a base of 64 KiB and thousands of links
 * relative to it: gigabytes of pairs. So URLs up to ORDINARY are free, and
 * what the URLs of a page's pairs are longer than that is added up; once it
 * is EXCESS_MAX, the page's further links with long URLs are left out. A
 * thousand pairs of the longest URLs still fit. In page order, so that the
 * deletion of a page takes away what its insertion brought.
 */
enum { ORDINARY = 1024, EXCESS_MAX = 128 << 20 };

static const char *const counters[] = {
    [NOT_HTML] = "not_html",   [NO_URL] = "no_url",
    [OTHER] = "other_schemes", [INVALID] = "invalid_urls",
    [LONG_URLS] = "long_urls", [DROPPED] = "dropped_links",
    [DROPPED + 1] = NULL,
};

enum option { BASE_URL, NOFOLLOW, SELF };

static const struct df_option options[] = {
    [BASE_URL] = { .name = "base_url",
                   .initial = "",
                   .values = "URL",
                   .help = "what stands before the path of a page; none: "
                           "the path begins with its host" },
    [NOFOLLOW] = { .name = "nofollow",
                   .initial = "keep",
                   .values = "keep|drop",
                   .help = "links with rel=nofollow" },
    [SELF] = { .name = "self",
               .initial = "keep",
               .values = "keep|drop",
               .help = "links of a page to itself" },
    { 0 }
};

static const char *const components[] = { "links", NULL };

struct config {
    char *base_url; /* "" for none */
    bool drop_nofollow;
    bool drop_self;
};

/* A link of the page being read: href lies in mapper.hrefs. */
struct found_link {
    size_t at;
    size_t len;
    bool nofollow;
};

struct mapper {
    const struct config *config;
    struct html_scanner *scanner;
    struct buf text;     /* the page in UTF-8, where it was not */
    struct buf page_url; /* as made from the id */
    struct buf hrefs;
    struct buf base_href; /* of <base>; empty: none */
    bool has_base;
    struct found_link *links;
    size_t count;
    size_t capacity;
    struct url_base page; /* the source */
    struct url_base base; /* what links are resolved against */
    struct buf target;
    size_t excess; /* of the page's pairs so far, in bytes */
    bool failed;   /* out of memory */
};

/* ---- options ---- */

static enum df_status choose(const struct df_settings *s, enum option o,
                             bool *drop, struct df_error *err)
{
    const char *value = s->values[o];
    struct shown name;

    *drop = strcmp(value, "drop") == 0;
    if (!*drop && strcmp(value, "keep") != 0) {
        return error_set(err, DF_USAGE, "option '%s': '%s' is not one of %s",
                         options[o].name, shown(&name, bytes_of_string(value)),
                         options[o].values);
    }
    return DF_OK;
}

static enum df_status check_base_url(const char *text, struct df_error *err)
{
    struct url_base base = { 0 };
    enum url_result result;
    struct shown name;

    if (*text == '\0') {
        return DF_OK;
    }
    result = url_base_set(&base, bytes_of_string(text));
    url_base_fini(&base);
    if (result == URL_NO_MEMORY) {
        return error_no_memory(err);
    }
    return result == URL_OK
               ? DF_OK
               : error_set(err, DF_USAGE,
                           "option 'base_url': '%s' is not an http or https "
                           "URL",
                           shown(&name, bytes_of_string(text)));
}

static void release(void *config)
{
    struct config *c = config;

    if (c != NULL) {
        free(c->base_url);
        free(c);
    }
}

static enum df_status configure(const struct df_settings *s, void **config,
                                struct df_error *err)
{
    struct config *c = calloc(1, sizeof *c);
    enum df_status status;

    *config = NULL;
    if (c == NULL || (c->base_url = strdup(s->values[BASE_URL])) == NULL) {
        free(c);
        return error_no_memory(err);
    }
    status = check_base_url(c->base_url, err);
    if (status == DF_OK) {
        status = choose(s, NOFOLLOW, &c->drop_nofollow, err);
    }
    if (status == DF_OK) {
        status = choose(s, SELF, &c->drop_self, err);
    }
    if (status != DF_OK) {
        release(c);
        return status;
    }
    *config = c;
    return DF_OK;
}

static enum df_pieces pieces(const void *config)
{
    (void)config;
    return DF_PIECES_WHOLE;
}

/* ---- mapper ---- */

static void mapper_close(void *mapper)
{
    struct mapper *m = mapper;

    if (m == NULL) {
        return;
    }
    html_scanner_close(m->scanner);
    buf_fini(&m->text);
    buf_fini(&m->page_url);
    buf_fini(&m->hrefs);
    buf_fini(&m->base_href);
    buf_fini(&m->target);
    url_base_fini(&m->page);
    url_base_fini(&m->base);
    free(m->links);
    free(m);
}

static enum df_status mapper_open(const void *config, void **mapper,
                                  struct df_error *err)
{
    struct mapper *m = calloc(1, sizeof *m);

    *mapper = NULL;
    if (m == NULL || !html_scanner_open(&m->scanner)) {
        mapper_close(m);
        return error_no_memory(err);
    }
    m->config = config;
    *mapper = m;
    return DF_OK;
}

/* ---- the page's own URL ---- */

static bool begins_with(struct bytes b, const char *prefix)
{
    size_t len = strlen(prefix);

    return b.len >= len && strncasecmp((const char *)b.data, prefix, len) == 0;
}

/* A path as part of a URL: a '#' in a file's name is no fragment. */
static bool append_path(struct buf *out, struct bytes path)
{
    bool ok = true;

    for (size_t i = 0; ok && i < path.len; i++) {
        ok = path.data[i] == '#' ? buf_append_string(out, "%23")
                                 : buf_append_byte(out, path.data[i]);
    }
    return ok;
}

/* Whether an id is a URL, of any scheme: no path has "//" in it. */
static bool is_absolute(struct bytes id)
{
    static const char scheme[] = "abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
    size_t len = 0;

    while (len < id.len && memchr(scheme, id.data[len], sizeof scheme - 1)) {
        len++;
    }
    return len > 0 &&
           begins_with(bytes_of(id.data + len, id.len - len), "://");
}

static bool make_page_url(struct mapper *m, struct bytes id)
{
    const char *base = m->config->base_url;
    size_t len = strlen(base);

    buf_reset(&m->page_url);
    if (is_absolute(id)) {
        return buf_append(&m->page_url, id.data, id.len);
    }
    if (!buf_append_string(&m->page_url, len == 0 ? "https://" : base)) {
        return false;
    }
    if (len > 0 && base[len - 1] != '/' &&
        !buf_append_byte(&m->page_url, '/')) {
        return false;
    }
    return append_path(&m->page_url, id);
}

static struct bytes source_url(const struct mapper *m)
{
    return buf_bytes(&m->page.text);
}

/* ---- gathering ---- */

static void gather_base(void *ctx, struct bytes href)
{
    struct mapper *m = ctx;

    m->has_base = true;
    m->failed = m->failed || !buf_append(&m->base_href, href.data, href.len);
}

static bool grow_links(struct mapper *m)
{
    size_t capacity = m->capacity == 0 ? 256 : 2 * m->capacity;
    struct found_link *links = realloc(m->links, capacity * sizeof *links);

    if (links == NULL) {
        return false;
    }
    m->links = links;
    m->capacity = capacity;
    return true;
}

static void gather_link(void *ctx, struct bytes href, bool nofollow)
{
    struct mapper *m = ctx;

    if (m->failed || (m->count == m->capacity && !grow_links(m))) {
        m->failed = true;
        return;
    }
    m->links[m->count++] = (struct found_link){ .at = m->hrefs.len,
                                                .len = href.len,
                                                .nofollow = nofollow };
    m->failed = !buf_append(&m->hrefs, href.data, href.len);
}

static bool gather(struct mapper *m, struct bytes page)
{
    const struct html_handler handler = { .base = gather_base,
                                          .link = gather_link,
                                          .ctx = m };

    m->count = 0;
    m->has_base = false;
    m->excess = 0;
    m->failed = false;
    buf_reset(&m->hrefs);
    buf_reset(&m->base_href);
    return html_scan(m->scanner, page, &handler) && !m->failed;
}

/* ---- resolving ---- */

/* A <base> that is no URL counts as none. */
static bool set_base(struct mapper *m)
{
    enum url_result result = url_base_set(&m->base, source_url(m));

    if (result == URL_OK && m->has_base) {
        result = url_base_move(&m->base, buf_bytes(&m->base_href));
    }
    return result != URL_NO_MEMORY;
}

/* Whether a pair of such URLs may still be emitted; counts it as if so. */
static bool takes(struct mapper *m, size_t target, size_t source)
{
    size_t more = (target > ORDINARY ? target - ORDINARY : 0) +
                  (source > ORDINARY ? source - ORDINARY : 0);

    if (target > DF_KEY_MAX || source > DF_KEY_MAX ||
        (more > 0 && m->excess + more > EXCESS_MAX)) {
        return false;
    }
    m->excess += more;
    return true;
}

static void emit_link(struct mapper *m, const struct found_link *link,
                      struct df_emitter *e)
{
    static const int64_t one = 1;
    struct bytes source = source_url(m);
    struct bytes target = buf_bytes(&m->target);

    if ((m->config->drop_nofollow && link->nofollow) ||
        (m->config->drop_self && bytes_equal(source, target))) {
        df_count(e, DROPPED, 1);
    } else if (!takes(m, target.len, source.len)) {
        df_count(e, LONG_URLS, 1);
    } else {
        df_emit(e, target.data, target.len, source.data, source.len, &one);
    }
}

static void resolve_link(struct mapper *m, const struct found_link *link,
                         struct df_emitter *e)
{
    struct bytes href = bytes_of(m->hrefs.data + link->at, link->len);

    buf_reset(&m->target);
    switch (url_resolve(&m->base, href, &m->target)) {
    case URL_OK:
        emit_link(m, link, e);
        break;
    case URL_OTHER:
        df_count(e, OTHER, 1);
        break;
    case URL_INVALID:
        df_count(e, INVALID, 1);
        break;
    case URL_NO_MEMORY:
        e->status = DF_SYSTEM;
        break;
    }
}

/* ---- what is a page ---- */

/* Whether the path of an id ends as those of pages do. */
static bool is_named_page(struct bytes id)
{
    static const char *const ends[] = { ".html", ".htm", ".xhtml", ".shtml" };
    const uint8_t *query = id.len > 0 ? memchr(id.data, '?', id.len) : NULL;

    if (query != NULL) {
        id.len = (size_t)(query - id.data);
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (bytes_end_in(id, ends[i])) {
            return true;
        }
    }
    return false;
}

/* By content, else by name; a column of records is what the view's options
 * say it is. */
static bool is_page(const struct df_piece *piece, struct bytes page)
{
    return piece->is_text || html_looks_like(page) ||
           (is_named_page(bytes_of(piece->id, piece->id_len)) &&
            html_may_be(page));
}

static void map(void *mapper, const struct df_piece *piece,
                struct df_emitter *e)
{
    struct mapper *m = mapper;
    enum url_result result;
    struct bytes page = bytes_of(piece->data, piece->len);

    if (!(piece->is_text ? encoding_mend(page, &m->text, &page)
                         : encoding_to_utf8(page, &m->text, &page))) {
        e->status = DF_SYSTEM;
        return;
    }
    if (!is_page(piece, page)) {
        df_count(e, NOT_HTML, 1);
        return;
    }
    if (!make_page_url(m, bytes_of(piece->id, piece->id_len))) {
        e->status = DF_SYSTEM;
        return;
    }
    result = url_base_set(&m->page, buf_bytes(&m->page_url));
    if (result != URL_OK) {
        if (result == URL_NO_MEMORY) {
            e->status = DF_SYSTEM;
        }
        df_count(e, NO_URL, 1);
        return;
    }
    if (!gather(m, page) || !set_base(m)) {
        e->status = DF_SYSTEM;
        return;
    }
    for (size_t i = 0; i < m->count && e->status == DF_OK; i++) {
        resolve_link(m, &m->links[i], e);
    }
}

const struct df_job links_job = {
    .name = "links",
    .summary = "which pages link to a page, and how many times",
    .version = 1,
    .options = options,
    .has_element = true,
    .raw = true,
    .components = components,
    .counters = counters,
    .configure = configure,
    .release = release,
    .pieces = pieces,
    .mapper_open = mapper_open,
    .mapper_close = mapper_close,
    .map = map,
};
