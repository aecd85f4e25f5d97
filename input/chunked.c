#include "input/chunked.h"

static int digit(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool ends_size(uint8_t c)
{
    return c == ';' || c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool chunked_begins(struct bytes first)
{
    size_t n = 0;

    while (n < first.len && digit(first.data[n]) >= 0) {
        n++;
    }
    return n > 0 && (n == first.len || ends_size(first.data[n]));
}

static void bad(struct chunked *c)
{
    c->state = CHUNKED_BAD;
}

/* The line with a size has ended. */
static void end_size(struct chunked *c)
{
    c->state = c->left == 0 ? CHUNKED_TRAILER : CHUNKED_CONTENT;
}

static void add_digit(struct chunked *c, int d)
{
    if (c->has_cr || c->left > UINT64_MAX >> 4) {
        bad(c);
        return;
    }
    c->left = c->left << 4 | (uint64_t)d;
    c->has_size = true;
}

static void step_size(struct chunked *c, uint8_t byte)
{
    int d = digit(byte);

    if (d >= 0) {
        add_digit(c, d);
    } else if (!c->has_size || !ends_size(byte) ||
               (c->has_cr && byte != '\n')) {
        bad(c);
    } else if (byte == '\n') {
        end_size(c);
    } else if (byte == '\r') {
        c->has_cr = true;
    } else {
        c->state = CHUNKED_EXTENSION;
    }
}

/* CRLF in any case: with LF alone a size that is one too high could pass. */
static void step_behind(struct chunked *c, uint8_t byte)
{
    if (byte == '\n' && c->has_cr) {
        *c = (struct chunked){ .state = CHUNKED_SIZE };
    } else if (byte == '\r' && !c->has_cr) {
        c->has_cr = true;
    } else {
        bad(c);
    }
}

static void step_trailer(struct chunked *c, uint8_t byte)
{
    if (byte == '\n') {
        c->state = CHUNKED_END;
    } else if (c->has_cr) {
        bad(c);
    } else if (byte == '\r') {
        c->has_cr = true;
    } else {
        c->state = CHUNKED_TRAILER_LINE;
    }
}

/* A byte that is not content. */
static void step_byte(struct chunked *c, uint8_t byte)
{
    switch (c->state) {
    case CHUNKED_SIZE:
        step_size(c, byte);
        break;
    case CHUNKED_EXTENSION:
        if (byte == '\n') {
            end_size(c);
        }
        break;
    case CHUNKED_BEHIND:
        step_behind(c, byte);
        break;
    case CHUNKED_TRAILER:
        step_trailer(c, byte);
        break;
    case CHUNKED_TRAILER_LINE:
        if (byte == '\n') {
            c->state = CHUNKED_TRAILER;
        }
        break;
    case CHUNKED_CONTENT:
    case CHUNKED_END:
    case CHUNKED_BAD:
    default:
        break;
    }
}

void chunked_step(struct chunked *c, struct bytes *in, struct bytes *content)
{
    size_t n = 0;

    *content = bytes_of(in->data, 0);
    while (n < in->len && c->state != CHUNKED_END && c->state != CHUNKED_BAD) {
        enum chunked_state before = c->state;

        if (before == CHUNKED_CONTENT) {
            size_t rest = in->len - n;
            size_t take = c->left < rest ? (size_t)c->left : rest;

            *content = bytes_of(in->data + n, take);
            c->left -= take;
            c->state = c->left == 0 ? CHUNKED_BEHIND : CHUNKED_CONTENT;
            n += take;
            c->has_cr = false;
            break;
        }
        step_byte(c, in->data[n++]);
        if (c->state != before) {
            c->has_cr = false;
        }
    }
    *in = bytes_of(in->data + n, in->len - n);
}
