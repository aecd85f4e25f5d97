#include "tests/html_links.h"

#include <stdlib.h>
#include <strings.h>

#include "deltafold/job.h"

static void must(bool has_memory)
{
    if (!has_memory) {
        abort();
    }
}

void html_links_add(struct buf *links, const char *kind, struct bytes href)
{
    must(buf_append_string(links, kind) && buf_append_byte(links, ' '));
    for (size_t i = 0; i < href.len; i++) {
        uint8_t byte = href.data[i];

        if (byte < 0x20 || byte == 0x7F || byte == '\\') {
            must(buf_printf(links, "\\x%02X", (unsigned)byte));
        } else {
            must(buf_append_byte(links, byte));
        }
    }
    must(buf_append_byte(links, '\n'));
}

static void take_base(void *ctx, struct bytes href)
{
    html_links_add(ctx, "base", href);
}

static void take_link(void *ctx, struct bytes href, bool nofollow)
{
    html_links_add(ctx, nofollow ? "nofollow" : "link", href);
}

bool html_links_scan(struct html_scanner *s, struct bytes page,
                     struct buf *links)
{
    const struct html_handler handler = { take_base, take_link, links };

    must(html_scan(s, page, &handler));
    return !html_scanner_guessed(s);
}

struct bytes html_links_page(struct buf *room, struct bytes content)
{
    static const char slack[] = "-->]]></script></title>'>\"><a "
                                "href=/beyond-the-end>x</a><a b='......";

    _Static_assert(sizeof slack >= DF_SLACK, "fills the slack");
    buf_reset(room);
    must(buf_append(room, content.data, content.len) &&
         buf_reserve(room, DF_SLACK));
    memcpy(room->data + room->len, slack, DF_SLACK);
    return buf_bytes(room);
}

bool html_links_is_nofollow(const char *rel)
{
    char *words = strdup(rel);
    char *rest = NULL;
    bool found = false;

    must(words != NULL);
    for (char *word = strtok_r(words, " \t\n\f\r", &rest); word != NULL;
         word = strtok_r(NULL, " \t\n\f\r", &rest)) {
        found |= strcasecmp(word, "nofollow") == 0;
    }
    free(words);
    return found;
}
