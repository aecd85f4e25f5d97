/*
 * Damaged pages. LMDB follows what stands in them without looking twice: where
 * it is led astray, an assertion of its fails, or it reads where nothing is,
 * which is a signal. A program may have both told as what they are.
 */
#include <signal.h>
#include <stddef.h>

#include "state/store_internal.h"

_Thread_local struct store *volatile store_at_work;

static store_told *told;
static struct sigaction before_segv;
static struct sigaction before_bus;

static void tell_of(const struct store *s)
{
    if (told != NULL) {
        told(s->path);
    }
}

/* A fault anywhere else is the program's own: it happens again when this
 * returns, and is then handled as it was before. */
static void on_fault(int signal)
{
    if (store_at_work != NULL) {
        tell_of(store_at_work);
    }
    (void)sigaction(signal, signal == SIGBUS ? &before_bus : &before_segv,
                    NULL);
}

static void on_assertion(MDB_env *env, const char *text)
{
    (void)text;
    tell_of(mdb_env_get_userctx(env));
    /* LMDB aborts. */
}

int store_watch(struct store *s)
{
    int code = mdb_env_set_userctx(s->env, s);

    return code == 0 ? mdb_env_set_assert(s->env, on_assertion) : code;
}

void store_on_damage(store_told *f)
{
    struct sigaction action = { .sa_handler = on_fault };

    told = f;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGSEGV, &action, &before_segv);
    (void)sigaction(SIGBUS, &action, &before_bus);
}
