# text.sh: the text that is counted, from Debian's package of the kernel
# source, as three batches under $text:
#
#     tree     all of it, as its files
#     whole    all of it, in one file
#     sample   the first sample_bytes of that, in one file
#
# $text/list names the files of tree, in the order they have in whole;
# $text/oracle keeps what a view of a batch must export. The caller sets:
# text, out (where the package may go), work, sample_bytes.

PACKAGE=linux-source-6.1
SOURCES=('*.c' '*.h' '*.rst' '*.txt')

# The archive in the package: the installed one, or one that is downloaded
# and unpacked here, which needs no root.
find_archive() {
    archive=/usr/src/$PACKAGE.tar.xz
    [ ! -f "$archive" ] || return 0
    archive=$out/package/usr/src/$PACKAGE.tar.xz
    [ ! -f "$archive" ] || return 0
    echo "bench: downloading $PACKAGE" >&2
    mkdir -p "$out/package"
    (cd "$out/package" && apt-get download -qq "$PACKAGE" >&2 &&
        dpkg-deb -x "$PACKAGE"_*.deb . && rm "$PACKAGE"_*.deb) ||
        die "no $PACKAGE: is it in the package lists (apt-get update)?"
}

# The HTML pages of two Debian packages as the batch $text/pages, named in
# $text/pages.list.
prepare_pages() {
    local at=$out/page-package
    [ ! -f "$text/pages.list" ] || return 0
    rm -rf "$at" "$text/pages"
    mkdir -p "$at" "$text/pages/inserted/doc.example"
    (cd "$at" && apt-get -o APT::Sandbox::User=root download -qq python3.11-doc debian-handbook >&2) ||
        die "no packages of pages: are package lists there (apt-get update)?"
    for package in "$at"/*.deb; do
        dpkg-deb -x "$package" "$at/unpacked"
    done
    (cd "$at/unpacked/usr/share/doc" && find . -type f -name '*.html' \
        -print0 | xargs -0 cp --parents -t "$text/pages/inserted/doc.example")
    rm -rf "$at"
    find "$text/pages/inserted" -type f >"$text/pages.list"
}

prepare_text() {
    [ -f "$text/complete" ] || unpack_text
    head -c "$sample_bytes" "$text/whole/inserted/text" \
        >"$text/sample/inserted/text"
    rm -f "$text"/oracle/sample.*
    find "$text" -type f -print0 | xargs -0 cat >/dev/null # into the cache
}

# Every file ends with a newline before the next is joined to it (mawk 1), so
# that no words grow together.
unpack_text() {
    find_archive
    echo "bench: unpacking $archive" >&2
    rm -rf "$text"
    mkdir -p "$text"/{tree,whole,sample}/inserted "$text/oracle"
    tar -xJf "$archive" -C "$text/tree/inserted" --strip-components=1 \
        --wildcards "${SOURCES[@]}"
    find "$text/tree/inserted" \( -type l -o -type f -name '.*' \) -delete
    (
        cd "$text/tree/inserted"
        find . -type f | LC_ALL=C sort >"$text/list"
        xargs -d '\n' env LC_ALL=C mawk 1 <"$text/list" \
            >"$text/whole/inserted/text"
    )
    touch "$text/complete"
}

batch_bytes() { # BATCH
    find "$text/$1/inserted" -type f -printf '%s\n' |
        awk '{ sum += $1 } END { printf "%d", sum }'
}

# Makes $text/oracle/BATCH.TOKENIZER unless it is there. mawk made it, and the
# other programs must agree with it, too.
need_oracle() { # whole|sample ascii|unicode
    local program=peer_mawk
    [ "$2" = ascii ] || program=oracle_unicode
    [ ! -f "$text/oracle/$1.$2" ] || return 0
    "$program" "$text/$1/inserted/text" | LC_ALL=C sort >"$work/oracle"
    mv "$work/oracle" "$text/oracle/$1.$2"
}

# Makes a night in which one file in EVERY of tree changes: $work/tree-night,
# a name that comes after "tree". A change drops one line in ten, doubles
# another, and puts a line with a new word in front. $work/after is the tree
# as it is then, and $work/expected the words in it: those before, and the
# difference that mawk finds.
make_night() { # EVERY
    local tree=$text/tree/inserted night=$work/tree-night
    rm -rf "$night" "$work/after"
    mkdir -p "$night/deleted" "$work/after"
    awk -v every="$1" 'NR % every == 0' "$text/list" >"$work/changed"
    (cd "$tree" && xargs -d '\n' cp --parents -t "$night/deleted") \
        <"$work/changed"
    cp -r "$night/deleted" "$night/inserted"
    (cd "$night/deleted" && xargs -d '\n' mawk -v to="$night/inserted/" '
        FNR == 1 { close(file); file = to FILENAME; print "changed" NR >file }
        FNR % 10 == 3 { next }
        FNR % 10 == 7 { print >file }
        { print >file }') <"$work/changed"
    cp -al "$tree" "$work/after/inserted"
    cp -r --remove-destination "$night/inserted/." "$work/after/inserted/"
    expect_night "$night"
}

expect_night() { # NIGHT
    need_oracle whole ascii
    {
        cat "$text/oracle/whole.ascii"
        words_below "$1/inserted"
        words_below "$1/deleted" | sed 's/\t/\t-/'
    } | LC_ALL=C mawk -F '\t' '
        { count[$1] += $2 }
        END { for (w in count) if (count[w] != 0) print w "\t" count[w] }' |
        LC_ALL=C sort >"$work/expected"
}

words_below() { # DIRECTORY
    find "$1" -type f -print0 | xargs -0 bash -c 'peer_mawk "$@"' peer_mawk
}
