#include "runtime/mapping.h"

#include <stdio.h>

static void refuse(struct df_emitter *e, const struct df_record *record,
                   const char *why)
{
    struct mapping *m = e->refuse_ctx;

    m->refused = record;
    (void)snprintf(m->why, sizeof m->why, "%s", why);
    e->status = DF_INPUT;
}

enum df_status mapping_open(struct mapping *m, const struct jobspec *job,
                            struct df_emitter *emitter, size_t whole_max,
                            struct df_error *err)
{
    *m = (struct mapping){ .job = job,
                           .emitter = emitter,
                           .whole_max = whole_max };
    emitter->refuse = refuse;
    emitter->refuse_ctx = m;
    return job->job->mapper_open(job->config, &m->mapper, err);
}

void mapping_close(struct mapping *m)
{
    if (m->job != NULL) {
        m->job->job->mapper_close(m->mapper);
    }
    *m = (struct mapping){ 0 };
}

void mapping_piece(struct mapping *m, const struct df_piece *piece)
{
    m->job->job->map(m->mapper, piece, m->emitter);
}

/* ---- records that are documents ---- */

static struct bytes content_of(const struct df_field *f)
{
    return f->kind == DF_NULL ? bytes_of(f->data, 0)
                              : bytes_of(f->data, f->len);
}

/* The record's id; a record without one is refused where ids are asked for:
 * another document's would be taken for it. */
static bool id_of(struct mapping *m, const struct reader_place *place,
                  const struct df_record *record, struct bytes *id)
{
    const struct df_field *f = &record->fields[FORM_ID];

    *id = place->file->id;
    if (!m->job->form->has_id) {
        return true;
    }
    *id = content_of(f);
    if (f->kind == DF_ABSENT || f->kind == DF_NULL) {
        refuse(m->emitter, record, "a record without an id");
        return false;
    }
    return true;
}

static bool is_too_long(struct mapping *m, size_t len)
{
    return m->job->job->pieces(m->job->config) == DF_PIECES_WHOLE &&
           len > m->whole_max;
}

static void map_document(struct mapping *m, const struct reader_place *place,
                         const struct df_record *record)
{
    struct bytes content = content_of(&record->fields[FORM_CONTENT]);
    struct df_piece piece = { .data = content.data,
                              .len = content.len,
                              .first = true,
                              .last = true,
                              .is_text = true };
    struct bytes id;

    if (is_too_long(m, content.len)) {
        refuse(m->emitter, record,
               "a document too long: this job takes documents whole and has "
               "memory for no more (--memory)");
        return;
    }
    if (id_of(m, place, record, &id)) {
        piece.id = id.data;
        piece.id_len = id.len;
        mapping_piece(m, &piece);
    }
}

enum df_status mapping_records(struct mapping *m,
                               const struct reader_place *place,
                               const struct df_record *records, size_t n,
                               struct df_error *err)
{
    const struct df_job *job = m->job->job;

    m->refused = NULL;
    if (job->map_records != NULL) {
        job->map_records(m->mapper, records, n, m->emitter);
    }
    for (size_t i = 0;
         job->map_records == NULL && i < n && m->emitter->status == DF_OK;
         i++) {
        map_document(m, place, &records[i]);
    }
    return m->refused == NULL ? DF_OK
                              : reader_refuse(place, m->refused, m->why, err);
}

enum record_format mapping_format(const struct jobspec *job)
{
    switch (job->form->format) {
    case FORM_LINES:
        return RECORD_LINES;
    case FORM_CSV:
        return RECORD_CSV;
    case FORM_TSV:
        return RECORD_TSV;
    case FORM_NDJSON:
        return RECORD_NDJSON;
    case FORM_DOCUMENT:
    default:
        return RECORD_NONE;
    }
}
