#include "jobs/links/html_foreign.h"

static bool is_html(const struct html_node *node)
{
    return node->space == HTML_SPACE_HTML;
}

static bool is_template(const struct html_node *node)
{
    return is_html(node) && node->known->element == HTML_TEMPLATE;
}

/* Sets what the node at the top says of its run. */
static void join_run(struct html_foreign *f)
{
    struct html_node *top = &f->nodes[f->depth - 1];
    const struct html_node *below = f->depth > 1 ? top - 1 : NULL;

    top->run_begin = f->depth - 1;
    top->run_traits = top->known->traits;
    top->run_has_paragraph = top->known->element == HTML_P;
    top->run_has_point = top->point != HTML_POINT_NONE;
    if (below != NULL && is_html(below) == is_html(top)) {
        top->run_begin = below->run_begin;
        top->run_traits |= below->run_traits;
        top->run_has_paragraph |= below->run_has_paragraph;
        top->run_has_point |= below->run_has_point;
    }
}

static void push(struct html_foreign *f, const struct html_tag *tag,
                 enum html_space space, enum html_point point)
{
    if (f->depth == HTML_DEPTH_MAX) {
        f->guessed = true;
        return;
    }
    f->nodes[f->depth++] = (struct html_node){
        .name = tag->name, .known = tag->known, .space = space, .point = point
    };
    join_run(f);
    f->templates += is_template(html_foreign_top(f));
}

static void pop_to(struct html_foreign *f, size_t depth)
{
    while (f->depth > depth) {
        f->templates -= is_template(html_foreign_top(f));
        f->depth--;
    }
}

void html_foreign_leave(struct html_foreign *f)
{
    pop_to(f, 0);
}

/* ---- start tags by the rules of foreign content (13.2.6.5) ---- */

static bool is_read_as_html(const struct html_node *top,
                            const struct html_tag *tag)
{
    enum html_element element = tag->known->element;

    switch (top->point) {
    case HTML_POINT_HTML:
        return true;
    case HTML_POINT_TEXT:
        return element != HTML_MGLYPH && element != HTML_MALIGNMARK;
    case HTML_POINT_SVG:
        return element == HTML_SVG;
    case HTML_POINT_NONE:
        break;
    }
    return is_html(top);
}

static bool breaks_out(const struct html_tag *tag)
{
    return (tag->known->traits & HTML_BREAKOUT) != 0 ||
           (tag->known->element == HTML_FONT && tag->has_font);
}

/* Back to where HTML may stand. */
static void pop_foreign(struct html_foreign *f)
{
    while (f->depth > 0 && !is_html(html_foreign_top(f)) &&
           html_foreign_top(f)->point != HTML_POINT_HTML &&
           html_foreign_top(f)->point != HTML_POINT_TEXT) {
        pop_to(f, f->depth - 1);
    }
}

static enum html_point math_point(const struct html_tag *tag)
{
    if (tag->known->element == HTML_ANNOTATION_XML) {
        bool holds_html =
            html_same_name(tag->encoding, bytes_of_string("text/html")) ||
            html_same_name(tag->encoding,
                           bytes_of_string("application/xhtml+xml"));

        return holds_html ? HTML_POINT_HTML : HTML_POINT_SVG;
    }
    return (tag->known->traits & HTML_MATH_POINT) != 0 ? HTML_POINT_TEXT
                                                       : HTML_POINT_NONE;
}

static void push_foreign(struct html_foreign *f, const struct html_tag *tag,
                         enum html_space space)
{
    enum html_point point = HTML_POINT_NONE;

    if (tag->self_closing) {
        return;
    }
    if (space == HTML_SPACE_MATH) {
        point = math_point(tag);
    } else if ((tag->known->traits & HTML_SVG_POINT) != 0) {
        point = HTML_POINT_HTML;
    }
    push(f, tag, space, point);
}

bool html_foreign_start(struct html_foreign *f, const struct html_tag *tag)
{
    const struct html_node *top = html_foreign_top(f);

    if (is_read_as_html(top, tag)) {
        return true;
    }
    if (breaks_out(tag)) {
        pop_foreign(f);
        return true;
    }
    push_foreign(f, tag, top->space);
    return false;
}

void html_foreign_enter(struct html_foreign *f, const struct html_tag *tag)
{
    push_foreign(f, tag,
                 tag->known->element == HTML_SVG ? HTML_SPACE_SVG
                                                 : HTML_SPACE_MATH);
}

/* ---- HTML inside an integration point ---- */

/* Whether one that others of its kind end is open above the innermost
 * integration point. */
static bool has_tangled(const struct html_foreign *f)
{
    const struct html_node *top = html_foreign_top(f);

    return is_html(top) && (top->run_traits & HTML_TANGLED) != 0;
}

static void end_paragraph(struct html_foreign *f)
{
    const struct html_node *top = html_foreign_top(f);

    if (is_html(top) && top->known->element == HTML_P) {
        pop_to(f, f->depth - 1);
        top = html_foreign_top(f); /* there is the svg at least */
    }
    f->guessed |= is_html(top) && top->run_has_paragraph;
}

void html_foreign_html(struct html_foreign *f, const struct html_tag *tag)
{
    unsigned traits = tag->known->traits;

    if ((traits & HTML_FAR) != 0 ||
        ((traits & HTML_TANGLED) != 0 && has_tangled(f))) {
        f->guessed = true;
    }
    if ((traits & HTML_BLOCK) != 0) {
        end_paragraph(f);
    }
    if ((traits & (HTML_VOID | HTML_TEXT | HTML_IGNORED)) == 0) {
        push(f, tag, HTML_SPACE_HTML, HTML_POINT_NONE);
    }
}

/* ---- end tags ---- */

/* The innermost node of that name in the run of nodes below `top` that are
 * all HTML's, or all not; depth where there is none. */
static size_t find_in_run(const struct html_foreign *f, size_t top, bool html,
                          struct bytes name)
{
    size_t begin = top;

    if (top > 0 && is_html(&f->nodes[top - 1]) == html) {
        begin = f->nodes[top - 1].run_begin;
    }
    for (size_t i = top; i-- > begin;) {
        struct bytes other = f->nodes[i].name;

        if (other.len == name.len && html_same_name(other, name)) {
            return i;
        }
    }
    return f->depth;
}

/* An end tag for what may be open outside of the svg or math. */
static void end_outside(struct html_foreign *f, struct bytes name,
                        const struct html_name *known)
{
    bool is_custom = memchr(name.data, '-', name.len) != NULL;

    f->guessed = true;
    if (f->templates == 0 &&
        ((known->traits & HTML_KNOWN) != 0 || is_custom)) {
        pop_to(f, 0);
    }
}

/* HTML's rules for an end tag; the HTML nodes it may mean end at `top`. */
static void end_html(struct html_foreign *f, size_t top, struct bytes name,
                     const struct html_name *known)
{
    size_t found = find_in_run(f, top, true, name);

    if (found < f->depth) {
        f->guessed |= found + 1 != f->depth;
        pop_to(f, found);
    } else if ((known->traits & HTML_FAR) != 0) {
        end_outside(f, name, known);
    } else if ((known->traits & HTML_TANGLED) != 0) {
        f->guessed |= has_tangled(f); /* h1 by h2 */
    }
}

static void end_foreign(struct html_foreign *f, struct bytes name,
                        const struct html_name *known)
{
    const struct html_node *top = html_foreign_top(f);
    size_t found = find_in_run(f, f->depth, false, name);

    if (known->element == HTML_P || known->element == HTML_BR) {
        pop_foreign(f);
        end_html(f, f->depth, name, known);
    } else if (found < f->depth) {
        pop_to(f, found);
    } else if ((known->traits & HTML_IGNORED) != 0 ||
               (top->run_has_point && (known->traits & HTML_FAR) == 0)) {
        return; /* a body's end closes nothing; a point hides the outside */
    } else if (top->run_begin == 0) {
        end_outside(f, name, known);
    } else {
        f->guessed = true;
        end_html(f, top->run_begin, name, known);
    }
}

static bool end_template(struct html_foreign *f)
{
    if (f->templates == 0) {
        return true;
    }
    while (!is_template(html_foreign_top(f))) {
        f->depth--;
    }
    pop_to(f, f->depth - 1);
    return false;
}

bool html_foreign_end(struct html_foreign *f, struct bytes name,
                      const struct html_name *known)
{
    bool in_html = is_html(html_foreign_top(f));

    if (known->element == HTML_TEMPLATE &&
        (in_html || find_in_run(f, f->depth, false, name) == f->depth)) {
        return end_template(f);
    }
    if (in_html) {
        end_html(f, f->depth, name, known);
    } else {
        end_foreign(f, name, known);
    }
    return false;
}
