# aggregate.sh: csv records added up per group, beside other programs.
#
# 60 bytes a record, a million groups, count and sum of one column: from the
# files to the committed view. The oracle adds cents, which a double holds
# exactly; the other programs' sums are rounded to cents, which is far coarser
# than their error.

SALES_SEED=20261130

make_records() { # COUNT GROUPS
    mkdir -p "$work/records/inserted"
    "$build/bench_sales" "$SALES_SEED" "$1" "$2" \
        >"$work/records/inserted/records.csv"
}

# customer, count, sum with two digits, by customer
oracle_sums() { # FILE
    LC_ALL=C mawk -F, '
        NR > 1 {
            negative = $4 ~ /^-/
            sub(/^-/, "", $4)
            sub(/\./, "", $4)
            count[$3]++
            cents[$3] += negative ? -$4 : $4
        }
        END {
            for (key in count) {
                c = cents[key]
                sign = c < 0 ? "-" : ""
                c = c < 0 ? -c : c
                printf "%s\t%d\t%s%d.%02d\n", key, count[key], sign,
                       c / 100, c % 100
            }
        }' "$1" | LC_ALL=C sort
}

peer_sums_mawk() { # FILE
    LC_ALL=C mawk -F, '
        NR > 1 { count[$3]++; sum[$3] += $4 }
        END { for (key in count)
            printf "%s\t%d\t%.2f\n", key, count[key], sum[key] }' "$1"
}

peer_sums_duckdb() { # FILE
    run_duckdb "
        SET threads = 2;
        COPY (
            SELECT customer, count(*), sum(price)
            FROM read_csv('$1', header = true, columns = {
                'id': 'VARCHAR', 'day': 'VARCHAR', 'customer': 'VARCHAR',
                'price': 'DECIMAL(18,2)', 'note': 'VARCHAR'})
            GROUP BY customer)
        TO '/dev/stdout' (FORMAT csv, DELIMITER E'\t', HEADER false)"
}

# Sums as the oracle writes them.
as_cents() {
    LC_ALL=C mawk -F '\t' '
        { printf "%s\t%s\t%s\n", $1, $2, $3 == 0 ? "0.00" : cents($3) }
        function cents(v,   at) {
            at = index(v, ".")
            if (at == 0)
                return v ".00"
            return substr(v "00", 1, at + 2)
        }' | sed 's/-0\.00$/0.00/' | LC_ALL=C sort
}

sum_records() { # SERIES THREADS
    rm -rf "$work/view"
    "$deltafold" init "$work/view" aggregate by=customer count sum=price:2 \
        >/dev/null
    measure "$1" "$deltafold" run "$work/view" "$work/records" --threads="$2"
    "$deltafold" export "$work/view" | as_cents >"$work/export"
    check_same "$work/oracle" "$work/export" "sums"
}

sum_records_elsewhere() { # PROGRAM
    measure "$1" bash -o pipefail -c "peer_sums_$1 \"\$1\"" bench \
        "$work/records/inserted/records.csv"
    as_cents <"$work/output" >"$work/export"
    check_same "$work/oracle" "$work/export" "sums of $1"
}

bench_aggregate() {
    local round
    section aggregate "$records csv records of 60 bytes, $groups groups"
    make_records "$records" "$groups"
    oracle_sums "$work/records/inserted/records.csv" >"$work/oracle"
    for ((round = 0; round < rounds; round++)); do
        sum_records two 2
        phases "$work/view" >"$work/phases"
        sum_records one 1
        [ "$round" -lt "$peer_rounds" ] || continue
        sum_records_elsewhere mawk
        ! $duckdb || sum_records_elsewhere duckdb
    done
    line "deltafold, 2 threads" two "$records" records/s "rate>=8000000"
    cat "$work/phases"
    line "deltafold, 1 thread" one "$records" records/s
    line "mawk" mawk "$records" records/s "ratio>=10"
    if $duckdb; then
        line "duckdb, 2 threads" duckdb "$records" records/s "ratio>=1"
    else
        remark "duckdb: neither a command nor a Python package here"
    fi
}

export -f peer_sums_mawk peer_sums_duckdb
