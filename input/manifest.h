/*
 * manifest.h: document ids other than paths.
 *
 * manifest.tsv at the top of a batch has lines of path TAB id, ended by LF
 * or CRLF (the last one may lack it), with \t \n \r \\ for these bytes in
 * both columns. A path is that below its section and names the document of
 * both sections, or begins with inserted/ or deleted/ and names that one.
 * A line that is not of this form, a path without document, a document
 * named twice and an id that two documents of a section have are refused.
 *
 * Memory: one line, and the ids.
 */
#ifndef INPUT_MANIFEST_H
#define INPUT_MANIFEST_H

#include "input/batch.h"
#include "input/pool.h"

#define MANIFEST_NAME "manifest.tsv"

/* Sets ids of b's files, which must be in order; b->path is set. `tree`:
 * paths are below the directory itself, there are no sections. */
enum df_status manifest_apply(struct batch *b, struct pool *pool, bool tree,
                              struct df_error *err) DF_MUST_CHECK;

#endif
