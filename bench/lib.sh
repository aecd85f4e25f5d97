# lib.sh: what the benchmarks of bench/run are made of: series of times, the
# table, checks, and the few things they need from deltafold.
#
# A series is a file of lines "wall_us processor_us peak_kib", one per run,
# as bench_measure prints them. A benchmark goes like this:
#
#     section "words" "What is measured"
#     for ((round = 0; round < 5; round++)); do   contenders take turns
#         measure ours COMMAND ...
#         check_same EXPECTED ACTUAL "what it is"
#         measure theirs COMMAND ...
#     done
#     line "ours" ours 200000000 MB/s             the first: ratio 1
#     line "theirs" theirs 200000000 MB/s "ratio>=10"
#
# The caller sets: build (where the programs are), work (a directory that is
# ours), csv (a file).

die() {
    echo "bench: $*" >&2
    exit 1
}

say() {
    printf '%s\n' "$*"
}

# ---- the machine ----------------------------------------------------------

machine() {
    local cpu memory load system
    cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
    memory=$(awk '/^MemTotal/ { printf "%.1f GiB", $2 / 1048576 }' \
        /proc/meminfo)
    load=$(cut -d ' ' -f 1 /proc/loadavg)
    system=$(. /etc/os-release && echo "$PRETTY_NAME")
    say "machine      $(nproc) x ${cpu:-$(uname -m)}, $memory"
    say "system       Linux $(uname -r), $system"
    say "files on     $(df --output=fstype "$work" | tail -n 1), $(
        df -h --output=avail "$work" | tail -n 1 | tr -d ' ') free"
    say "program      $("$deltafold" --version)"
    say "load before  $load"
    if awk -v load="$load" 'BEGIN { exit !(load > 1) }'; then
        say "WARNING: this machine is busy; these times mean little"
    fi
}

# Installs the Debian package of a command that is not there.
need_command() { # COMMAND PACKAGE
    local root=()
    ! command -v "$1" >/dev/null || return 0
    [ "$(id -u)" -eq 0 ] || root=(sudo)
    echo "bench: installing $2" >&2
    "${root[@]}" apt-get update -qq
    "${root[@]}" apt-get install -y -qq --no-install-recommends "$2" >&2
}

# ---- measuring ------------------------------------------------------------

# Adds runs to a series; what the command prints is in $work/output. What was
# written before is on disk first: no run pays for its predecessor.
measure() { # SERIES COMMAND ...
    sync
    repeat 1 "$@"
}

# The same, RUNS times without a pause: for commands of a few milliseconds.
repeat() { # RUNS SERIES COMMAND ...
    "$build/bench_measure" -n "$1" -o "$work/output" "${@:3}" \
        >>"$work/$2.series" || die "$2: failed: ${*:3}"
}

check_same() { # EXPECTED ACTUAL WHAT
    cmp -s "$1" "$2" || die "wrong result, so no time: $3 ($1 and $2 differ)"
}

check_equal() { # EXPECTED ACTUAL WHAT
    [ "$1" = "$2" ] || die "wrong result, so no time: $3: $2 instead of $1"
}

# ---- the table ------------------------------------------------------------

table_open() {
    local times=median_us,min_us,max_us,processor_us,peak_kib
    local ratio=ratio,ratio_min,ratio_max,target,verdict
    say "section,what,runs,$times,rate,unit,$ratio" >"$csv"
}

# Begins a block. Ratios in it refer to its first line; with "unrelated" there
# are none.
section() { # NAME TITLE [unrelated]
    section=$1
    reference=
    related=true
    [ "${3:-}" != unrelated ] || related=false
    rm -f "$work"/*.series
    printf '\n%s: %s\n' "$1" "$2"
    awk -v heading=1 -f "$here/line.awk"
}

# A series as a line. With AMOUNT (bytes, files, rows) and UNIT the rate is
# shown; TARGET is "ratio>=N", "ratio<=N", "rate>=N",
# "ms<=N" or "mib<=N".
line() { # WHAT SERIES [AMOUNT UNIT [TARGET]]
    local relation=other
    reference=${reference:-$2}
    [ "$reference" != "$2" ] || relation=self
    $related || relation=none
    cat "$work/$reference.series" "$work/$2.series" |
        awk -v section="$section" -v what="$1" -v amount="${3:-0}" \
            -v unit="${4:-}" -v target="${5:-}" -v csv="$csv" \
            -v first="$(wc -l <"$work/$reference.series")" \
            -v relation="$relation" \
            -f "$here/line.awk"
}

# A figure that is no time.
fact() { # WHAT VALUE UNIT
    printf '  %-44s %s %s\n' "$1" "$2" "$3"
    say "$section,\"$1\",,,,,,,$2,$3,,,,," >>"$csv"
}

remark() {
    printf '  %s\n' "$*"
}

# ---- deltafold ------------------------------------------------------------

# An empty word-count view, in the place of whatever was there.
fresh_view() { # VIEW [OPTION=VALUE ...]
    rm -rf "$1"
    "$deltafold" init "$1" wordcount "${@:2}" >/dev/null
}

# A member of what `info --json` says.
info_member() { # VIEW MEMBER
    "$deltafold" info "$1" --json | json_member "$2"
}

json_member() {
    sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"
}

# Where the time of the last batch of a view went, from its ledger, and how
# many processors each phase kept busy.
phases() { # VIEW
    local phase
    "$deltafold" log "$1" -n 1 --json >"$work/entry"
    for phase in map reduce install; do
        echo "$phase" "$(json_member "${phase}_us" <"$work/entry")" \
            "$(json_member "${phase}_cpu_us" <"$work/entry")" \
            "$(json_member measured_us <"$work/entry")"
    done | awk '{
        text = text sprintf("%s%s %.0f %% (%.1f)", NR > 1 ? ", " : "", $1,
                            100 * $2 / ($4 + ($4 == 0)), $3 / ($2 + ($2 == 0)))
    }
    END {
        printf "  %-44s %s\n",
               "where its time went (processors), last run", text
    }'
}
