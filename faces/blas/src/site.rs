//! The call that is being answered: which routine, in whose order, and how a wrong argument is reported.
use crate::xerbla;
use foregather_blas::{Error, Order};

/// A call of one of our symbols.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    face: Face,
    order: Order,
}

/// Whose rules hold, and the routine's name as its error handler wants it.
#[derive(Clone, Copy)]
enum Face {
    /// Lower case, `xerbla_` for 32-bit integers.
    Fortran(&'static str),
    /// Lower case, `xerbla_64_`.
    FortranWide(&'static str),
    /// With its nought at the end; what the positions of the Fortran list must be raised by.
    C(&'static str, u32),
}

impl Site {
    /// A Fortran symbol.
    pub(crate) const fn fortran(name: &'static str, int_bytes: usize) -> Self {
        let face = if int_bytes == 8 { Face::FortranWide(name) } else { Face::Fortran(name) };
        Self { face, order: Order::Columns }
    }

    /// A C symbol without an order.
    pub(crate) const fn c(name: &'static str) -> Self {
        Self { face: Face::C(name, 0), order: Order::Columns }
    }

    /// A C symbol with an order before all other arguments; `None` if the order is none, which has been reported.
    pub(crate) fn ordered(name: &'static str, order: Option<Order>) -> Option<Self> {
        let Some(order) = order else {
            Self::c(name).refuse(1);
            return None;
        };
        Some(Self { face: Face::C(name, 1), order })
    }

    /// In which order the caller's matrices lie.
    pub(crate) fn order(self) -> Order {
        self.order
    }

    /// The least leading dimension of a matrix.
    pub(crate) fn lead(self, rows: isize, cols: isize) -> isize {
        1.max(if self.order == Order::Columns { rows } else { cols })
    }

    /// An option at a position of the Fortran list, unless it was none, which has been reported.
    pub(crate) fn choice<O>(self, position: u32, option: Option<O>) -> Option<O> {
        if option.is_none() {
            self.refuse(position);
        }
        option
    }

    /// `None` if any of these is true, the first of which has been reported at its position in the Fortran list.
    pub(crate) fn check(self, wrong: &[(u32, bool)]) -> Option<()> {
        let (position, _) = match wrong.iter().find(|(_, wrong)| *wrong) {
            None => return Some(()),
            Some(first) => first,
        };
        self.refuse(*position);
        None
    }

    // No value with a destructor may be alive from here on: programs put handlers in place that jump out of the call (R's does).
    #[cold]
    fn refuse(self, position: u32) {
        match self.face {
            Face::Fortran(name) => xerbla::fortran(name, position),
            Face::FortranWide(name) => xerbla::fortran_wide(name, position),
            Face::C(name, before) => xerbla::c(name, position + before),
        }
    }
}

/// What the library below returns for arguments that have been checked here.
///
/// # Panics
/// If it found fault with them: then a check is missing.
pub(crate) fn sound<V>(result: Result<V, Error>) -> V {
    result.unwrap_or_else(|error| panic!("foregather_blas has let an argument pass that it cannot take: {error}"))
}
