-- The tables of a lake in ClickHouse, for the queries of docs/fleet.md. The path is relative to the
-- server's user_files_path, or to the folder in which clickhouse-local runs. ClickHouse looks at the
-- files once for the columns, so a run has to be there.
CREATE DATABASE IF NOT EXISTS fleet;
CREATE OR REPLACE VIEW fleet.run AS SELECT * REPLACE (CAST(date AS Date) AS date)
    FROM file('lake/runs/*/*/*/*/run.parquet', Parquet);
CREATE OR REPLACE VIEW fleet.iteration AS SELECT *
    FROM file('lake/runs/*/*/*/*/iteration.parquet', Parquet);
CREATE OR REPLACE VIEW fleet.kernel_summary AS SELECT *
    FROM file('lake/runs/*/*/*/*/kernel_summary.parquet', Parquet);
CREATE OR REPLACE VIEW fleet.api_summary AS SELECT *
    FROM file('lake/runs/*/*/*/*/api_summary.parquet', Parquet);
CREATE OR REPLACE VIEW fleet.layer AS SELECT *
    FROM file('lake/runs/*/*/*/*/layer.parquet', Parquet);
CREATE OR REPLACE VIEW fleet.advice AS SELECT *
    FROM file('lake/runs/*/*/*/*/advice.parquet', Parquet);
CREATE OR REPLACE VIEW fleet.collective AS SELECT *
    FROM file('lake/runs/*/*/*/*/collective.parquet', Parquet);
