/*
 * utf16.h: UTF-16 into UTF-8. Lone surrogates and an odd byte at the end
 * become as many bytes FF: what is no text stays what is no text, for jobs to
 * count and for JSON to be refused.
 */
#ifndef INPUT_UTF16_H
#define INPUT_UTF16_H

#include "base/bytes.h"

enum utf16_order { UTF16_LITTLE, UTF16_BIG };

/* Most bytes of UTF-8 that one step writes. */
enum { UTF16_STEP_MAX = 4 };

/* Decodes as much of in as is whole and fits in out (size bytes). Returns
 * the bytes written and sets *used to those taken; at most three bytes are
 * left when out had room. at_end: nothing follows, all can be taken. */
size_t utf16_decode(enum utf16_order order, struct bytes in, bool at_end,
                    uint8_t *out, size_t size, size_t *used);

#endif
