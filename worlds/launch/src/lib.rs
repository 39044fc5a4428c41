//! Who am I, where are the others: a job of ranks, whoever started them.
