#include "runtime/negative.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/crew.h"

/* ---- an emitter that looks for certain rows ---- */

struct finder {
    struct df_emitter emitter; /* first: map is given this */
    const struct jobspec *job;
    struct row_shape shape;
    struct bytes *wanted; /* full row keys, sorted; they point into the list
                             of negatives */
    size_t wanted_count;
    struct buf row_key;
    struct buf found; /* the first wanted row that was emitted */
    uint64_t line;    /* of the record that did; 0: a document did */
    struct mapping mapping;
    const struct engine_options *options;
};

static int compare_wanted(const void *a, const void *b)
{
    return bytes_compare(*(const struct bytes *)a, *(const struct bytes *)b);
}

static void look_for(struct finder *f, struct bytes key, struct bytes element)
{
    struct bytes row_key;

    if (f->found.len > 0) {
        return;
    }
    buf_reset(&f->row_key);
    if (!row_key_append(&f->row_key, f->shape, key, element)) {
        f->emitter.status = DF_SYSTEM;
        return;
    }
    row_key = buf_bytes(&f->row_key);
    if (bsearch(&row_key, f->wanted, f->wanted_count, sizeof *f->wanted,
                compare_wanted) != NULL &&
        !buf_append(&f->found, row_key.data, row_key.len)) {
        f->emitter.status = DF_SYSTEM;
    }
}

static void find_pair(struct df_emitter *e, const uint8_t *key, size_t key_len,
                      const uint8_t *element, size_t element_len,
                      const int64_t *values)
{
    (void)values;
    look_for((struct finder *)e, bytes_of(key, key_len),
             bytes_of(element, element_len));
}

static void find_keys(struct df_emitter *e, const struct df_key *keys,
                      size_t n)
{
    for (size_t i = 0; i < n && e->status == DF_OK; i++) {
        look_for((struct finder *)e, bytes_of(keys[i].data, keys[i].len),
                 bytes_of(NULL, 0));
    }
}

static void find_pairs(struct df_emitter *e, const struct df_pair *pairs,
                       size_t n)
{
    for (size_t i = 0; i < n && e->status == DF_OK; i++) {
        look_for((struct finder *)e, bytes_of(pairs[i].key, pairs[i].key_len),
                 bytes_of(pairs[i].element, pairs[i].element_len));
    }
}

static void finder_close(struct finder *f)
{
    mapping_close(&f->mapping);
    buf_fini(&f->row_key);
    buf_fini(&f->found);
    free(f->wanted);
}

static enum df_status finder_open(struct finder *f,
                                  const struct negative_case *c,
                                  struct df_error *err)
{
    const struct install_negatives *negatives = c->negatives;
    const uint8_t *at = negatives->keys.data;

    *f = (struct finder){
        .emitter = { .pair = find_pair,
                     .keys = find_keys,
                     .pairs = find_pairs },
        .job = c->job,
        .shape = c->shape,
        .options = c->options,
    };
    f->wanted = calloc(negatives->count + 1, sizeof *f->wanted);
    if (f->wanted == NULL) {
        return error_no_memory(err);
    }
    for (size_t i = 0; i < negatives->count; i++) {
        size_t len = load_be32(at);

        f->wanted[i] = bytes_of(at + 4, len);
        at += 4 + len;
    }
    f->wanted_count = negatives->count;
    qsort(f->wanted, f->wanted_count, sizeof *f->wanted, compare_wanted);
    return mapping_open(&f->mapping, c->job, &f->emitter,
                        crew_cut(c->job, c->options).whole_max, err);
}

static enum df_status look_up_stop(const struct finder *f,
                                   struct df_error *err)
{
    return f->options->stop != NULL && *f->options->stop != 0
               ? error_set(err, DF_INTERRUPTED, "interrupted")
               : DF_OK;
}

static enum df_status map_piece(void *ctx, const struct df_piece *piece,
                                struct df_error *err)
{
    struct finder *f = ctx;
    enum df_status status = look_up_stop(f, err);

    if (status != DF_OK) {
        return status;
    }
    mapping_piece(&f->mapping, piece);
    return f->emitter.status == DF_OK ? DF_OK : error_no_memory(err);
}

static enum df_status map_record(struct finder *f,
                                 const struct reader_place *place,
                                 const struct df_record *record,
                                 struct df_error *err)
{
    bool was_found = f->found.len > 0;
    enum df_status status =
        mapping_records(&f->mapping, place, record, 1, err);

    if (status == DF_OK && f->emitter.status != DF_OK) {
        status = error_no_memory(err);
    }
    if (status == DF_OK && f->found.len > 0 && !was_found) {
        status = reader_line(place, record, &f->line, err);
    }
    return status;
}

/* One by one: which it was is to be said. */
static enum df_status map_records(void *ctx, const struct reader_place *place,
                                  const struct df_record *records, size_t n,
                                  struct df_error *err)
{
    struct finder *f = ctx;
    enum df_status status = look_up_stop(f, err);

    for (size_t i = 0; status == DF_OK && i < n; i++) {
        status = map_record(f, place, &records[i], err);
    }
    return status;
}

static enum df_status scan_units(struct reader *r, struct reader_units *units,
                                 struct df_error *err)
{
    enum df_status status = DF_OK;

    if (!reader_units_need_scan(units)) {
        return DF_OK;
    }
    for (size_t i = 0; status == DF_OK && i < units->count; i++) {
        status = reader_scan(r, units, i, err);
    }
    reader_units_scanned(units);
    return status;
}

static enum df_status find_in_unit(struct finder *f, struct reader *r,
                                   struct reader_units *units, size_t unit,
                                   struct df_error *err)
{
    return mapping_format(f->job) == RECORD_NONE
               ? reader_read(r, units, unit, map_piece, f, err)
               : reader_read_records(r, units, unit, map_records, f, err);
}

/* Maps the deleted documents that are not skipped; calls hit for each that
 * emits a wanted row until it returns false. */
static enum df_status each_culprit(
    struct finder *f, struct batch *batch, const bool *skip,
    bool (*hit)(void *ctx, size_t file, uint64_t line, struct bytes row_key),
    void *ctx, struct df_error *err)
{
    struct reader_cut cut = crew_cut(f->job, f->options);
    struct reader_units units;
    struct reader *reader = NULL;
    bool more = true;
    size_t last = SIZE_MAX;
    enum df_status status = reader_plan_units(&units, batch, &cut, err);

    if (status != DF_OK) {
        return status;
    }
    status = reader_open(&reader, &cut, err);
    if (status == DF_OK) {
        status = scan_units(reader, &units, err);
    }
    for (size_t i = 0; status == DF_OK && more && i < units.count; i++) {
        const struct batch_file *file = reader_unit_file(&units, i);
        size_t number = (size_t)(file - batch->files);

        if (file->section != BATCH_DELETED || skip[number] || number == last) {
            continue;
        }
        status = find_in_unit(f, reader, &units, i, err);
        if (status == DF_OK && f->found.len > 0) {
            last = number;
            more = hit(ctx, number, f->line, buf_bytes(&f->found));
            buf_reset(&f->found);
            f->line = 0;
        }
    }
    reader_close(reader);
    reader_units_fini(&units);
    return status;
}

/* ---- who is suspected, and what the ledger says of it ---- */

/* A deletion that emits a row that would be negative. */
struct suspect {
    size_t file;
    uint64_t line;          /* of the first such record; 0: it is a document */
    struct hash128 id;      /* hash of the document's id */
    struct hash128 content; /* of the bytes on disk */
    /* Insertions less deletions that the ledger knows: of this id; of this
     * id and these bytes. */
    int64_t id_alive;
    int64_t alive;
    struct buf row_key; /* the first such row */
};

struct suspects {
    const struct batch *batch;
    struct suspect *list; /* sorted by id once complete */
    size_t count;
    size_t capacity;
    bool failed; /* out of memory */
};

static void suspects_fini(struct suspects *s)
{
    for (size_t i = 0; i < s->count; i++) {
        buf_fini(&s->list[i].row_key);
    }
    free(s->list);
}

static bool grow_suspects(struct suspects *s)
{
    size_t capacity = s->capacity == 0 ? 16 : 2 * s->capacity;
    struct suspect *list = realloc(s->list, capacity * sizeof *list);

    if (list == NULL) {
        return false;
    }
    s->list = list;
    s->capacity = capacity;
    return true;
}

static bool suspect_file(void *ctx, size_t file, uint64_t line,
                         struct bytes row_key)
{
    struct suspects *s = ctx;
    const struct batch_file *f = &s->batch->files[file];
    struct suspect *one;

    if (s->count == s->capacity && !grow_suspects(s)) {
        s->failed = true;
        return false;
    }
    one = &s->list[s->count++];
    *one = (struct suspect){
        .file = file, .line = line, .id = hash128(f->id, 0), .content = f->hash
    };
    s->failed = !buf_append(&one->row_key, row_key.data, row_key.len);
    return !s->failed;
}

static int compare_suspects(const void *a, const void *b)
{
    const struct suspect *x = a;
    const struct suspect *y = b;

    if (x->id.high != y->id.high) {
        return x->id.high < y->id.high ? -1 : 1;
    }
    return (x->id.low > y->id.low) - (x->id.low < y->id.low);
}

/* A file of an applied batch: does it speak for a suspect? Within a section
 * of a batch an id stands once, so there is one suspect for it at most. */
static bool weigh_file(void *ctx, const struct ledger_file *file)
{
    struct suspects *s = ctx;
    struct suspect key = { .id = hash128(file->id, 0) };
    struct suspect *hit;
    int sign = file->inserted ? 1 : -1;

    if (file->quarantined) {
        return true;
    }
    hit = bsearch(&key, s->list, s->count, sizeof *s->list, compare_suspects);
    if (hit != NULL) {
        hit->id_alive += sign;
        hit->alive += hash128_equal(hit->content, file->hash) ? sign : 0;
    }
    return true;
}

/* Counts what the ledger and the batch itself say of the suspects. */
static enum df_status weigh(struct suspects *s, struct snapshot *snapshot,
                            struct df_error *err)
{
    uint64_t last = snapshot_state(snapshot).seq;
    enum df_status status = DF_OK;

    for (size_t i = 0; i < s->batch->file_count; i++) {
        const struct batch_file *f = &s->batch->files[i];

        if (f->section == BATCH_INSERTED) {
            (void)weigh_file(s, &(struct ledger_file){ .inserted = true,
                                                       .id = f->id,
                                                       .hash = f->hash });
        }
    }
    for (uint64_t seq = 1; status == DF_OK && seq <= last; seq++) {
        status = snapshot_ledger_files(snapshot, seq, weigh_file, s, err);
    }
    return status;
}

/* How much the ledger speaks against a suspect: the document is not there at
 * all; it is there with other bytes (its content changed, or only its
 * compression did); nothing does. */
enum guilt { NO_GUILT, OTHER_BYTES, UNKNOWN_DOCUMENT };

static enum guilt guilt_of(const struct suspect *s)
{
    /* The ledger knows files, and records come and go in files of any
     * name. */
    if (s->line > 0) {
        return NO_GUILT;
    }
    if (s->id_alive <= 0) {
        return UNKNOWN_DOCUMENT;
    }
    return s->alive <= 0 ? OTHER_BYTES : NO_GUILT;
}

static enum guilt greatest_guilt(const struct suspects *s)
{
    enum guilt most = NO_GUILT;

    for (size_t i = 0; i < s->count; i++) {
        enum guilt one = guilt_of(&s->list[i]);

        most = one > most ? one : most;
    }
    return most;
}

/* All suspects, weighed. The batch's hashes must be set. */
static enum df_status find_suspects(struct suspects *suspects,
                                    const struct negative_case *c,
                                    struct df_error *err)
{
    struct finder f;
    enum df_status status = finder_open(&f, c, err);

    *suspects = (struct suspects){ .batch = c->batch };
    if (status == DF_OK) {
        status =
            each_culprit(&f, c->batch, c->skip, suspect_file, suspects, err);
    }
    finder_close(&f);
    if (status == DF_OK && suspects->failed) {
        status = error_no_memory(err);
    }
    if (status == DF_OK && suspects->count > 0) {
        qsort(suspects->list, suspects->count, sizeof *suspects->list,
              compare_suspects);
        status = weigh(suspects, c->snapshot, err);
    }
    return status;
}

/* ---- abort: name the first of the worst ---- */

static const struct suspect *first_of_worst(const struct suspects *s)
{
    enum guilt most = greatest_guilt(s);
    const struct suspect *first = NULL;

    for (size_t i = 0; i < s->count; i++) {
        const struct suspect *one = &s->list[i];

        if (guilt_of(one) == most &&
            (first == NULL || one->file < first->file)) {
            first = one;
        }
    }
    return first;
}

static const char *line_text(char *out, size_t size, uint64_t line)
{
    out[0] = '\0';
    if (line > 0) {
        (void)snprintf(out, size, ", line %llu,", (unsigned long long)line);
    }
    return out;
}

static const char *what_it_did(enum guilt guilt)
{
    switch (guilt) {
    case UNKNOWN_DOCUMENT:
        return "deletes what was never inserted";
    case OTHER_BYTES:
        return "deletes another content than was inserted";
    case NO_GUILT:
        break;
    }
    return "deletes more than is there";
}

static enum df_status name_suspect(const struct negative_case *c,
                                   const struct suspect *s,
                                   struct df_error *err)
{
    struct buf room = { 0 };
    struct bytes key = buf_bytes(&s->row_key);
    struct bytes element = { 0 };
    struct shown document;
    struct shown shown_key;
    struct shown shown_element;
    char line[40];
    struct shown name;

    if (!row_decode(c->shape, buf_bytes(&s->row_key), &room, &key, &element)) {
        key = buf_bytes(&s->row_key);
    }
    (void)error_set(
        err, DF_INPUT,
        "batch '%s': document '%s'%s %s: key '%s'%s%s%s would become "
        "negative: nothing was applied (--on-negative=quarantine leaves such "
        "%s out)",
        shown(&name, bytes_of_string(c->batch->name)),
        shown(&document, c->batch->files[s->file].id),
        line_text(line, sizeof line, s->line), what_it_did(guilt_of(s)),
        shown(&shown_key, key), c->shape.has_element ? ", element '" : "",
        c->shape.has_element ? shown(&shown_element, element) : "",
        c->shape.has_element ? "'" : "", s->line > 0 ? "files" : "documents");
    buf_fini(&room);
    return DF_INPUT;
}

enum df_status negative_name(const struct negative_case *c,
                             struct df_error *err)
{
    struct suspects suspects;
    struct shown name;
    enum df_status status = find_suspects(&suspects, c, err);

    if (status == DF_OK && suspects.count > 0) {
        status = name_suspect(c, first_of_worst(&suspects), err);
    } else if (status == DF_OK) {
        status =
            error_set(err, DF_INPUT, "batch '%s': rows would become negative",
                      shown(&name, bytes_of_string(c->batch->name)));
    }
    suspects_fini(&suspects);
    return status;
}

/* ---- quarantine: mark all of the worst ---- */

enum df_status negative_mark(const struct negative_case *c, bool *skip,
                             size_t *marked, struct df_error *err)
{
    struct suspects suspects;
    enum df_status status = find_suspects(&suspects, c, err);

    *marked = 0;
    if (status == DF_OK) {
        enum guilt most = greatest_guilt(&suspects);

        for (size_t i = 0; i < suspects.count; i++) {
            if (guilt_of(&suspects.list[i]) == most) {
                skip[suspects.list[i].file] = true;
                (*marked)++;
            }
        }
    }
    suspects_fini(&suspects);
    return status;
}
