/* deltafold jobs: the jobs there are, with their options. */
#include "cli/command.h"
#include "cli/json.h"
#include "jobs/registry.h"

struct jobs {
    bool json;
};

static const struct option options[] = { { .name = "json",
                                           .kind = OPTION_FLAG,
                                           .offset =
                                               offsetof(struct jobs, json),
                                           .help = "one JSON object per job" },
                                         { 0 } };

static void print_json(const struct df_job *job, struct output *out)
{
    struct json j = { .out = out };

    json_open(&j, NULL);
    json_text(&j, "job", job->name);
    json_uint(&j, "version", job->version);
    json_text(&j, "summary", job->summary);
    json_bool(&j, "has_element", job->has_element);
    json_open_array(&j, "components");
    for (size_t i = 0; job->components[i] != NULL; i++) {
        json_text(&j, NULL, job->components[i]);
    }
    json_close_array(&j);
    json_open_array(&j, "options");
    for (size_t i = 0; registry_option(job, i) != NULL; i++) {
        const struct df_option *o = registry_option(job, i);

        json_open(&j, NULL);
        json_text(&j, "name", o->name);
        json_text(&j, "initial", o->initial);
        json_text(&j, "values", o->values);
        json_text(&j, "help", o->help);
        json_bool(&j, "is_list", o->is_list);
        json_close(&j);
    }
    json_close_array(&j);
    json_close(&j);
    json_line(&j);
}

/* Whether every job has it. */
static bool is_common(const struct df_option *option)
{
    const struct df_option *o = registry_common;

    while (o->name != NULL && o != option) {
        o++;
    }
    return o->name != NULL;
}

enum { INDENT = 6 };

/* Two lines or more: what can be given, and what it does. */
static void print_option(const struct df_option *o, struct output *out)
{
    output_printf(out, o->bare != NULL ? "  %s[=%s]" : "  %s=%s", o->name,
                  o->values);
    output_printf(out, o->initial[0] != '\0' ? "  [default: %s]\n" : "%s\n",
                  o->initial);
    command_put_text(out, o->help, INDENT);
}

static void print_text(const struct df_job *job, struct output *out)
{
    const struct df_option *o;

    output_printf(out, "%s: %s\n", job->name, job->summary);
    for (size_t i = 0; (o = registry_option(job, i)) != NULL; i++) {
        if (!is_common(o)) {
            print_option(o, out);
        }
    }
    output_byte(out, '\n');
}

static void print_common(struct output *out)
{
    output_text(out, "every job:\n");
    for (const struct df_option *o = registry_common; o->name != NULL; o++) {
        print_option(o, out);
    }
}

static enum df_status run(struct invocation *in, struct df_error *err)
{
    struct jobs jobs = { 0 };
    enum df_status status = command_parse(in, (void *[]){ &jobs }, err);

    for (size_t i = 0; status == DF_OK && registry_job(i) != NULL; i++) {
        if (jobs.json) {
            print_json(registry_job(i), in->out);
        } else {
            print_text(registry_job(i), in->out);
        }
    }
    if (status == DF_OK && !jobs.json) {
        print_common(in->out);
    }
    return status;
}

const struct command command_jobs = {
    .name = "jobs",
    .summary = "list the jobs there are, with their options",
    .synopsis = "[--json]",
    .text =
        "Lists the jobs that 'deltafold init' takes, and for each its "
        "options: what values they have, what they do, and what holds when "
        "they are not given.",
    .examples = NULL,
    .options = { options },
    .arguments_min = 0,
    .arguments_max = 0,
    .run = run,
};
