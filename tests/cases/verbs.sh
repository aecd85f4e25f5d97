# The words that cases are written in. INSTALL and SHARDS come from the
# runner, which tries several. What is said about the work itself, which is
# for people and may change, goes to the file `said`; a case that cares asks
# with `tells`.

deltafold() {
    "$DELTAFOLD" "$@"
}

# new_view [OPTION=VALUE ...]: an empty view of words, in ./view
new_view() {
    deltafold init view wordcount "$@" --shards "$SHARDS" >>said 2>&1
}

# new_graph [OPTION=VALUE ...]: an empty view of links, in ./view
new_graph() {
    deltafold init view links "$@" --shards "$SHARDS" >>said 2>&1
}

# new_dedup [OPTION=VALUE ...]: an empty view of first records, in ./view
new_dedup() {
    deltafold init view dedup "$@" --shards "$SHARDS" >>said 2>&1
}

# sorted_out BATCH ...: folds with outcome files, and shows those of each
# batch that are not empty.
sorted_out() {
    fold "$@" --outcomes=out
    for directory in out/*; do
        for outcome in unique duplicate expired rejected retracted; do
            [ ! -s "$directory/$outcome" ] ||
                sed "s|^|${directory#out/} $outcome |" "$directory/$outcome"
        done
    done
}

# new_sums [OPTION[=VALUE] ...]: an empty view of aggregate, in ./view
new_sums() {
    deltafold init view aggregate "$@" --shards "$SHARDS" >>said 2>&1
}

# fold BATCH ... [--OPTION ...]
fold() {
    deltafold run view --install="$INSTALL" "$@" >>said 2>&1
}

# rows: the view, as TSV
rows() {
    deltafold export view
}

# digest: of the view, 32 digits
digest() {
    deltafold info view --json | tr ',{}' '\n\n\n' |
        sed -n 's/^ *"digest": *"\([0-9a-f]*\)".*/\1/p'
}

# batches: how many the ledger lists
batches() {
    deltafold info view --json | tr ',{}' '\n\n\n' |
        sed -n 's/^ *"batches": *\([0-9]*\).*/\1/p'
}

# take_back BATCH: one more batch that deletes the very same documents; what
# is left of the view and its digest must be nothing.
take_back() {
    mkdir zz-back
    cp -R "$1/inserted" zz-back/deleted
    [ ! -f "$1/manifest.tsv" ] || cp "$1/manifest.tsv" zz-back/
    fold zz-back
    rows
    echo "taken back: digest $(digest)"
}

# refused STATUS PATTERN COMMAND ...: the command must end with this status
# and say why on one line of stderr that begins as errors do and matches.
refused() {
    wanted=$1
    pattern=$2
    shift 2
    status=0
    : >refusal
    "$@" >>said 2>refusal || status=$?
    cat refusal >>said
    if [ "$status" -ne "$wanted" ]; then
        echo "status $status instead of $wanted: $*"
    elif [ "$(grep -c '^deltafold: ' refusal)" -ne 1 ]; then
        echo "not one error line: $*"
    elif ! grep '^deltafold: ' refusal | grep -q -e "$pattern"; then
        echo "no word of $pattern: $(cat refusal)"
    else
        echo "refused with $status"
    fi
}

# plainly BATCH ... [--OPTION ...]: as fold, but stderr is left alone, so
# that `refused` can look at it.
plainly() {
    deltafold run view --install="$INSTALL" "$@"
}

# tells PATTERN: whether anything said so far matches.
tells() {
    if grep -q -e "$1" said; then
        echo "told of $1"
    else
        echo "not told of $1"
    fi
}
