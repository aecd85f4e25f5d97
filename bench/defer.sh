# defer.sh: the parts `defer` and `auto` of bench/run: what a commit costs from
# the reduced batch on, by each method, and what a month of them costs with all
# that they put off.

DEFER_TOUCHED="1000 10000 100000 1000000 reads"
AUTO_SIZES="10000 1000000 10000000"
AUTO_PERCENTS="0.01 0.1 1 3 10 100"
MONTH=30

# A batch of words FIRST to FIRST + COUNT - 1 of the sequence.
words_batch() { # DIRECTORY FIRST COUNT
    mkdir -p "$1/inserted"
    "$build/bench_generate" "$SEED" "$2" "$3" >"$1/inserted/text"
}

# The same as a peer takes them: in order, one to a line.
words_sorted() { # FILE FIRST COUNT
    "$build/bench_generate" "$SEED" "$2" "$3" | tr ' ' '\n' |
        LC_ALL=C sort -S 1G >"$1"
}

# A view of the first ROWS words, each there once.
words_view() { # VIEW ROWS
    local i each
    each=$(($2 < 100 ? $2 : $2 / 100))
    rm -rf "$work/base-batch"
    mkdir -p "$work/base-batch/inserted"
    for ((i = 0; i * each < $2; i++)); do
        "$build/bench_generate" "$SEED" $((i * each)) "$each" \
            >"$work/base-batch/inserted/$i"
    done
    fresh_view "$1" tokenizer=ascii
    "$deltafold" run "$1" "$work/base-batch" --quiet >/dev/null
    rm -rf "$work/base-batch"
}

last_entry() { # VIEW MEMBER
    "$deltafold" log "$1" -n 1 --json | json_member "$2"
}

# A time that a program told, as a run of a series.
told() { # SERIES MICROSECONDS
    echo "$2 0 0" >>"$work/$1.series"
}

sum_of_view() { # VIEW
    "$deltafold" export "$1" | awk '{ n += $2 } END { printf "%d\n", n }'
}

have_peer() { # NAME
    [ -x "$build/bench_peer_$1" ]
}

# ---- defer ----------------------------------------------------------------

# One batch into a copy of the base, by a method.
defer_once() { # METHOD TOUCHED
    rm -rf "$work/view"
    cp -r "$work/base" "$work/view"
    sync
    "$deltafold" run "$work/view" "$work/touch-$2" --install="$1" --quiet \
        >/dev/null
    told "$1" "$(last_entry "$work/view" install_us)"
    check_equal $((view_words + $2)) "$(sum_of_view "$work/view")" \
        "the sum after $1 of $2 words"
}

defer_peer() { # PEER TOUCHED
    have_peer "$1" || return 0
    peer_added[$1]=$((${peer_added[$1]:-0} + $2))
    sync
    told "$1" "$("$build/bench_peer_$1" "$work/$1" add "$work/sorted-$2")"
    check_equal $((view_words + ${peer_added[$1]})) \
        "$("$build/bench_peer_$1" "$work/$1" sum)" "the sum in $1"
}

defer_load_peers() {
    local peer
    words_sorted "$work/sorted-base" 0 "$view_words"
    for peer in rocksdb sqlite; do
        if have_peer "$peer"; then
            mkdir -p "$work/$peer"
            "$build/bench_peer_$peer" "$work/$peer" load "$work/sorted-base" \
                >/dev/null
        else
            remark "$peer: its library was not there when this was built"
        fi
    done
    rm "$work/sorted-base"
}

defer_touched() { # TOUCHED
    local round targets=""
    words_batch "$work/touch-$1" $((view_words / 3)) "$1"
    words_sorted "$work/sorted-$1" $((view_words / 3)) "$1"
    section defer "$1 of $view_words words, from reduced batch to commit"
    for ((round = 0; round < rounds; round++)); do
        defer_once defer "$1"
        defer_peer rocksdb "$1"
        [ "$round" -lt "$peer_rounds" ] || continue
        defer_once increment "$1"
        defer_once overwrite "$1"
        defer_peer sqlite "$1"
    done
    [ "$1" -ne 100000 ] || targets="ms<=12"
    [ "$1" -ne 1000000 ] || targets="ms<=100"
    line "deltafold, defer" defer "$1" rows/s "$targets"
    line "deltafold, increment" increment "$1" rows/s
    line "deltafold, overwrite" overwrite "$1" rows/s
    ! have_peer rocksdb || line "rocksdb, merge operator" rocksdb "$1" rows/s \
        "$([ "$1" -lt 100000 ] || echo "ratio>=7")"
    ! have_peer sqlite || line "sqlite, upsert" sqlite "$1" rows/s \
        "$([ "$1" -lt 100000 ] || echo "ratio>=20")"
}

# Reading with as much deferred as there may be, beside the same view folded.
defer_reads() {
    local i each=$((view_words / 100)) word
    section defer-reads "reading $view_words rows, a tenth as many deferred"
    rm -rf "$work/view" "$work/folded"
    cp -r "$work/base" "$work/view"
    for ((i = 1; i <= 9; i++)); do
        words_batch "$work/read-$i" $((i * view_words / 10)) "$each"
        "$deltafold" run "$work/view" "$work/read-$i" --install=defer \
            --quiet >/dev/null
    done
    cp -r "$work/view" "$work/folded"
    "$deltafold" compact "$work/folded" >/dev/null
    check_equal "$(info_member "$work/view" digest)" \
        "$(info_member "$work/folded" digest)" "the folded view"
    for ((i = 0; i < rounds; i++)); do
        measure folded "$deltafold" export "$work/folded"
        cp "$work/output" "$work/expected"
        measure deferred "$deltafold" export "$work/view"
        check_same "$work/expected" "$work/output" "export of what is deferred"
    done
    line "export, folded" folded "$view_words" rows/s
    line "export, deferred" deferred "$view_words" rows/s "ratio<=1.3"
    section defer-reads "get of one key"
    for ((i = 0; i < starts; i++)); do
        word=$("$build/bench_generate" "$SEED" $((i * view_words / starts)) 1)
        repeat 1 folded "$deltafold" get "$work/folded" "$word"
        repeat 1 deferred "$deltafold" get "$work/view" "$word"
    done
    line "get, folded" folded
    line "get, deferred" deferred 0 "" "ratio<=2"
    rm -rf "$work/folded" "$work"/read-*
}

bench_defer() {
    local touched
    declare -A peer_added=()
    words_view "$work/base" "$view_words"
    [ "$DEFER_TOUCHED" = reads ] || defer_load_peers
    for touched in $DEFER_TOUCHED; do
        if [ "$touched" = reads ]; then
            defer_reads
        elif [ "$touched" -lt "$view_words" ]; then
            defer_touched "$touched"
        fi
    done
    rm -rf "$work/rocksdb" "$work/sqlite" "$work/base" "$work"/touch-* \
        "$work"/sorted-*
}

# ---- auto -----------------------------------------------------------------

# What some nights cost by a method, in microseconds: installs, merges and
# folds, and of the fold that is still to come the part that is due. An entry
# tells of the compaction before it: one more night tells of the last.
nights_cost() { # METHOD NIGHTS
    local i
    rm -rf "$work/view"
    cp -r "$work/base" "$work/view"
    sync
    for ((i = 1; i <= $2; i++)); do
        "$deltafold" run "$work/view" "$work/night-$i" --install="$1" \
            --quiet >/dev/null
    done
    "$deltafold" info "$work/view" --json >"$work/info"
    "$deltafold" compact "$work/view" --json >"$work/compacted"
    check_equal "$nights_digest" "$(info_member "$work/view" digest)" \
        "the view after $2 nights by $1"
    "$deltafold" run "$work/view" "$work/night-last" --install=defer --quiet \
        >/dev/null
    "$deltafold" log "$work/view" -n $(($2 + 1)) --json >"$work/entries"
    awk -v nights="$2" \
        -v rows="$(json_member rows_folded <"$work/info")" \
        -v left="$(json_member changes_unfolded <"$work/info")" \
        -v shards="$(json_member shards <"$work/info")" \
        -v folded="$(json_member folded_runs <"$work/compacted")" \
        -v fold="$(json_member us <"$work/compacted")" '
        match($0, /"install_us":[0-9]+/) && NR <= nights {
            us += substr($0, RSTART + 13, RLENGTH - 13)
        }
        match($0, /"compact_us":[0-9]+/) && NR > 1 {
            us += substr($0, RSTART + 13, RLENGTH - 13)
        }
        END {
            # A seventh of the rows, and at least 64 KiB of each shard.
            due = rows / 7
            least = shards * 65536 / 10
            due = due < least ? least : due
            part = left < due ? left / due : 1
            us -= folded > 0 ? (1 - part) * fold : 0
            printf "%d\n", us
        }' "$work/entries"
}

# Nights of PERCENT of ROWS words, anywhere among them.
auto_nights() { # ROWS PERCENT NIGHTS
    local i count
    count=$(awk -v rows="$1" -v percent="$2" 'BEGIN {
        n = int(rows * percent / 100); print n < 1 ? 1 : n }')
    rm -rf "$work"/night-*
    for ((i = 1; i <= $3; i++)); do
        words_batch "$work/night-$i" $((i * $1 / 41)) "$count"
    done
    words_batch "$work/night-last" 0 1
    rm -rf "$work/view"
    cp -r "$work/base" "$work/view"
    for ((i = 1; i <= $3; i++)); do
        "$deltafold" run "$work/view" "$work/night-$i" --quiet \
            --install=overwrite >/dev/null
    done
    nights_digest=$(info_member "$work/view" digest)
}

auto_case() { # ROWS PERCENT NIGHTS
    local round method
    auto_nights "$@"
    section auto "$3 nights of $2 % of $1 words, with all that is put off"
    for ((round = 0; round < peer_rounds; round++)); do
        for method in auto increment overwrite defer; do
            told "$method" "$(nights_cost "$method" "$3")"
        done
    done
    line "auto" auto
    line "increment" increment 0 "" "ratio>=0.87"
    line "overwrite" overwrite 0 "" "ratio>=0.87"
    line "defer" defer 0 "" "ratio>=0.87"
}

bench_auto() {
    local rows percent
    for rows in $AUTO_SIZES; do
        words_view "$work/base" "$rows"
        for percent in $AUTO_PERCENTS; do
            auto_case "$rows" "$percent" \
                "$(awk -v p="$percent" 'BEGIN { print p < 10 ? 6 : 2 }')"
        done
        [ "$rows" -lt 1000000 ] || auto_case "$rows" 1 "$MONTH"
    done
    rm -rf "$work/base" "$work"/night-*
}
