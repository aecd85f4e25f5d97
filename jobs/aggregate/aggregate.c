#include "jobs/aggregate/aggregate.h"

#include "jobs/aggregate/groups.h"
#include "jobs/aggregate/query.h"
#include "jobs/aggregate/show.h"

static const char *const components[] = { "count", NULL };
static const char *const counters[] = { NULL };

static enum df_status configure(const struct df_settings *settings,
                                void **config, struct df_error *err)
{
    struct query *p;
    enum df_status status = query_open(&p, settings, err);

    *config = p;
    return status;
}

static void release(void *config)
{
    query_close(config);
}

static const char *canonical(const void *config, size_t i)
{
    const struct query *p = config;

    return p->canonical[i];
}

static struct df_shape shape(const void *config)
{
    const struct query *p = config;

    return (struct df_shape){ .has_element = p->set_count > 0,
                              .components = p->components,
                              .wide = p->wide };
}

static const struct df_columns *columns(const void *config)
{
    const struct query *p = config;

    return &p->asked;
}

const struct df_job aggregate_job = {
    .name = "aggregate",
    .summary = "count, sum, avg, min, max, distinct and top per group of "
               "records",
    .version = 1,
    .options = query_options,
    .has_element = false,
    .components = components,
    .counters = counters,
    .shape = shape,
    .present = &show_present,
    .configure = configure,
    .release = release,
    .canonical = canonical,
    .columns = columns,
    .map_records = groups_map,
    .mapper_open = groups_open,
    .mapper_close = groups_close,
};
