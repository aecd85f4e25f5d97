/*
 * outcome_place.h: where a batch's outcome files are, and how they come there
 * with the commit or not at all.
 *
 *     outcome_place_open(&p, &plan, err)        OUT/BATCH must not be there
 *     outcome_place_make(&p, err)               a hidden directory in OUT
 *       outcome_place_create(&p, file, &fd, err) ...   files in it
 *     outcome_place_sync(&p, err)               its name and theirs last
 *     outcome_place_publish(&p, err)            renamed to OUT/BATCH
 *       or outcome_place_abandon(&p)            removed
 *     outcome_place_fini(&p)
 *
 * What crashes have left is removed by the next outcome_place_open of the same
 * view, or named by outcome_place_recover where the ledger says so.
 */
#ifndef RUNTIME_OUTCOME_PLACE_H
#define RUNTIME_OUTCOME_PLACE_H

#include "base/buf.h"
#include "base/error.h"
#include "state/snapshot.h"
#include "state/view.h"

enum {
    OUTCOME_FILES = 5,
    OUTCOME_REJECTED_FILE = 3,
    OUTCOME_RETRACTED_FILE = 4
};
extern const char *const outcome_names[OUTCOME_FILES];

struct outcome_place {
    struct buf parent; /* OUT, absolute; all paths end with NUL */
    struct buf path;   /* OUT/BATCH */
    struct buf hidden;
    uint64_t token; /* what the hidden name is made of */
};

struct outcome_place_plan {
    const struct view *view;
    const char *directory; /* OUT; made if it is not there */
    const char *batch;
    uint32_t token; /* differs between applications */
};

enum df_status outcome_place_open(struct outcome_place *p,
                                  const struct outcome_place_plan *plan,
                                  struct df_error *err) DF_MUST_CHECK;
void outcome_place_fini(struct outcome_place *p);

enum df_status outcome_place_make(const struct outcome_place *p,
                                  struct df_error *err) DF_MUST_CHECK;
enum df_status outcome_place_create(const struct outcome_place *p, int file,
                                    int *fd,
                                    struct df_error *err) DF_MUST_CHECK;
/* For messages. */
const char *outcome_place_hidden(const struct outcome_place *p);
enum df_status outcome_place_sync(const struct outcome_place *p,
                                  struct df_error *err) DF_MUST_CHECK;
void outcome_place_abandon(const struct outcome_place *p);
enum df_status outcome_place_publish(const struct outcome_place *p,
                                     struct df_error *err) DF_MUST_CHECK;

/* Gives the files of the last batch their name where a crash has kept that
 * from happening. The caller may write to the view. */
enum df_status outcome_place_recover(struct view *v,
                                     struct df_error *err) DF_MUST_CHECK;

#endif
