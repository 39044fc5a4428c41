//! How an argument is passed: Fortran passes everything by reference and options as letters; C passes numbers
//! and options by value, except complex numbers. A kind of argument has both ways, so the table names kinds
//! only.
use foregather_blas::{Diag, Order, Side, Trans, Uplo, c32, c64};
use std::ffi::c_int;
use std::marker::PhantomData;

/// The Fortran symbols whose integers are `I`.
pub(crate) struct Fortran<I>(PhantomData<I>);
/// The C symbols whose integers are `I`.
pub(crate) struct C<I>(PhantomData<I>);

/// A kind of argument, as the face `F` passes it.
pub(crate) trait ArgumentKind<F> {
    /// What the caller passes.
    type Raw;
    /// What it means.
    type Value;
    /// Decodes the argument.
    ///
    /// # Safety
    /// `raw` is an argument as the standard defines it: a reference points to a readable value.
    unsafe fn value(raw: Self::Raw) -> Self::Value;
}

/// A kind of result, as the face `F` returns it.
pub(crate) trait ReturnKind<F> {
    /// What the shape of the routine computes.
    type Value;
    /// What the caller gets.
    type Raw;
    /// Encodes the result.
    fn raw(value: Self::Value) -> Self::Raw;
}

/// An integer argument: a size, an increment or a leading dimension.
pub(crate) struct Int;
/// A number passed by reference in Fortran, and by value in C if it is real.
pub(crate) struct By<T>(PhantomData<T>);
/// Integers that the routine writes: pivots, or the outcome. Fortran alone has such.
pub(crate) struct Ints;
/// An option, `None` if it is invalid.
pub(crate) struct OptionArg<O>(PhantomData<O>);
/// The position of an element: from 1 in Fortran, where 0 is nowhere; from 0 in C.
pub(crate) struct Index;
/// No result.
pub(crate) struct Nothing;

/// The integers of a face.
pub(crate) trait Integer: Copy {
    /// The integer as `isize`, which is wide enough for all faces.
    fn wide(self) -> isize;
    /// The integer of an element's position.
    fn position(at: usize) -> Self;
    /// The integer that says that the argument at that position is wrong.
    fn wrong(position: u32) -> Self;
}

macro_rules! integer {
    ($($int:ty)*) => { $(
        impl Integer for $int {
            fn wide(self) -> isize {
                self as isize
            }
            fn position(at: usize) -> Self {
                at as Self
            }
            fn wrong(position: u32) -> Self {
                -(position as Self)
            }
        }
    )* };
}
integer!(i32 i64);

/// The letters and numbers of an option.
pub(crate) trait Letter: Sized {
    /// Fortran's letter, in upper case.
    fn of_letter(letter: u8) -> Option<Self>;
    /// C's number.
    fn of_code(code: c_int) -> Option<Self>;
}

macro_rules! letter {
    ($option:ident: $($variant:ident = $letter:literal $code:literal),+) => {
        impl Letter for $option {
            fn of_letter(letter: u8) -> Option<Self> {
                match letter {
                    $($letter => Some(Self::$variant),)+
                    _ => None,
                }
            }
            fn of_code(code: c_int) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}
letter!(Order: Rows = b'R' 101, Columns = b'C' 102);
letter!(Trans: No = b'N' 111, Yes = b'T' 112, Conj = b'C' 113);
letter!(Uplo: Upper = b'U' 121, Lower = b'L' 122);
letter!(Diag: Stored = b'N' 131, Unit = b'U' 132);
letter!(Side: Left = b'L' 141, Right = b'R' 142);

impl<O: Letter, I> ArgumentKind<Fortran<I>> for OptionArg<O> {
    type Raw = *const u8;
    type Value = Option<O>;
    unsafe fn value(raw: *const u8) -> Option<O> {
        // SAFETY: by this method's contract `raw` points to a Fortran string, of length one at least.
        O::of_letter(unsafe { *raw }.to_ascii_uppercase())
    }
}

impl<O: Letter, I> ArgumentKind<C<I>> for OptionArg<O> {
    type Raw = c_int;
    type Value = Option<O>;
    unsafe fn value(raw: c_int) -> Option<O> {
        O::of_code(raw)
    }
}

impl<I: Integer> ArgumentKind<Fortran<I>> for Int {
    type Raw = *const I;
    type Value = isize;
    unsafe fn value(raw: *const I) -> isize {
        // SAFETY: by this method's contract `raw` points to a readable integer.
        unsafe { *raw }.wide()
    }
}

impl<I: Integer> ArgumentKind<Fortran<I>> for Ints {
    type Raw = *mut I;
    type Value = *mut I;
    unsafe fn value(raw: *mut I) -> *mut I {
        raw
    }
}

impl<I: Integer> ArgumentKind<C<I>> for Int {
    type Raw = I;
    type Value = isize;
    unsafe fn value(raw: I) -> isize {
        raw.wide()
    }
}

impl<T: Copy, I> ArgumentKind<Fortran<I>> for By<T> {
    type Raw = *const T;
    type Value = T;
    unsafe fn value(raw: *const T) -> T {
        // SAFETY: by this method's contract `raw` points to a readable number.
        unsafe { *raw }
    }
}

macro_rules! by_value {
    ($($real:ty)*) => { $(
        impl<I> ArgumentKind<C<I>> for By<$real> {
            type Raw = $real;
            type Value = $real;
            unsafe fn value(raw: $real) -> $real {
                raw
            }
        }
    )* };
}
by_value!(f32 f64);

macro_rules! by_reference {
    ($($complex:ty)*) => { $(
        impl<I> ArgumentKind<C<I>> for By<$complex> {
            type Raw = *const $complex;
            type Value = $complex;
            unsafe fn value(raw: *const $complex) -> $complex {
                // SAFETY: by this method's contract `raw` points to a readable number.
                unsafe { *raw }
            }
        }
    )* };
}
by_reference!(c32 c64);

macro_rules! as_it_is {
    ($($pointer:ty)*) => { $(
        impl<T, F> ArgumentKind<F> for $pointer {
            type Raw = Self;
            type Value = Self;
            unsafe fn value(raw: Self) -> Self {
                raw
            }
        }
    )* };
}
as_it_is!(*const T *mut T);

impl<F> ReturnKind<F> for Nothing {
    type Value = Option<()>;
    type Raw = ();
    fn raw(_: Option<()>) {}
}

macro_rules! answer {
    ($($number:ty)*) => { $(
        impl<F> ReturnKind<F> for $number {
            type Value = Self;
            type Raw = Self;
            fn raw(value: Self) -> Self {
                value
            }
        }
    )* };
}
answer!(f32 f64 c32 c64);

impl<I: Integer> ReturnKind<Fortran<I>> for Index {
    type Value = Option<usize>;
    type Raw = I;
    fn raw(value: Option<usize>) -> I {
        I::position(value.map_or(0, |at| at + 1))
    }
}

impl<I> ReturnKind<C<I>> for Index {
    type Value = Option<usize>;
    type Raw = usize;
    fn raw(value: Option<usize>) -> usize {
        value.unwrap_or(0)
    }
}
