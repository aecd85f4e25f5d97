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

enum install_method writer_method(unsigned choice)
{
    static const enum install_method methods[] = {
        INSTALL_AUTO, INSTALL_INCREMENT, INSTALL_OVERWRITE, INSTALL_DEFER,
        INSTALL_REBUILD
    };

    return methods[choice];
}

enum df_status writer_run(struct invocation *in, void *given,
                          const bool *reads_only, writer_work *work,
                          struct df_error *err)
{
    struct writer writer = { .wait = WRITER_WAIT_INITIAL };
    struct writing w = { 0 };
    enum df_status status =
        command_parse(in,
                      (void *[COMMAND_GROUPS_MAX]){
                          given, &writer, &w.resources, &w.resources,
                          &w.resources, &w.resources },
                      err);
    bool reads = reads_only != NULL && *reads_only;

    if (status == DF_OK) {
        status =
            opened_work(&w.opened, in->argv[0], reads ? VIEW_READ : VIEW_WRITE,
                        (unsigned)writer.wait, err);
    }
    if (status != DF_OK) {
        return status;
    }
    resources_prepare(&w.resources, &w.progress, &w.engine);
    status = work(in, given, &w, err);
    if (status == DF_INTERRUPTED) {
        status = opened_interrupted(&w.opened, err);
    }
    opened_close(&w.opened);
    return status;
}
