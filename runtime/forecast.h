/*
 * forecast.h: what a batch is likely to take before it is read, from what the
 * last batches of the view took for their bytes.
 */
#ifndef RUNTIME_FORECAST_H
#define RUNTIME_FORECAST_H

#include "runtime/engine.h"

/* `survivors` are what the batch leaves, where it may be rebuilt from them;
 * else NULL. *known is false where the ledger has nothing to go by. */
enum df_status forecast_batch(struct view *v, struct snapshot *s,
                              const struct batch *batch,
                              const struct engine_options *options,
                              const struct ledger_survivors *survivors,
                              struct engine_forecast *out, bool *known,
                              struct df_error *err) DF_MUST_CHECK;

#endif
