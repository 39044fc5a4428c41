//! Types that pass calls on to a part of themselves.

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
