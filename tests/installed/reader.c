/* What a program that reads a view looks like: reader VIEW KEY */
#include <stdio.h>
#include <string.h>

#include <deltafold/view.h>

int main(int argc, char **argv)
{
    struct df_view *view;
    struct df_view_info info;
    struct df_error err;
    int64_t count = 0;

    if (argc != 3) {
        return 2;
    }
    if (df_view_open(&view, argv[1], &err) != DF_OK) {
        fprintf(stderr, "reader: %s\n", err.text);
        return 1;
    }
    df_view_info(view, &info);
    if (df_view_get(view, argv[2], strlen(argv[2]), NULL, 0, &count, &err) ==
        DF_OK) {
        printf("%s %lld, %llu rows\n", argv[2], (long long)count,
               (unsigned long long)info.rows);
    }
    df_view_close(view);
    return 0;
}
