//! Runs the Rust code blocks of the book and of the project's README as doc tests.

macro_rules! chapters {
    ($($name:ident)*) => {$(
        #[doc = include_str!(concat!("../../docs/", stringify!($name), ".md"))]
        mod $name {}
    )*};
}

chapters! { waiting barriers teams messages queues shared errors }

#[doc = include_str!("../../README.md")]
mod readme {}
