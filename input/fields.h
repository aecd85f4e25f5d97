/*
 * fields.h: lines of "name: value", as WARC and HTTP heads have them.
 *
 *     fields_unfold(head.data, head.len)         once; joins folded lines
 *     rest = ... behind the first line ...
 *     while (fields_next(&rest, &field)) { ... field.name, field.value ... }
 *
 * Lines end in LF or CRLF. What a field holds points into the head.
 */
#ifndef INPUT_FIELDS_H
#define INPUT_FIELDS_H

#include "base/bytes.h"

struct field {
    struct bytes name;  /* empty: a line that is no field */
    struct bytes value; /* without blanks around it */
};

/* A line that begins with a blank goes on with the one before: the line
 * ends between them become blanks. The first line is never joined. */
void fields_unfold(uint8_t *head, size_t len);

/* Takes the first line off *rest, without its end; false at the end. */
bool fields_line(struct bytes *rest, struct bytes *line);

/* The same for a field. The empty line that ends a head is the end. */
bool fields_next(struct bytes *rest, struct field *field);

/* Takes the first of a list of words apart by commas, without blanks around
 * it; false at the end. Empty words are passed over. */
bool fields_word(struct bytes *list, struct bytes *word);

/* Whether text is this, in any case of ASCII letters; lower is in lower
 * case. */
bool fields_is(struct bytes text, const char *lower);
bool fields_begins(struct bytes text, const char *lower);

#endif
