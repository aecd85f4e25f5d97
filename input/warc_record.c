#include "input/warc_record.h"

#include "input/fields.h"

/* The fields that matter. */
enum { TYPE, LENGTH, URI, TRUNCATED, SEGMENT, FIELDS };

static const char *const field_names[FIELDS] = {
    [TYPE] = "warc-type",
    [LENGTH] = "content-length",
    [URI] = "warc-target-uri",
    [TRUNCATED] = "warc-truncated",
    [SEGMENT] = "warc-segment-number",
};

/* Whether this, the first line of a head, names a version known here. */
static bool names_version(struct bytes line)
{
    return fields_is(line, "warc/1.0") || fields_is(line, "warc/1.1");
}

/* Which it is, or FIELDS. */
static int number_of(struct bytes name)
{
    int i = 0;

    while (i < FIELDS && !fields_is(name, field_names[i])) {
        i++;
    }
    return i;
}

/* Values whose data is not NULL are there. */
static const char *collect(struct bytes rest, struct bytes values[FIELDS])
{
    struct field field;

    while (fields_next(&rest, &field)) {
        int i = number_of(field.name);

        if (field.name.len == 0) {
            return "a line of its head has no colon";
        }
        if (i == FIELDS) {
            continue;
        }
        if (values[i].data != NULL) {
            return "a field of its head is there twice";
        }
        values[i] = field.value;
    }
    return NULL;
}

/* Decimal digits and nothing else, up to what a file can have. */
static bool parse_length(struct bytes text, uint64_t *length)
{
    *length = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];

        if (c < '0' || c > '9' || *length > (INT64_MAX - 9) / 10) {
            return false;
        }
        *length = *length * 10 + (uint64_t)(c - '0');
    }
    return text.len > 0;
}

static enum warc_type type_of(struct bytes name)
{
    if (fields_is(name, "response")) {
        return WARC_RESPONSE;
    }
    return fields_is(name, "resource") ? WARC_RESOURCE : WARC_OTHER;
}

/* Some writers put URIs in angle brackets, as the grammar of 1.0 had it. */
static struct bytes without_brackets(struct bytes uri)
{
    if (uri.len >= 2 && uri.data[0] == '<' && uri.data[uri.len - 1] == '>') {
        return bytes_of(uri.data + 1, uri.len - 2);
    }
    return uri;
}

const char *warc_record_parse(struct bytes head, struct warc_record *record)
{
    struct bytes values[FIELDS] = { { 0 } };
    struct bytes line = { 0 };
    const char *wrong;

    *record = (struct warc_record){ 0 };
    if (!fields_line(&head, &line) || !names_version(line)) {
        return "its version is neither WARC/1.0 nor WARC/1.1";
    }
    wrong = collect(head, values);
    if (wrong != NULL) {
        return wrong;
    }
    if (values[LENGTH].data == NULL) {
        return "its head has no Content-Length";
    }
    if (!parse_length(values[LENGTH], &record->length)) {
        return "its Content-Length is not a number";
    }
    if (values[TYPE].data == NULL) {
        return "its head has no WARC-Type";
    }
    record->type = type_of(values[TYPE]);
    if (record->type != WARC_OTHER && values[URI].data == NULL) {
        return "its head has no WARC-Target-URI";
    }
    record->uri = without_brackets(values[URI]);
    record->is_web = fields_begins(record->uri, "http://") ||
                     fields_begins(record->uri, "https://");
    record->is_partial =
        values[TRUNCATED].data != NULL || values[SEGMENT].data != NULL;
    return NULL;
}
