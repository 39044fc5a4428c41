//! What is made of results, tried from outside: documents and their schemas, tables, and the page.
mod plans;
mod report;
mod results;
mod sample;
mod skew_and_noise;
mod snapshots;
mod timelines;
