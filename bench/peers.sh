# peers.sh: other programs that count the words of a file, as bench/run runs
# them, each in its fastest form of those tried (see NOTES.md). They print
# word and count in any order; tokenizer=ascii gives the same words.

peer_mawk() { # FILE ...
    LC_ALL=C mawk '
        BEGIN { RS = "[^A-Za-z0-9]+" }
        $0 != "" { count[tolower($0)]++ }
        END { for (word in count) print word "\t" count[word] }' "$@"
}

# The same with the letters left to tr, which has a processor of its own then.
peer_tr_mawk() { # FILE
    export LC_ALL=C
    tr -cs A-Za-z0-9 '\n' <"$1" | tr A-Z a-z | mawk '
        $0 != "" { count[$0]++ }
        END { for (word in count) print word "\t" count[word] }'
}

# Prints the count in front, and a line for the empty word.
peer_sort() { # FILE
    export LC_ALL=C
    tr -cs A-Za-z0-9 '\n' <"$1" | tr A-Z a-z | sort | uniq -c
}

# DuckDB as a command or as a Python package, whichever there is.
has_duckdb() {
    command -v duckdb >/dev/null || python3 -c 'import duckdb' 2>/dev/null
}
run_duckdb() { # SQL
    if command -v duckdb >/dev/null; then
        duckdb -c "$1"
    else
        python3 "$here/run_duckdb.py" "$1"
    fi
}

# A line is read as a CSV record of one column, since no text has a 0x1f.
peer_duckdb() { # FILE
    run_duckdb "
        SET threads = 2;
        COPY (
            SELECT word, count(*) FROM (
                SELECT lower(unnest(regexp_split_to_array(
                    line, '[^A-Za-z0-9]+'))) AS word
                FROM read_csv('$1', columns = {'line': 'VARCHAR'},
                    auto_detect = false, header = false,
                    delim = E'\x1f', quote = '', escape = ''))
            WHERE word <> '' GROUP BY word)
        TO '/dev/stdout' (FORMAT csv, DELIMITER E'\t', HEADER false)"
}

# No peer but an oracle: the words of tokenizer=unicode, by the Unicode tables
# of grep and the C library. Leaves out what that text does not have: NFC and
# ignored characters.
oracle_unicode() { # FILE
    local letter='(?!\x{2bc})[\pL\pN]' inner='(?!\x{2bc})[\pL\pM\pN]'
    export LC_ALL=C.UTF-8
    grep -aoP "$letter($inner|[\x27\x{2019}\x{2bc}]$inner)*" "$1" |
        sed "s/[’ʼ]/'/g; s/.*/\L&/" |
        LC_ALL=C mawk '
            { count[$0]++ }
            END { for (word in count) print word "\t" count[word] }'
}

export -f peer_mawk peer_tr_mawk peer_sort peer_duckdb run_duckdb oracle_unicode
