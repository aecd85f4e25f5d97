#include "cli/columns.h"

#include <stdarg.h>
#include <stdio.h>

#include "cli/human.h"

void columns_cell(struct columns *t, const char *text)
{
    size_t column = t->cells % strlen(t->align);
    size_t width = human_width(bytes_of_string(text));

    if (!buf_append(&t->text, text, strlen(text) + 1)) {
        t->no_memory = true;
        return;
    }
    t->cells++;
    if (width > t->widths[column]) {
        t->widths[column] = width;
    }
}

void columns_printf(struct columns *t, const char *format, ...)
{
    char text[400];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    columns_cell(t, text);
}

static void put_blanks(struct output *out, size_t n)
{
    for (; n > 0; n--) {
        output_byte(out, ' ');
    }
}

/* Blanks are held back until something follows: no line ends in one. */
static void put_cell(const struct columns *t, struct output *out,
                     size_t column, const char *text, size_t *blanks)
{
    size_t pad = t->widths[column] - human_width(bytes_of_string(text));
    bool right = t->align[column] == 'r';

    if (column > 0) {
        *blanks += 2;
    }
    *blanks += right ? pad : 0;
    if (*text != '\0') {
        put_blanks(out, *blanks);
        output_text(out, text);
        *blanks = 0;
    }
    *blanks += right ? 0 : pad;
}

enum df_status columns_print(const struct columns *t, struct output *out,
                             struct df_error *err)
{
    const char *cell = (const char *)t->text.data;
    size_t columns = strlen(t->align);
    size_t blanks = 0;

    if (t->no_memory) {
        return error_no_memory(err);
    }
    for (size_t i = 0; i < t->cells; i++) {
        put_cell(t, out, i % columns, cell, &blanks);
        cell += strlen(cell) + 1;
        if (i % columns == columns - 1) {
            output_byte(out, '\n');
            blanks = 0;
        }
    }
    return DF_OK;
}

void columns_fini(struct columns *t)
{
    buf_fini(&t->text);
}
