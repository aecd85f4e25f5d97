/* What options leave open: threads, memory, how documents are cut. */
#include <assert.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/crew.h"

#define MEMORY_FALLBACK ((size_t)1 << 30)
/* Of the 64 MB beyond the budget, what workers beyond it may take. */
#define THREADS_SPARE ((size_t)24 << 20)
/* Documents of jobs that want them whole: a part of the budget, but all
 * workers together never less than the second number. A job makes of one
 * several times its length: the text decoded, and what it finds in it. */
#define WHOLE_SHARE 16
#define WHOLE_MIN ((size_t)8 << 20)

static void *wait_at(void *barrier)
{
    (void)pthread_mutex_lock(barrier);
    (void)pthread_mutex_unlock(barrier);
    return NULL;
}

/* How many of n threads, with the one that calls, this system lets run at
 * once: OpenMP would end the process with words and a status of its own when
 * it cannot start one. Found out once. */
static unsigned threads_startable(unsigned n)
{
    static unsigned tried = 1;
    static unsigned started = 1;
    pthread_mutex_t closed = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[ENGINE_THREADS_MAX];
    unsigned count = 0;

    if (n <= tried) {
        return n < started ? n : started;
    }
    (void)pthread_mutex_lock(&closed);
    while (count + 1 < n &&
           pthread_create(&threads[count], NULL, wait_at, &closed) == 0) {
        count++;
    }
    (void)pthread_mutex_unlock(&closed);
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    tried = n;
    started = count + 1;
    return started;
}

unsigned crew_threads(const struct engine_options *options)
{
    unsigned n = options->threads;
    size_t room;

    if (n == 0) {
        n = (unsigned)omp_get_num_procs();
    }
    n = n < 1 ? 1 : n > ENGINE_THREADS_MAX ? ENGINE_THREADS_MAX : n;
    /* Every worker has buffers and a table of some size: a small budget is
     * not for many. */
    room = 1 + (crew_memory(options) / 2 + THREADS_SPARE) /
                   (CREW_READER_MEMORY + CREW_WORKER_MEMORY_MIN);
    n = threads_startable(n > room ? (unsigned)room : n);
    assert(n > 0);
    return n;
}

/* The container's limit, or 0. */
static size_t container_memory(void)
{
    unsigned long long limit = 0;
    FILE *f = fopen("/sys/fs/cgroup/memory.max", "re");

    if (f != NULL) {
        if (fscanf(f, "%llu", &limit) != 1) {
            limit = 0; /* "max" */
        }
        (void)fclose(f);
    }
    return (size_t)limit;
}

size_t crew_memory(const struct engine_options *options)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    size_t machine = MEMORY_FALLBACK * 4;
    size_t container;

    if (options->memory != 0) {
        return options->memory;
    }
    if (pages > 0 && page > 0) {
        machine = (size_t)pages * (size_t)page;
    }
    container = container_memory();
    if (container != 0 && container < machine) {
        machine = container;
    }
    return machine / 4;
}

struct reader_cut crew_cut(const struct jobspec *job,
                           const struct engine_options *options)
{
    size_t share = crew_memory(options) / WHOLE_SHARE;
    struct reader_cut cut = {
        .unit_size = options->unit_size,
        .stop = options->stop,
        .whole_max =
            (share > WHOLE_MIN ? share : WHOLE_MIN) / crew_threads(options),
        .format = mapping_format(job),
    };

    if (cut.format != RECORD_NONE) {
        cut.pieces = DF_PIECES_ORDERED;
        cut.columns = &job->form->columns;
        return cut;
    }
    cut.pieces = job->job->pieces(job->config);
    cut.raw = job->job->raw;
    cut.cut = job->job->cut;
    cut.config = job->config;
    return cut;
}
