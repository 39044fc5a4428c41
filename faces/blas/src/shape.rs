//! Writes the functions that stand between a routine's symbols and the routine: each takes the standard's
//! arguments, checks them, and calls the routine with views of the caller's memory.
//!
//! `shapes! { at: NAME<T>(ARGUMENT: KIND, ...) for (VIEW, ...) { CHECKS } (VALUE, ...); ... }` makes
//! functions that do the checks, which return where there is nothing to do, and then call the routine, which
//! takes the views, with the values. `at` is the call's [`CallSite`](crate::site::CallSite).

/// The shapes of a level.
macro_rules! shapes {
    ($at:ident: $(
        $(#[$more:meta])*
        $name:ident<$($number:ident),+>($($argument:ident: $kind:ty),* $(,)?)
        for ($($view:ty),*) { $($check:tt)* } ($($value:expr),*);
    )*) => { $(
        $(#[$more])*
        pub(crate) unsafe fn $name<$($number: Scalar),+>(
            $at: CallSite,
            routine: impl FnOnce($($view),*) -> Result<(), Error>,
            $($argument: $kind),*
        ) -> Option<()> {
            $($check)*
            // SAFETY: the standard's arguments, checked.
            sound(unsafe { routine($($value),*) });
            Some(())
        }
    )* };
}

pub(crate) use shapes;
