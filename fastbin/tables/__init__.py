"""Tables, whatever holds their rows: files, Arrow and data frames, DuckDB, Spark."""
