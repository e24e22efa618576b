//! The bookkeeping pages of a tablespace.
