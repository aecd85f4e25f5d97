/*
 * writer.h: the option that every command takes which writes to a view, for
 * there is one writer at a time.
 */
#ifndef CLI_WRITER_H
#define CLI_WRITER_H

#include "cli/options.h"

struct writer {
    uint64_t wait; /* seconds, for another writer */
};

enum { WRITER_WAIT_INITIAL = 10 };
extern const struct option writer_options[];

#endif
