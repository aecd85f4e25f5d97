/*
 * units.h: what a unit of work is, for those who read it (private to
 * units.c, reader.c and reader_records.c).
 */
#ifndef INPUT_UNITS_H
#define INPUT_UNITS_H

#include "input/bounds.h"
#include "input/reader.h"
#include "input/source.h"

struct unit {
    size_t file;
    uint64_t begin; /* bytes on disk that this unit hashes */
    uint64_t end;
    size_t block;  /* where its hashes go; see units_range */
    ino_t inode;   /* of a split file, as it was planned; else 0 */
    bool is_split; /* a plain file that other units read parts of */
    /* Of a split file of records: */
    size_t head; /* see units_head */
    bool parity; /* its quotes turn inside to outside; set by the scan */
    bool inside; /* it begins between quotes; set after the scan */
    struct bounds bounds; /* of its records, where they are kept */
};

/* How a split file of records begins. */
struct unit_head {
    size_t mark;       /* bytes of a byte order mark */
    struct buf header; /* of csv and tsv; empty for others */
};
const struct unit_head *units_head(const struct reader_units *units, size_t i);
struct unit *units_change(struct reader_units *units, size_t i);

/* Whether the unit ends where its file does. */
bool units_is_last(const struct reader_units *units, size_t i);

const struct unit *units_at(const struct reader_units *units, size_t i);

/* What a reader of the unit reads, and where its hashes go: a file of one
 * block has its hash set, a longer one the hashes of its blocks. */
struct source_range units_range(struct reader_units *units, size_t i);

#endif
