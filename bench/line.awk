# line.awk: a series of times as a line of the table and of the CSV.
#
# Input: the series that ratios refer to (`first` lines), then the series of
# the line. The ratio is that of the medians, and how far it can be off is
# told by the slowest of one against the fastest of the other. Where the
# times of either spread wider than the medians differ the ratio says
# nothing, and is not printed; nor is it where something was run only once.
#
# Variables: section, what, amount, unit, target, csv, first, and relation: of
# the line to what ratios refer to, self, other or none; or heading=1.

function print_line(what, runs, median, range, rate, memory, ratio, verdict,
                    line)
{
    line = sprintf("  %-44s %4s  %9s  %-21s  %12s  %8s  %-22s %s", what, runs,
                   median, range, rate, memory, ratio, verdict)
    sub(/ +$/, "", line)
    print line
}

# v[from..to] in ascending order; series are short.
function sort(v, from, to,    i, j, x)
{
    for (i = from + 1; i <= to; i++) {
        x = v[i]
        for (j = i - 1; j >= from && v[j] > x; j--) {
            v[j + 1] = v[j]
        }
        v[j + 1] = x
    }
}

function median(v, from, to,    middle)
{
    middle = int((from + to) / 2)
    return (to - from) % 2 == 0 ? v[middle] : (v[middle] + v[middle + 1]) / 2
}

function seconds(us)
{
    if (us < 1e6) {
        return sprintf("%.*f", us < 1e4 ? 2 : us < 1e5 ? 1 : 0, us / 1e3)
    }
    return sprintf("%.*f", us < 1e7 ? 2 : 1, us / 1e6)
}

function range(low, high)
{
    # One unit for both: that of the larger.
    if (high < 1e6) {
        return seconds(low) ".." seconds(high) " ms"
    }
    return sprintf("%.2f..%.2f s", low / 1e6, high / 1e6)
}

function rate_text(per_second)
{
    if (amount == 0) {
        return ""
    }
    if (unit == "MB/s") {
        return sprintf("%.0f MB/s", per_second / 1e6)
    }
    return sprintf("%.0f %s", per_second, unit)
}

# "12.3 (11.0..14.1)", "1" for what it refers to itself, or why not.
function ratio_text(    spread, other_spread)
{
    if (relation == "none") {
        return ""
    }
    if (relation == "self") {
        return "1"
    }
    if (runs < 2 || first < 2) {
        return "- (run once)"
    }
    spread = wall[NR] - wall[first + 1]
    other_spread = wall[first] - wall[1]
    if (other_spread > spread) {
        spread = other_spread
    }
    if (spread >= middle_us - reference_us &&
        spread >= reference_us - middle_us) {
        return "- (within the spread)"
    }
    ratio_shown = 1
    return sprintf("%.3g (%.3g..%.3g)", ratio, low, high)
}

function verdict_text(    part, value, met, at_most)
{
    if (target == "") {
        return ""
    }
    split(target, part, /[<>]=/)
    at_most = target ~ /</
    if (part[1] == "ratio") {
        met = at_most ? ratio <= part[2] : ratio >= part[2]
        # That there is a difference need not be shown for "not slower than".
        if (!ratio_shown && !(met && (at_most || part[2] < 1))) {
            return "target " part[2] ": not decided"
        }
    } else if (part[1] == "rate") {
        met = per_second >= part[2]
    } else if (part[1] == "mib") {
        met = peak / 1024 <= part[2]
    } else {
        met = middle_us / 1e3 <= part[2]
    }
    value = part[1] == "ratio" ? part[2] : \
            part[1] == "rate" ? rate_text(part[2]) : part[2] " " \
            (part[1] == "mib" ? "MiB" : "ms")
    return "target " value ": " (met ? "met" : "MISSED")
}

BEGIN {
    if (heading) {
        print_line("", "runs", "median", "min..max", "rate", "memory",
                   "ratio", "")
        exit
    }
}

{
    wall[NR] = $1
}

NR > first {
    processor += $2
    peak = $3 > peak ? $3 : peak
}

END {
    if (heading) {
        exit
    }
    runs = NR - first
    sort(wall, 1, first)
    sort(wall, first + 1, NR)
    reference_us = median(wall, 1, first)
    middle_us = median(wall, first + 1, NR)
    ratio = middle_us / reference_us
    low = wall[first + 1] / wall[first]
    high = wall[NR] / wall[1]
    per_second = amount / (middle_us / 1e6)

    ratio_column = ratio_text()
    verdict = verdict_text()
    print_line(what, runs, seconds(middle_us) (middle_us < 1e6 ? " ms" : " s"),
               range(wall[first + 1], wall[NR]), rate_text(per_second),
               sprintf("%.0f MiB", peak / 1024), ratio_column, verdict)
    printf "%s,\"%s\",%d,%.0f,%.0f,%.0f,%.0f,%d,%.0f,%s,", section, what,
           runs, middle_us, wall[first + 1], wall[NR], processor / runs,
           peak, amount == 0 ? 0 : per_second, unit >>csv
    if (ratio_shown) {
        printf "%.3f,%.3f,%.3f", ratio, low, high >>csv
    } else {
        printf ",," >>csv
    }
    printf ",%s,%s\n", target, verdict >>csv
}
