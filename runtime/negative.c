#include "runtime/negative.h"

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
    void *mapper;
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

static void finder_close(struct finder *f)
{
    f->job->job->mapper_close(f->mapper);
    buf_fini(&f->row_key);
    buf_fini(&f->found);
    free(f->wanted);
}

static enum df_status finder_open(struct finder *f, const struct jobspec *job,
                                  struct row_shape shape,
                                  const struct install_negatives *negatives,
                                  const struct engine_options *options,
                                  struct df_error *err)
{
    const uint8_t *at = negatives->keys.data;

    *f = (struct finder){
        .emitter = { .pair = find_pair, .keys = find_keys },
        .job = job,
        .shape = shape,
        .options = options,
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
    return job->job->mapper_open(job->config, &f->mapper, err);
}

static enum df_status map_to_finder(void *ctx, const struct df_piece *piece,
                                    struct df_error *err)
{
    struct finder *f = ctx;

    if (f->options->stop != NULL && *f->options->stop != 0) {
        return error_set(err, DF_INTERRUPTED, "interrupted");
    }
    f->job->job->map(f->mapper, piece, &f->emitter);
    return f->emitter.status == DF_OK ? DF_OK : error_no_memory(err);
}

/* Maps the deleted documents that are not skipped; calls hit for each that
 * emits a wanted row until it returns false. */
static enum df_status each_culprit(struct finder *f, struct batch *batch,
                                   const bool *skip,
                                   bool (*hit)(void *ctx, size_t file,
                                               struct bytes row_key),
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
    for (size_t i = 0; status == DF_OK && more && i < units.count; i++) {
        const struct batch_file *file = reader_unit_file(&units, i);
        size_t number = (size_t)(file - batch->files);

        if (file->section != BATCH_DELETED || skip[number] || number == last) {
            continue;
        }
        status = reader_read(reader, &units, i, map_to_finder, f, err);
        if (status == DF_OK && f->found.len > 0) {
            last = number;
            more = hit(ctx, number, buf_bytes(&f->found));
            buf_reset(&f->found);
        }
    }
    reader_close(reader);
    reader_units_fini(&units);
    return status;
}

/* ---- abort: name the first ---- */

struct first_culprit {
    struct batch *batch;
    struct row_shape shape;
    struct df_error *err;
    bool named;
};

static bool name_culprit(void *ctx, size_t file, struct bytes row_key)
{
    struct first_culprit *c = ctx;
    struct buf room = { 0 };
    struct bytes key = row_key;
    struct bytes element = { 0 };
    struct shown document;
    struct shown shown_key;
    struct shown shown_element;
    struct shown name;

    if (!row_decode(c->shape, row_key, &room, &key, &element)) {
        key = row_key;
    }
    (void)error_set(
        c->err, DF_INPUT,
        "batch '%s': document '%s' deletes what was never inserted: key "
        "'%s'%s%s would become negative: nothing was applied "
        "(--on-negative=quarantine leaves such documents out)",
        shown(&name, bytes_of_string(c->batch->name)),
        shown(&document, c->batch->files[file].id), shown(&shown_key, key),
        c->shape.has_element ? ", element " : "",
        c->shape.has_element ? shown(&shown_element, element) : "");
    buf_fini(&room);
    c->named = true;
    return false;
}

enum df_status negative_name(const struct jobspec *job, struct batch *batch,
                             const bool *skip, struct row_shape shape,
                             const struct install_negatives *negatives,
                             const struct engine_options *options,
                             struct df_error *err)
{
    struct first_culprit c = { .batch = batch, .shape = shape, .err = err };
    struct finder f;
    enum df_status status =
        finder_open(&f, job, shape, negatives, options, err);

    if (status == DF_OK) {
        status = each_culprit(&f, batch, skip, name_culprit, &c, err);
    }
    finder_close(&f);
    if (status == DF_OK && !c.named) {
        struct shown name;

        return error_set(err, DF_INPUT,
                         "batch '%s': rows would become negative",
                         shown(&name, bytes_of_string(batch->name)));
    }
    return status == DF_OK ? DF_INPUT : status;
}

/* ---- quarantine: find all ---- */

/* A deletion under suspicion: id and content as one hash, and how many
 * insertions of it the ledger knows that were not deleted. */
struct suspect {
    size_t file;
    struct hash128 identity;
    int64_t alive;
};

struct suspects {
    const struct batch *batch;
    struct suspect *list;
    size_t count;
    size_t capacity;
    bool failed; /* out of memory */
};

static struct hash128 identity_of(struct bytes id, struct hash128 content)
{
    struct hash128 name = hash128(id, 0);
    uint8_t both[2 * HASH128_SIZE];

    hash128_store(both, name);
    hash128_store(both + HASH128_SIZE, content);
    return hash128(bytes_of(both, sizeof both), 0);
}

static bool suspect_file(void *ctx, size_t file, struct bytes row_key)
{
    struct suspects *s = ctx;

    (void)row_key;
    if (s->count == s->capacity) {
        size_t capacity = s->capacity == 0 ? 16 : 2 * s->capacity;
        struct suspect *list = realloc(s->list, capacity * sizeof *list);

        s->failed = list == NULL;
        if (s->failed) {
            return false;
        }
        s->list = list;
        s->capacity = capacity;
    }
    s->list[s->count++] = (struct suspect){
        .file = file,
        .identity =
            identity_of(s->batch->files[file].id, s->batch->files[file].hash),
    };
    return true;
}

static int compare_suspects(const void *a, const void *b)
{
    const struct suspect *x = a;
    const struct suspect *y = b;

    if (x->identity.high != y->identity.high) {
        return x->identity.high < y->identity.high ? -1 : 1;
    }
    return (x->identity.low > y->identity.low) -
           (x->identity.low < y->identity.low);
}

/* A file of an applied batch: does it speak for a suspect? */
static bool weigh_file(void *ctx, const struct ledger_file *file)
{
    struct suspects *s = ctx;
    struct suspect key = { .identity = identity_of(file->id, file->hash) };
    struct suspect *hit;

    if (file->quarantined) {
        return true;
    }
    hit = bsearch(&key, s->list, s->count, sizeof *s->list, compare_suspects);
    if (hit != NULL) {
        hit->alive += file->inserted ? 1 : -1;
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

static size_t mark(const struct suspects *s, bool *skip, bool all)
{
    size_t marked = 0;

    for (size_t i = 0; i < s->count; i++) {
        if (all || s->list[i].alive <= 0) {
            skip[s->list[i].file] = true;
            marked++;
        }
    }
    return marked;
}

enum df_status negative_mark(const struct jobspec *job, struct batch *batch,
                             struct snapshot *s, struct row_shape shape,
                             const struct install_negatives *negatives,
                             const struct engine_options *options, bool *skip,
                             size_t *marked, struct df_error *err)
{
    struct suspects suspects = { .batch = batch };
    struct finder f;
    enum df_status status =
        finder_open(&f, job, shape, negatives, options, err);

    *marked = 0;
    if (status == DF_OK) {
        status = each_culprit(&f, batch, skip, suspect_file, &suspects, err);
    }
    finder_close(&f);
    if (status == DF_OK && suspects.failed) {
        status = error_no_memory(err);
    }
    if (status == DF_OK && suspects.count > 0) {
        qsort(suspects.list, suspects.count, sizeof *suspects.list,
              compare_suspects);
        status = weigh(&suspects, s, err);
    }
    if (status == DF_OK) {
        *marked = mark(&suspects, skip, false);
        if (*marked == 0) {
            *marked = mark(&suspects, skip, true);
        }
    }
    free(suspects.list);
    return status;
}
