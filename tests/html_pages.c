#include "tests/html_pages.h"

#include <stdlib.h>

/* %u in a fragment is a number that no other fragment of the page has. */
static const char *const plain[] = {
    "<a href=/%u>",
    "<a href='/%u'>",
    "<A HREF=\"/%u\" rel=\"x NoFollow\">",
    "<a\nhref = /%u rel=nofollow>",
    "<area href=/%u/>",
    "<a href=\"/%u?a=1&amp;b=2&copy=3&copy;&notit;&not;in&#38;&#x26\">",
    "<a href='/%u&#0;&#128;&#xD800;&#x110000;&#99999999999;&#;&#x;&'>",
    "<a href=/%u&lt&ampx&AMP;&ngE;&fjlig;&Tab;&NewLine;>",
    "<a href=/%u href=/second>",
    "<a href>",
    "<a href=>",
    "<a =href=/%u>",
    "<a href==/%u>",
    "<a/href=/%u/>",
    "<a data-href=/%u xhref=/x>",
    "<a title=\"<a href=/no>\" href=/%u>",
    "<a b='>' href=/%u>",
    "<a b=\">\"href=/%u>",
    "<a b=x\"> href=/%u>",
    "<a b = 'x'/ href=/%u>",
    "<a \"=\" href=/%u>",
    "<a b= \"c href=/%u>\" >",
    "<span class=\"x>y\" id='>'><b>",
    "<p title=a\"b>",
    "<div a=b=\"c>d\">",
    "<a<b href=/%u>",
    "<a\f\thref=\r\n/%u\r>",
    "<a href=\"/%u\r\n\rx\">",
    "</a href=/%u>",
    "</a title=\">\">",
    "</ a href=/%u>",
    "</>",
    "</",
    "<",
    "< a href=/%u>",
    "<3",
    "<base href=/base%u>",
    "<base target=x>",
    "<!-- <a href=/%u> -->",
    "<!--> ",
    "<!--->",
    "<!---->",
    "<!----!>",
    "<!---!>",
    "<!-- x --!>",
    "<!-- x -- >",
    "<!--<!-->",
    "<!--<!--->",
    "<!--",
    "-->",
    "--!>",
    "--",
    "<!-",
    "<!>",
    "<!x>",
    "<!DOCTYPE html PUBLIC \"a>b\">",
    "<![CDATA[ <a href=/%u> ]]>",
    "<![CDATA[>",
    "]]>",
    "<?php <a href=/%u> ?>",
    "<?",
    ">",
    "\"",
    "'",
    "=",
    "/",
    " ",
    "\n",
    "text &lt;a href=/t&gt; ",
    "<title>",
    "</title>",
    "</title x='>'>",
    "<TITLE/>",
    "</titlex>",
    "<textarea>",
    "</textarea>",
    "</TextArea\n>",
    "<style>",
    "</style>",
    "</style/",
    "<xmp>",
    "</xmp>",
    "<iframe src=x>",
    "</iframe>",
    "<noembed>",
    "</noembed>",
    "<noframes>",
    "</noframes>",
    "<noscript>",
    "</noscript>",
    "<script>",
    "<script src='>'>",
    "</script>",
    "</script foo>",
    "</scriptx>",
    "</SCRIPT/>",
    "<!--<script>",
    "<script ",
    "<scripty>",
    "<template>",
    "</template>",
    "<Template x>",
    "<b>",
    "</b>",
    "<div>",
    "</div>",
    "<p>",
    "</p>",
    "<ul><li>",
    "</li>",
    "<br/>",
    "<img src=x>",
    "<form><input name=q>",
    "</form>",
    "<table2>",
    "<strong>",
    "<small>",
    "<meta charset=x>",
    "<body>",
    "</body>",
    "</html>",
    "<head>",
    "</head>",
};

static const char *const foreign[] = {
    "<svg>",
    "<svg/>",
    "<SVG viewBox='0 0 1 1'>",
    "</svg>",
    "</SVG>",
    "<math>",
    "</math>",
    "<g>",
    "</g>",
    "<path d='M0>'/>",
    "<a xlink:href=/x href=/svg%u>",
    "</a>",
    "<![CDATA[ <a href=/%u> ]]>",
    "<![CDATA[ ]] > ]]>",
    "<title>",
    "</title>",
    "<desc>",
    "</desc>",
    "<foreignObject>",
    "</foreignobject>",
    "<foreignObject/>",
    "<foreignObject><div><a href=/%u></a></div></foreignObject>",
    "<style>",
    "</style>",
    "<script>",
    "</script>",
    "<textarea>",
    "<font>",
    "<font color=red>",
    "<mi>",
    "</mi>",
    "<mo>",
    "</mo>",
    "<mtext>",
    "</mtext>",
    "<mglyph>",
    "<malignmark/>",
    "<annotation-xml>",
    "<annotation-xml encoding='Text/HTML'>",
    "<annotation-xml encoding=application/xhtml+xml>",
    "<annotation-xml encoding=x>",
    "</annotation-xml>",
    "<span>",
    "</span>",
    "<em>",
    "</em>",
    "<i></i>",
    "<section><p>x</p></section>",
    "<template>",
    "</template>",
};

static const char *const frames[] = {
    "<frameset>",
    "<frameset cols=*>",
    "</frameset>",
    "<frame>",
    "<noframes>",
    "</noframes>",
    "<a href=/%u>",
    "<a href=/%u></a>",
    "<p>",
    "<span>",
    "<form>",
    "<input type=hidden>",
    "<input type=HIDDEN value=x>",
    "<input>",
    " ",
    "\n",
    "&#32;",
    "&Tab;",
    "&#x0A;",
    "&#65;",
    "x",
    "<html>",
    "<head>",
    "</head>",
    "<title>t</title>",
    "<script>s</script>",
    "<template>",
    "</template>",
    "<br>",
    "</br>",
    "</p>",
    "<base href=/b%u>",
    "<noscript>",
    "<link rel=x>",
    "<body>",
    "</body>",
    "</html>",
    "<!-- -->",
    "<svg>",
    "</svg>",
    "<svg> x </svg>",
    "<svg><![CDATA[ ]]></svg>",
    "<svg><![CDATA[x]]></svg>",
    "<noembed>x</noembed>",
};

static const char *const tables[] = {
    "<table>", "</table>",     "<tr>",       "</tr>",     "<td>",
    "</td>",   "<th>",         "<caption>",  "<tbody>",   "<colgroup>",
    "<col>",   "<a href=/%u>", "</a>",       "<p>",       "</p>",
    "<div>",   "</div>",       "<b>",        "</b>",      "<i>",
    "<nobr>",  "<button>",     "</button>",  "<h1>",      "</h2>",
    "<ul>",    "<li>",         "</ul>",      "<dl><dd>",  "<dt>",
    "<form>",  "</form>",      "<object>",   "</object>", "<marquee>",
    "<pre>\n", "<listing>",    "<ruby><rt>", "<rp>",      "<option>",
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

uint64_t html_pages_random(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static size_t below(uint64_t *seed, size_t n)
{
    return (size_t)(html_pages_random(seed) % n);
}

static const char *choose(uint64_t *seed, unsigned kinds)
{
    for (;;) {
        switch (1U << below(seed, 4) & kinds) {
        case HTML_PAGES_PLAIN:
            return plain[below(seed, COUNT(plain))];
        case HTML_PAGES_FOREIGN:
            return foreign[below(seed, COUNT(foreign))];
        case HTML_PAGES_FRAMES:
            return frames[below(seed, COUNT(frames))];
        case HTML_PAGES_TABLES:
            return tables[below(seed, COUNT(tables))];
        default:
            break;
        }
    }
}

static void must(bool has_memory)
{
    if (!has_memory) {
        abort();
    }
}

static void append(struct buf *page, const char *fragment, unsigned number)
{
    const char *place = strstr(fragment, "%u");

    if (place == NULL) {
        must(buf_append_string(page, fragment));
        return;
    }
    must(buf_append(page, fragment, (size_t)(place - fragment)) &&
         buf_printf(page, "%u", number) && buf_append_string(page, place + 2));
}

void html_pages_make(uint64_t *seed, unsigned kinds, unsigned most,
                     struct buf *page)
{
    unsigned n = 1 + (unsigned)below(seed, most);

    for (unsigned i = 0; i < n; i++) {
        append(page, choose(seed, kinds), i);
    }
}

static void remove_at(struct buf *page, size_t at, size_t len)
{
    memmove(page->data + at, page->data + at + len, page->len - at - len);
    page->len -= len;
}

static void insert_at(struct buf *page, size_t at, const void *data,
                      size_t len)
{
    must(buf_reserve(page, len));
    memmove(page->data + at + len, page->data + at, page->len - at);
    memcpy(page->data + at, data, len);
    page->len += len;
}

void html_pages_mutate(uint64_t *seed, struct buf *page)
{
    static const char bytes[] = "<>\"'=/!-?[]& \n\r\tahrefs\0";
    size_t changes = 1 + below(seed, 8);

    while (changes-- > 0 && page->len > 0) {
        size_t at = below(seed, page->len);
        size_t len = 1 + below(seed, 40);
        uint8_t copy[40];

        len = len < page->len - at ? len : page->len - at;
        switch (below(seed, 4)) {
        case 0:
            page->data[at] = (uint8_t)bytes[below(seed, sizeof bytes - 1)];
            break;
        case 1:
            remove_at(page, at, len);
            break;
        case 2:
            memcpy(copy, page->data + at, len);
            insert_at(page, below(seed, page->len), copy, len);
            break;
        default: {
            const char *fragment = plain[below(seed, COUNT(plain))];

            insert_at(page, at, fragment, strlen(fragment));
            break;
        }
        }
    }
}
