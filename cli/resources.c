#include "cli/resources.h"

#include "cli/interrupt.h"

/* More workers than any machine that this was tried on has processors. */
const struct option resource_threads[] = {
    { .name = "threads",
      .kind = OPTION_NUMBER,
      .offset = offsetof(struct resources, threads),
      .min = 1,
      .max = ENGINE_THREADS_MAX,
      .value = "N",
      .help = "workers; the result is the same for any number",
      .initial = "one per processor" },
    { 0 }
};

const struct option resource_memory[] = {
    { .name = "memory",
      .kind = OPTION_SIZE,
      .offset = offsetof(struct resources, memory),
      .min = 1 << 20,
      .value = "SIZE",
      .help = "bytes to work in, at least 1M; suffix K, M, G or T; what does "
              "not fit is spilled to disk",
      .initial = "a quarter of the machine's" },
    { 0 }
};

const struct option resource_mapping[] = {
    { .name = "split",
      .kind = OPTION_SIZE,
      .offset = offsetof(struct resources, split),
      .min = 1 << 20,
      .step = 1 << 20,
      .value = "SIZE",
      .help = "a file longer than this is cut for several workers, where "
              "the job allows it; a multiple of 1M",
      .initial = "8M" },
    { .name = "quiet",
      .letter = 'q',
      .kind = OPTION_FLAG,
      .offset = offsetof(struct resources, quiet),
      .help = "no progress line, no notices" },
    { 0 }
};

const struct option resource_listing[] = {
    { .name = "verbose",
      .letter = 'v',
      .kind = OPTION_FLAG,
      .offset = offsetof(struct resources, verbose),
      .help = "list every file that was left out" },
    { 0 }
};

void resources_prepare(const struct resources *r, struct progress *p,
                       struct engine_options *options)
{
    progress_init(p, r->quiet);
    *options = (struct engine_options){
        .threads = (unsigned)r->threads,
        .memory = r->memory > SIZE_MAX ? SIZE_MAX : (size_t)r->memory,
        .unit_size = r->split,
        .method = INSTALL_INCREMENT,
        .stop = interrupt_catch(),
        .progress = p->on ? progress_show : NULL,
        .progress_ctx = p,
    };
}
