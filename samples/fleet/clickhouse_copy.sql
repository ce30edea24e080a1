-- Copies the tables of a lake into ClickHouse's own storage, for the queries of docs/fleet.md: they
-- then do not open thousands of files. Run it again for what has been added since.
CREATE DATABASE IF NOT EXISTS fleet_copy;
CREATE OR REPLACE TABLE fleet_copy.run ENGINE = MergeTree ORDER BY (job, date, host, rank) AS
    SELECT * FROM fleet.run;
CREATE OR REPLACE TABLE fleet_copy.iteration ENGINE = MergeTree ORDER BY (job, date, host, rank) AS
    SELECT * FROM fleet.iteration;
CREATE OR REPLACE TABLE fleet_copy.kernel_summary ENGINE = MergeTree ORDER BY (job, date, host, rank) AS
    SELECT * FROM fleet.kernel_summary;
CREATE OR REPLACE TABLE fleet_copy.api_summary ENGINE = MergeTree ORDER BY (job, date, host, rank) AS
    SELECT * FROM fleet.api_summary;
CREATE OR REPLACE TABLE fleet_copy.layer ENGINE = MergeTree ORDER BY (job, date, host, rank) AS
    SELECT * FROM fleet.layer;
CREATE OR REPLACE TABLE fleet_copy.advice ENGINE = MergeTree ORDER BY (job, date, host, rank) AS
    SELECT * FROM fleet.advice;
CREATE OR REPLACE TABLE fleet_copy.collective ENGINE = MergeTree ORDER BY (job, date, host, rank) AS
    SELECT * FROM fleet.collective;
