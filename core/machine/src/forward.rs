//! What types have of a part of themselves: calls that they pass on to it, and how they are shown.

/// Methods that do what those of the same name do on a part of `self`.
///
/// ```ignore
/// impl Member for Napping {
///     forward! { |this| this.lane => fn rank() -> Rank; fn size() -> u32; }
/// }
/// ```
#[macro_export]
macro_rules! forward {
    (|$this:ident| $part:expr => $( fn $name:ident $(<$Any:ident>)? ($($argument:ident: $kind:ty),*) $(-> $result:ty)?; )*) => { $(
        #[inline]
        fn $name $(<$Any>)? (&self, $($argument: $kind),*) $(-> $result)? {
            let $this = self;
            $part.$name($($argument),*)
        }
    )* };
}

/// Implements [`Clock`](crate::Clock) for a type, with its generic parameters, by the clock that is a part of
/// it: `clock_by! { [C: Cpu] Signaller<C>, |this| this.cpu }`.
#[macro_export]
macro_rules! clock_by {
    ([$($generic:tt)*] $type:ty, |$this:ident| $part:expr) => {
        impl<$($generic)*> $crate::Clock for $type {
            $crate::forward! { |$this| $part =>
                fn now() -> $crate::Nanos;
                fn delay(span: $crate::Nanos) -> impl Future<Output = ()>;
                fn delay_until(moment: $crate::Nanos) -> impl Future<Output = $crate::Nanos>;
            }
        }
    };
}

/// Implements `Debug` for a type, with its generic parameters, by its name and what is worth showing of it:
/// `debug_by! { [C: Cpu] Signaller<C>, "Signaller", |this| rank: this.rank }`.
#[macro_export]
macro_rules! debug_by {
    ([$($generic:tt)*] $type:ty, $name:literal, |$this:ident| $($field:ident: $value:expr),*) => {
        impl<$($generic)*> core::fmt::Debug for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let $this = self;
                f.debug_struct($name)$(.field(stringify!($field), &$value))*.finish_non_exhaustive()
            }
        }
    };
}
