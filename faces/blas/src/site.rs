//! The present call: its routine, the order of its matrices, and how a wrong argument is reported.
use crate::xerbla;
use foregather_blas::{Error, Order};

/// A call of one of this library's symbols.
#[derive(Clone, Copy)]
pub(crate) struct CallSite {
    face: Face,
    order: Order,
}

/// The face whose rules hold, with the routine's name as the face's error handler takes it.
#[derive(Clone, Copy)]
enum Face {
    /// Lower case, `xerbla_` for 32-bit integers.
    Fortran(&'static str),
    /// Lower case, `xerbla_64_`.
    FortranWide(&'static str),
    /// With a nought at the end; and the number to add to positions of the Fortran list.
    C(&'static str, u32),
}

impl CallSite {
    /// A Fortran symbol.
    pub(crate) const fn fortran(name: &'static str, int_bytes: usize) -> Self {
        let face = if int_bytes == 8 { Face::FortranWide(name) } else { Face::Fortran(name) };
        Self { face, order: Order::Columns }
    }

    /// A C symbol without an order.
    pub(crate) const fn c(name: &'static str) -> Self {
        Self { face: Face::C(name, 0), order: Order::Columns }
    }

    /// A C symbol with an order before all other arguments; reports an invalid order and returns `None`.
    pub(crate) fn ordered(name: &'static str, order: Option<Order>) -> Option<Self> {
        let Some(order) = order else {
            Self::c(name).refuse(1);
            return None;
        };
        Some(Self { face: Face::C(name, 1), order })
    }

    /// The order of the caller's matrices.
    pub(crate) fn order(self) -> Order {
        self.order
    }

    /// The least leading dimension of a matrix.
    pub(crate) fn lead(self, rows: isize, cols: isize) -> isize {
        1.max(if self.order == Order::Columns { rows } else { cols })
    }

    /// An option at a position of the Fortran list; reports an invalid one and returns `None`.
    pub(crate) fn choice<O>(self, position: u32, option: Option<O>) -> Option<O> {
        if option.is_none() {
            self.refuse(position);
        }
        option
    }

    /// Reports the first of these that is true, at its position in the Fortran list, and returns `None`.
    pub(crate) fn check(self, wrong: &[(u32, bool)]) -> Option<()> {
        let (position, _) = match wrong.iter().find(|(_, wrong)| *wrong) {
            None => return Some(()),
            Some(first) => first,
        };
        self.refuse(*position);
        None
    }

    // No value with a destructor may be alive from here on: programs install handlers that jump out of the
    // call (R's does).
    #[cold]
    fn refuse(self, position: u32) {
        match self.face {
            Face::Fortran(name) => xerbla::fortran(name, position),
            Face::FortranWide(name) => xerbla::fortran_wide(name, position),
            Face::C(name, before) => xerbla::c(name, position + before),
        }
    }
}

/// The library's result for arguments that have been checked here.
///
/// # Panics
/// If the library refuses them: then a check is missing.
pub(crate) fn sound<V>(result: Result<V, Error>) -> V {
    result.unwrap_or_else(|error| panic!("foregather_blas has let an argument pass that it cannot take: {error}"))
}
