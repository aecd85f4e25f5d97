"""Runs a statement of SQL by DuckDB's Python package: what `duckdb -c` does,
where there is the package and no command."""

import sys

import duckdb

duckdb.sql(sys.argv[1])
