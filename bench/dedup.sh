# dedup.sh: the first record of each key, beside other programs.
#
# 60 bytes a record, keys drawn from a quarter as many, one record in a hundred
# late: from the files to the committed view, outcomes counted, and with
# outcome files. The oracle walks the records one by one in mawk, with a
# window of spans as jobs/dedup/span_grid.h has it.

DEDUP_EXPIRE=36000
DEDUP_SPAN=3600

# id,at,payload in four files; two hundred records a second.
make_firsts() { # COUNT KEYS
    mkdir -p "$work/firsts/inserted"
    LC_ALL=C mawk -v n="$1" -v keys="$2" -v dir="$work/firsts/inserted" '
        BEGIN {
            srand(20261129)
            for (f = 0; f < 4; f++) {
                file = dir "/" f ".csv"
                print "id,at,payload" > file
                for (i = f * n / 4; i < (f + 1) * n / 4; i++) {
                    at = 1700000000 + int(i / 200)
                    if (rand() < 0.01)
                        at -= 40000 + int(rand() * 1000)
                    printf "k%08d,%d,%038d\n", rand() * keys, at, i > file
                }
            }
        }'
}

# "unique duplicate expired", of all records in order.
oracle_firsts() { # FILE ...
    LC_ALL=C mawk -F, -v P="$DEDUP_EXPIRE" -v S="$DEDUP_SPAN" '
        FNR == 1 { next }
        {
            t = $2 + 0
            if (!set) {
                set = 1
                start = t - P
                length_ = int((P + S - 1) / S) * S
                end = start + length_
            }
            if (t < start) { expired++; next }
            while (t >= end) { end += S; start += S }
            if (($1 in kept) && kept[$1] >= start) { duplicate++; next }
            kept[$1] = t
            unique++
        }
        END { printf "%d %d %d\n", unique, duplicate, expired }' "$@"
}

counted_firsts() {
    "$deltafold" log "$work/view" --json | tr ',{}' '\n\n\n' |
        sed -n 's/^"\(unique\|duplicate\|expired\)":\([0-9]*\)$/\2/p' |
        paste -sd ' '
}

first_records() { # SERIES THREADS [OPTION ...]
    local series=$1 threads=$2
    shift 2
    rm -rf "$work/view" "$work/sorted"
    "$deltafold" init "$work/view" dedup key=id time=at \
        expire="$DEDUP_EXPIRE" span="$DEDUP_SPAN" >/dev/null
    measure "$series" "$deltafold" run "$work/view" "$work/firsts" \
        --threads="$threads" --quiet "$@"
    counted_firsts >"$work/export"
    check_same "$work/oracle" "$work/export" "outcomes"
}

# What a copy of the same files costs, on disk at the end.
peer_firsts_cat() { # FILE ...
    cat "$@" >"$TMPDIR/copied"
    sync "$TMPDIR/copied"
}

peer_firsts_mawk() { # FILE ...
    LC_ALL=C mawk -F, '!seen[$1]++' "$@"
}

peer_firsts_sort() { # FILE ...
    LC_ALL=C sort --parallel=2 -t, -u -k1,1 "$@"
}

peer_firsts_duckdb() { # FILE ...
    run_duckdb "
        SET threads = 2;
        COPY (SELECT DISTINCT ON (id) * FROM read_csv(
            '$(dirname "$1")/*.csv', header = true))
        TO '$TMPDIR/copied' (FORMAT csv)"
}

first_records_elsewhere() { # PROGRAM
    measure "$1" env TMPDIR="$work" bash -o pipefail -c \
        "peer_firsts_$1 \"\$@\"" bench "$work"/firsts/inserted/*.csv
    rm -f "$work/copied"
}

bench_dedup() {
    local round keys
    section dedup "$records csv records of 60 bytes, $((records / 4)) keys"
    make_firsts "$records" $((records / 4))
    oracle_firsts "$work"/firsts/inserted/*.csv >"$work/oracle"
    for ((round = 0; round < rounds; round++)); do
        first_records two 2
        phases "$work/view" >"$work/phases"
        keys=$("$deltafold" info "$work/view" --json | tr ',{}' '\n\n\n' |
            sed -n 's/^"live_keys":\([0-9]*\)$/\1/p')
        first_records one 1
        [ "$round" -lt "$peer_rounds" ] || continue
        first_records files 2 --outcomes="$work/sorted"
        for program in cat mawk sort; do
            first_records_elsewhere $program
        done
        ! $duckdb || first_records_elsewhere duckdb
    done
    line "deltafold, 2 threads" two "$records" records/s "rate>=4000000"
    cat "$work/phases"
    line "deltafold, 1 thread" one "$records" records/s
    line "with outcome files" files "$records" records/s
    line "cat, and sync" cat "$records" records/s
    line "mawk '!seen[\$1]++'" mawk "$records" records/s
    line "sort -u -k1,1" sort "$records" records/s
    if $duckdb; then
        line "duckdb, 2 threads" duckdb "$records" records/s
    else
        remark "duckdb: neither a command nor a Python package here"
    fi
    remark "state: $(($(du -B1 -s "$work/view/gen-1" | cut -f 1) / keys)) \
bytes on disk per live key, of $keys; with outcome files the target is 0.7 of \
the rate of cat"
}

export -f peer_firsts_cat peer_firsts_mawk peer_firsts_sort peer_firsts_duckdb
