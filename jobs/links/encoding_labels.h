/*
 * encoding_labels.h: what pages call their encoding.
 */
#ifndef JOBS_LINKS_ENCODING_LABELS_H
#define JOBS_LINKS_ENCODING_LABELS_H

#include "base/bytes.h"

enum encoding {
    ENCODING_UNKNOWN, /* no label of the Encoding standard */
    ENCODING_UTF8,    /* and UTF-16, which bytes read as ASCII cannot be */
    ENCODING_OTHER    /* all others: read as windows-1252 */
};

/* By a label in any case, blanks around it aside. */
enum encoding encoding_of_label(struct bytes label);

/* What the first 1024 bytes of a page declare: the HTML standard's prescan
 * (13.2.3.2) for <meta charset> and its http-equiv form. */
enum { ENCODING_PRESCAN = 1024 };
enum encoding encoding_prescan(struct bytes page);

#endif
