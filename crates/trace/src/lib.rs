//! Bytes <-> logs: the formats in which executions are recorded, read and written.
