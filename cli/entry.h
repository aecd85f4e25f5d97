/*
 * entry.h: ledger entries, as run, rebuild and log show them.
 */
#ifndef CLI_ENTRY_H
#define CLI_ENTRY_H

#include "cli/json.h"
#include "deltafold/job.h"
#include "state/ledger.h"

/* "rows", null where it is not known exactly, "rows_folded" and
 * "changes_unfolded". */
void entry_json_rows(struct json *j, uint64_t rows, uint64_t unfolded);

/*
 * The fields of an entry, into an object that is open, under their names in
 * struct ledger_entry. Hashes are hexadecimal; rows_added, rows_changed and
 * rows_removed are null where the method did not see them; counters is an
 * object by the job's names, empty when job is NULL.
 */
void entry_json(struct json *j, const struct ledger_entry *e,
                const struct df_job *job);

/* A batch's name as a line begins with it, filled up to ten columns and with
 * two blanks behind. */
void entry_print_name(struct output *out, struct bytes name);

/* "+12 -4 documents  1,204 pairs  31 rows added, 402 changed, 3 removed
 * increment  14 ms", one line without an end. */
void entry_print(struct output *out, const struct ledger_entry *e);

#endif
