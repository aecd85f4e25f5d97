/*
 * How every deltafold function fails.
 *
 * A function that can fail returns an enum df_status and takes a
 * caller-owned struct df_error. On DF_OK the error is untouched; otherwise
 * it holds one line, without "deltafold:" in front and without a newline,
 * that names the file, batch or key and says what to do. The numbers are
 * the exit codes of the command.
 */
#ifndef DELTAFOLD_STATUS_H
#define DELTAFOLD_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

enum df_status {
    DF_OK = 0,
    DF_DIFFERS = 1,      /* verify found a difference; get found no key */
    DF_USAGE = 2,        /* wrong option, argument or call */
    DF_INPUT = 3,        /* documents or a batch directory are refused */
    DF_LEDGER = 4,       /* the batch is refused by the ledger */
    DF_STATE = 5,        /* the view is unusable, damaged or locked */
    DF_SYSTEM = 6,       /* no memory, disk full, I/O error */
    DF_INTERRUPTED = 130 /* SIGINT or SIGTERM: the view is at a whole batch */
};

/* Long enough for the longest path and a reason. */
#define DF_ERROR_SIZE 5120

struct df_error {
    char text[DF_ERROR_SIZE]; /* NUL-terminated; set only on failure */
};

#if defined(__GNUC__)
#define DF_MUST_CHECK __attribute__((warn_unused_result))
#define DF_PUBLIC __attribute__((visibility("default")))
#else
#define DF_MUST_CHECK
#define DF_PUBLIC
#endif

#ifdef __cplusplus
}
#endif

#endif
