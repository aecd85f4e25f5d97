#include "cli/writer.h"

const struct option writer_options[] = {
    { .name = "wait",
      .kind = OPTION_NUMBER,
      .offset = offsetof(struct writer, wait),
      .max = 86400,
      .value = "SECONDS",
      .help = "how long to wait for another writer",
      .initial = "10" },
    { 0 }
};
