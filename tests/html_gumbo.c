#include "tests/html_gumbo.h"

#include <gumbo.h>
#include <stdlib.h>

#include "tests/html_links.h"

/* gumbo loses some memory of its own, by the leak checker's count. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libgumbo";
}

struct found {
    unsigned offset;
    const GumboElement *element;
};

struct list {
    struct found *items;
    size_t len;
    size_t capacity;
};

static void add(struct list *list, const GumboElement *element)
{
    if (list->len == list->capacity) {
        list->capacity = list->capacity * 2 + 64;
        list->items =
            realloc(list->items, list->capacity * sizeof *list->items);
        if (list->items == NULL) {
            abort();
        }
    }
    list->items[list->len++] =
        (struct found){ element->start_pos.offset, element };
}

static bool is_wanted(const GumboNode *node)
{
    const GumboElement *e = &node->v.element;
    unsigned copied = GUMBO_INSERTION_RECONSTRUCTED_FORMATTING_ELEMENT |
                      GUMBO_INSERTION_ADOPTION_AGENCY_CLONED;

    return e->tag_namespace == GUMBO_NAMESPACE_HTML &&
           (e->tag == GUMBO_TAG_A || e->tag == GUMBO_TAG_AREA ||
            e->tag == GUMBO_TAG_BASE) &&
           (node->parse_flags & copied) == 0 &&
           gumbo_get_attribute(&e->attributes, "href") != NULL;
}

static const GumboVector *children_of(const GumboNode *node)
{
    switch (node->type) {
    case GUMBO_NODE_DOCUMENT:
        return &node->v.document.children;
    case GUMBO_NODE_ELEMENT:
        return &node->v.element.children;
    case GUMBO_NODE_TEMPLATE: /* its content is no part of the page */
    case GUMBO_NODE_TEXT:
    case GUMBO_NODE_CDATA:
    case GUMBO_NODE_COMMENT:
    case GUMBO_NODE_WHITESPACE:
        break;
    }
    return NULL;
}

/* From node to node along parents: a page may be deeper than our stack. */
static void collect(const GumboNode *node, struct list *list)
{
    size_t next = 0;

    while (node != NULL) {
        const GumboVector *children = children_of(node);

        if (next == 0 && node->type == GUMBO_NODE_ELEMENT && is_wanted(node)) {
            add(list, &node->v.element);
        }
        if (children != NULL && next < children->length) {
            node = children->data[next];
            next = 0;
        } else {
            next = node->index_within_parent + 1;
            node = node->parent;
        }
    }
}

static int by_offset(const void *left, const void *right)
{
    const struct found *a = left;
    const struct found *b = right;

    return (a->offset > b->offset) - (a->offset < b->offset);
}

static void write(const struct list *list, struct buf *links)
{
    bool has_base = false;

    for (size_t i = 0; i < list->len; i++) {
        const GumboElement *e = list->items[i].element;
        struct bytes href = bytes_of_string(
            gumbo_get_attribute(&e->attributes, "href")->value);
        const GumboAttribute *rel = gumbo_get_attribute(&e->attributes, "rel");

        if (e->tag != GUMBO_TAG_BASE) {
            bool nofollow = rel != NULL && html_links_is_nofollow(rel->value);

            html_links_add(links, nofollow ? "nofollow" : "link", href);
        } else if (!has_base) {
            has_base = true;
            html_links_add(links, "base", href);
        }
    }
}

void html_gumbo_links(struct bytes page, struct buf *links)
{
    GumboOutput *output = gumbo_parse_with_options(
        &kGumboDefaultOptions, (const char *)page.data, page.len);
    struct list list = { 0 };

    collect(output->document, &list);
    if (list.len > 0) {
        qsort(list.items, list.len, sizeof *list.items, by_offset);
    }
    write(&list, links);
    free(list.items);
    gumbo_destroy_output(&kGumboDefaultOptions, output);
}
