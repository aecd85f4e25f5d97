/*
 * tree.h: small directory trees for tests. Failure exits with a message.
 */
#ifndef FAULTS_TREE_H
#define FAULTS_TREE_H

/* A new directory under $TMPDIR or /tmp, canonical; the caller's to free. */
char *tree_temporary(void);

/* Writes a file, making the directories above it. */
void tree_write(const char *path, const char *content);

/* Makes a directory and those above it. */
void tree_make(const char *path);

/* Copies directories and regular files; to must not exist. */
void tree_copy(const char *from, const char *to);

/* Removes everything; nothing there is fine. */
void tree_remove(const char *path);

/* The whole content, NUL-terminated; NULL when there is no such file. */
char *tree_read(const char *path);

#endif
