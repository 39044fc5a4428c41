//! The chapters of the book whose Rust blocks are run, and the project's README: each block is a doc test.

macro_rules! chapters {
    ($($name:ident)*) => {$(
        #[doc = include_str!(concat!("../../docs/", stringify!($name), ".md"))]
        mod $name {}
    )*};
}

chapters! { waiting barriers teams messages queues shared errors }

#[doc = include_str!("../../README.md")]
mod readme {}
