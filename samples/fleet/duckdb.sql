-- The tables of a lake in DuckDB, for the queries of docs/fleet.md. The path is relative to the
-- folder in which DuckDB runs: duckdb -init duckdb.sql
CREATE OR REPLACE VIEW run AS SELECT * FROM read_parquet(
    'lake/runs/*/*/*/*/run.parquet', hive_partitioning = true,
    hive_types = {'job': VARCHAR, 'date': DATE, 'host': VARCHAR, 'rank': INTEGER});
CREATE OR REPLACE VIEW iteration AS SELECT * FROM read_parquet(
    'lake/runs/*/*/*/*/iteration.parquet', hive_partitioning = true,
    hive_types = {'job': VARCHAR, 'date': DATE, 'host': VARCHAR, 'rank': INTEGER});
CREATE OR REPLACE VIEW kernel_summary AS SELECT * FROM read_parquet(
    'lake/runs/*/*/*/*/kernel_summary.parquet', hive_partitioning = true,
    hive_types = {'job': VARCHAR, 'date': DATE, 'host': VARCHAR, 'rank': INTEGER});
CREATE OR REPLACE VIEW api_summary AS SELECT * FROM read_parquet(
    'lake/runs/*/*/*/*/api_summary.parquet', hive_partitioning = true,
    hive_types = {'job': VARCHAR, 'date': DATE, 'host': VARCHAR, 'rank': INTEGER});
CREATE OR REPLACE VIEW layer AS SELECT * FROM read_parquet(
    'lake/runs/*/*/*/*/layer.parquet', hive_partitioning = true,
    hive_types = {'job': VARCHAR, 'date': DATE, 'host': VARCHAR, 'rank': INTEGER});
CREATE OR REPLACE VIEW advice AS SELECT * FROM read_parquet(
    'lake/runs/*/*/*/*/advice.parquet', hive_partitioning = true,
    hive_types = {'job': VARCHAR, 'date': DATE, 'host': VARCHAR, 'rank': INTEGER});
CREATE OR REPLACE VIEW collective AS SELECT * FROM read_parquet(
    'lake/runs/*/*/*/*/collective.parquet', hive_partitioning = true,
    hive_types = {'job': VARCHAR, 'date': DATE, 'host': VARCHAR, 'rank': INTEGER});
