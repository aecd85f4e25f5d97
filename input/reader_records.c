/*
 * reader_records.c: units of files of records. What is pending in the pieces
 * begins with a record throughout.
 */
#include <stdlib.h>

#include "input/reader_private.h"
#include "input/refuse.h"

enum {
    /* Bytes read behind a unit at first, to find its border. */
    BEHIND = 4096,
    /* Most that is read at once behind a record that has not ended. */
    MORE = 4 << 20
};

/* ---- lines, for messages ---- */

/* A count of the line ends before a place. */
struct line_count {
    uint64_t left; /* bytes before the place */
    uint64_t line;
};

/* It does not matter where what is only counted is cut. */
static size_t cut_anywhere(const void *config, const uint8_t *data, size_t len)
{
    (void)config;
    (void)data;
    return len > 0 ? 1 : 0;
}

static enum df_status count_lines(void *ctx, const struct df_piece *piece,
                                  struct df_error *err)
{
    struct line_count *c = ctx;
    size_t n = piece->len < c->left ? piece->len : (size_t)c->left;
    const uint8_t *at = piece->data;
    const uint8_t *end = at + n;

    (void)err;
    while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        c->line++;
        at++;
    }
    c->left -= n;
    return c->left == 0 ? DF_DIFFERS : DF_OK; /* enough */
}

/* Reads the file that `from` has open a second time, up to the place. */
static enum df_status count_in(struct reader *counter, struct reader *from,
                               struct line_count *count, struct df_error *err)
{
    const struct batch batch = { .path =
                                     (char *)(uintptr_t)from->source.root };
    const struct source_range range = { .end = from->source.file->length,
                                        .inode = from->source.inode };
    enum df_status status =
        source_open(&counter->source, &batch, from->source.file, &range, err);

    if (status != DF_OK) {
        return status;
    }
    decode_start(counter->file);
    counter->content = counter->file;
    pieces_start(&counter->pieces, bytes_of(NULL, 0), true, count_lines,
                 count);
    status = reader_read_file(counter, err);
    source_abandon(&counter->source);
    return status == DF_DIFFERS ? DF_OK : status;
}

/* The line in which the byte at `at` of the content lies. */
static enum df_status line_at(struct reader *r, uint64_t at, uint64_t *line,
                              struct df_error *err)
{
    const struct reader_cut cut = { .pieces = DF_PIECES_ORDERED,
                                    .cut = cut_anywhere,
                                    .stop = r->cut.stop };
    struct line_count count = { .left = at, .line = 1 };
    struct reader *counter;
    enum df_status status = reader_open(&counter, &cut, err);

    if (status == DF_OK) {
        status = count_in(counter, r, &count, err);
    }
    reader_close(counter);
    *line = count.line;
    return status;
}

static uint64_t place_of(const struct reader *r, const uint8_t *data)
{
    const struct pieces *p = &r->pieces;

    return r->records.end_at - (uint64_t)(p->data + p->end - data);
}

enum df_status reader_line(const struct reader_place *place,
                           const struct df_record *record, uint64_t *line,
                           struct df_error *err)
{
    return line_at(place->reader, place_of(place->reader, record->data), line,
                   err);
}

/* err says why; file and line are put in front. */
static enum df_status locate(struct reader *r, const uint8_t *data,
                             struct df_error *err)
{
    struct df_error *trouble = malloc(sizeof *trouble);
    enum df_status status;
    uint64_t line;

    if (trouble == NULL) {
        return error_no_memory(err);
    }
    status = line_at(r, place_of(r, data), &line, trouble);
    if (status == DF_OK) {
        status =
            refuse_at_line(err, r->source.root, r->source.file->path, line);
    } else {
        *err = *trouble;
    }
    free(trouble);
    return status;
}

struct bytes reader_header(const struct reader_place *place)
{
    return record_parser_header_row(place->reader->records.parser);
}

enum df_status reader_refuse(const struct reader_place *place,
                             const struct df_record *record, const char *why,
                             struct df_error *err)
{
    (void)error_set(err, DF_INPUT, "%s", why);
    return locate(place->reader, record->data, err);
}

/* ---- from what is pending to the sink ---- */

static enum df_status give(void *ctx, const struct df_record *records,
                           size_t n, struct df_error *err)
{
    struct reader_records *x = &((struct reader *)ctx)->records;
    enum df_status status = x->sink(x->ctx, &x->place, records, n, err);

    if (status == DF_OK && x->kept != NULL &&
        !bounds_add(x->kept, place_of(ctx, records[0].data), records, n)) {
        status = error_no_memory(err);
    }
    x->place.index += n;
    return status;
}

/* ---- from what is pending to the sink, by what is known ---- */

enum { KNOWN_AT_ONCE = 256 };

static void know_next(struct reader_records *x)
{
    x->has_next = bounds_next(&x->walk, &x->next_at, &x->next_len);
}

/* Takes records that lie in b, which begins at `begin` of the content, up to
 * KNOWN_AT_ONCE. */
static size_t take_known(struct reader_records *x, struct bytes b,
                         uint64_t begin, struct df_record *records)
{
    size_t n = 0;

    while (n < KNOWN_AT_ONCE && x->has_next &&
           x->next_at + x->next_len <= begin + b.len) {
        records[n++] =
            (struct df_record){ .data = b.data + (x->next_at - begin),
                                .len = x->next_len };
        know_next(x);
    }
    return n;
}

static enum df_status give_known(struct reader *r, struct df_error *err)
{
    struct reader_records *x = &r->records;
    struct pieces *p = &r->pieces;
    struct bytes b = pieces_pending(p);
    uint64_t begin = x->end_at - b.len;
    struct df_record records[KNOWN_AT_ONCE];
    enum df_status status = DF_OK;
    size_t n;

    while (status == DF_OK && (n = take_known(x, b, begin, records)) > 0) {
        status = give(r, records, n, err);
    }
    p->begin = x->has_next && x->next_at < x->end_at
                   ? p->end - (size_t)(x->end_at - x->next_at)
                   : p->end;
    return status;
}

static enum df_status parse(struct reader *r, bool at_end,
                            struct df_error *err)
{
    const struct record_sink sink = { .take = give, .ctx = r };
    struct pieces *p = &r->pieces;
    size_t used = 0;
    size_t at;
    enum df_status status;

    if (r->cut.stop != NULL && *r->cut.stop != 0) {
        return error_set(err, DF_INTERRUPTED, "interrupted");
    }
    if (r->records.is_known) {
        return give_known(r, err);
    }
    status = record_parse(r->records.parser, pieces_pending(p), at_end, &used,
                          &sink, err);
    if (status == DF_INPUT && record_parser_fault(r->records.parser, &at)) {
        return locate(r, p->data + p->begin + at, err);
    }
    p->begin += used;
    return status;
}

/* More of the file or unit: twice what is pending, up to a point, when it is
 * a long record, so that it is not looked at again and again. */
static enum df_status fill(struct reader *r, bool *at_end,
                           struct df_error *err)
{
    size_t pending = pieces_pending(&r->pieces).len;
    size_t wanted = pending + (pending < MORE ? pending : MORE);
    enum df_status status;

    do {
        size_t before = pieces_pending(&r->pieces).len;

        status = reader_fill(r, at_end, err);
        r->records.end_at += pieces_pending(&r->pieces).len - before;
    } while (status == DF_OK && !*at_end &&
             pieces_pending(&r->pieces).len < wanted);
    return status;
}

/* The rest of a file or unit, up to its end, which may be in what is pending
 * already. is_last: the file ends there too. */
static enum df_status read_on(struct reader *r, bool at_end, bool is_last,
                              struct df_error *err)
{
    for (;;) {
        enum df_status status = parse(r, at_end && is_last, err);

        if (status != DF_OK || at_end) {
            return status;
        }
        status = fill(r, &at_end, err);
        if (status != DF_OK) {
            return status;
        }
    }
}

static enum df_status read_whole(struct reader *r, struct df_error *err)
{
    bool at_end = false;
    enum df_status status = reader_begin_file(r, &at_end, err);

    if (status == DF_OK) {
        status = reader_begin_text(r, &at_end, err);
    }
    r->records.end_at = pieces_pending(&r->pieces).len;
    return status == DF_OK ? read_on(r, at_end, true, err) : status;
}

/* ---- units of a split file ---- */

/* The unit's own first bytes up to its border belong to the unit before;
 * *found is false where that is all of them. */
static enum df_status skip_to_border(struct reader *r, const struct unit *unit,
                                     bool *at_end, bool *found,
                                     struct df_error *err)
{
    struct pieces *p = &r->pieces;
    bool inside = unit->inside;
    enum df_status status = DF_OK;

    *found = false;
    while (status == DF_OK && !*found && !*at_end) {
        status = fill(r, at_end, err);
        if (status == DF_OK) {
            size_t c =
                record_border(r->cut.format, pieces_pending(p), &inside);

            *found = c > 0;
            p->begin = *found ? p->begin + c : p->end;
        }
    }
    return status;
}

static enum df_status read_behind(struct reader *r, size_t size, size_t *n,
                                  struct df_error *err)
{
    struct pieces *p = &r->pieces;
    enum df_status status = pieces_room(p, size, err);

    *n = 0;
    if (status == DF_OK) {
        status =
            source_read_behind(&r->source, p->data + p->end, size, n, err);
    }
    p->end += *n;
    r->records.end_at += *n;
    return status;
}

/* Appends what follows the unit up to the border of the next; but no more
 * than shows that the record there is too long. */
static enum df_status read_to_border(struct reader *r, bool inside,
                                     struct df_error *err)
{
    struct pieces *p = &r->pieces;
    enum df_status status = DF_OK;
    size_t size = BEHIND;
    size_t c = 0;

    while (status == DF_OK && c == 0 && !source_is_at_end(&r->source) &&
           pieces_pending(p).len < RECORD_MAX + BEHIND) {
        size_t n;

        status = read_behind(r, size, &n, err);
        if (status != DF_OK) {
            break;
        }
        c = record_border(r->cut.format, bytes_of(p->data + p->end - n, n),
                          &inside);
        if (c > 0) {
            p->end -= n - c;
            r->records.end_at -= n - c;
        }
        size = pieces_pending(p).len;
    }
    return status;
}

static enum df_status begin_first(struct reader *r, bool *at_end,
                                  struct df_error *err)
{
    enum df_status status = reader_fill(r, at_end, err);

    if (status == DF_OK) {
        status = reader_begin_text(r, at_end, err);
    }
    r->records.end_at = pieces_pending(&r->pieces).len;
    return status;
}

/* A unit that is not the first: it takes the header from the plan. */
static enum df_status begin_other(struct reader *r, const struct unit *unit,
                                  bool *at_end, bool *found,
                                  struct df_error *err)
{
    const struct unit_head *head =
        units_head(r->records.units, r->records.place.unit);
    enum df_status status = DF_OK;

    r->records.end_at = unit->begin - head->mark;
    if (head->header.len > 0) {
        status = record_parser_header(r->records.parser,
                                      bytes_of(head->header.data + head->mark,
                                               head->header.len - head->mark),
                                      err);
    }
    if (status == DF_INPUT) {
        /* The first unit says so, with its place. */
        *found = false;
        return DF_OK;
    }
    return status == DF_OK ? skip_to_border(r, unit, at_end, found, err)
                           : status;
}

static enum df_status read_split(struct reader *r, const struct unit *unit,
                                 struct df_error *err)
{
    size_t number = r->records.place.unit;
    bool is_last = units_is_last(r->records.units, number);
    bool at_end = false;
    bool found = true;
    enum df_status status = unit->begin == 0
                                ? begin_first(r, &at_end, err)
                                : begin_other(r, unit, &at_end, &found, err);

    if (status != DF_OK || !found) {
        return status;
    }
    status = read_on(r, at_end, is_last, err);
    if (status == DF_OK && !is_last) {
        status = read_to_border(
            r, units_at(r->records.units, number + 1)->inside, err);
        if (status == DF_OK) {
            status = parse(r, source_is_at_end(&r->source), err);
        }
    }
    return status;
}

static void begin_records(struct reader *r, struct reader_units *units,
                          size_t unit)
{
    struct reader_records *x = &r->records;

    x->units = units;
    x->place = (struct reader_place){ .unit = unit,
                                      .file = reader_unit_file(units, unit),
                                      .reader = r };
    x->is_known = units->has_bounds;
    x->kept = units->keeps_bounds && !units->has_bounds
                  ? &units_change(units, unit)->bounds
                  : NULL;
    x->walk = bounds_walk(&units_at(units, unit)->bounds);
    know_next(x);
    record_parser_start(x->parser);
}

enum df_status reader_read_records(struct reader *r,
                                   struct reader_units *units, size_t unit,
                                   reader_record_sink *sink, void *ctx,
                                   struct df_error *err)
{
    const struct batch_file *file = reader_unit_file(units, unit);
    struct source_range range = units_range(units, unit);
    struct reader_records *x = &r->records;
    enum df_status status =
        source_open(&r->source, units->batch, file, &range, err);

    if (status != DF_OK) {
        return status;
    }
    x->sink = sink;
    x->ctx = ctx;
    begin_records(r, units, unit);
    decode_start(r->file);
    r->content = r->file;
    pieces_start(&r->pieces, file->id, range.begin == 0, NULL, NULL);
    if (warc_is_named(bytes_of_string(file->path))) {
        status = source_refuse(&r->source, err,
                               "an archive (WARC) holds documents, not "
                               "records: this view has another format=");
    } else if (units_at(units, unit)->is_split) {
        status = read_split(r, units_at(units, unit), err);
    } else {
        status = read_whole(r, err);
    }
    if (status == DF_OK && x->is_known && x->has_next) {
        status = source_refuse(&r->source, err, "changed while it was read");
    }
    if (status != DF_OK) {
        source_abandon(&r->source);
        return status;
    }
    return source_close(&r->source, err);
}

/* ---- the scan before ---- */

enum df_status reader_scan(struct reader *r, struct reader_units *units,
                           size_t unit, struct df_error *err)
{
    struct source_range range = units_range(units, unit);
    struct unit *u = units_change(units, unit);
    struct pieces *p = &r->pieces;
    enum df_status status;
    size_t n = 1;

    /* Nobody begins behind the last. */
    if (!u->is_split || units_is_last(units, unit)) {
        return DF_OK;
    }
    range.hashes = NULL;
    status = source_open(&r->source, units->batch,
                         reader_unit_file(units, unit), &range, err);
    if (status != DF_OK) {
        return status;
    }
    p->begin = 0;
    p->end = 0;
    u->parity = false;
    while (status == DF_OK && n > 0) {
        status = pieces_room(p, READER_CHUNK, err);
        if (status == DF_OK) {
            status = source_read(&r->source, p->data, READER_CHUNK, &n, err);
        }
        if (status == DF_OK) {
            u->parity ^= record_parity(bytes_of(p->data, n));
        }
    }
    source_abandon(&r->source);
    return status;
}
