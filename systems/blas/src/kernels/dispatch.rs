//! Which vector unit the processor has, by its feature flags and never by its model, and loops compiled once
//! for each.
//!
//! The loops are plain Rust over slices, with sums in as many lanes as the source says: the compiler may not
//! reorder those, so a loop gives the same bits wherever its elements lie. Only the fused multiply-add
//! differs between processors.

#[cfg(target_arch = "x86_64")]
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// The vector units for which loops are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum VectorUnit {
    /// The instructions that every processor of the architecture has.
    Plain = 1,
    /// 256 bits with fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512 bits with fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// This processor's vector unit as its number, nought until the first call. One byte that says all: it needs
/// no order.
#[cfg(target_arch = "x86_64")]
static UNIT: AtomicU8 = AtomicU8::new(0);

/// This processor's vector unit: one look at one byte.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn unit() -> VectorUnit {
    const PLAIN: u8 = VectorUnit::Plain as u8;
    const AVX2: u8 = VectorUnit::Avx2 as u8;
    const AVX512: u8 = VectorUnit::Avx512 as u8;
    match UNIT.load(Relaxed) {
        AVX512 => VectorUnit::Avx512,
        AVX2 => VectorUnit::Avx2,
        PLAIN => VectorUnit::Plain,
        _ => detect_and_keep(),
    }
}

#[cfg(target_arch = "x86_64")]
#[cold]
fn detect_and_keep() -> VectorUnit {
    let unit = detect();
    UNIT.store(unit as u8, Relaxed);
    unit
}

#[cfg(target_arch = "x86_64")]
fn detect() -> VectorUnit {
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("fma") {
        return VectorUnit::Avx512;
    }
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        return VectorUnit::Avx2;
    }
    VectorUnit::Plain
}

/// Whether every processor of the architecture can fuse a multiplication with an addition.
pub(super) const PLAIN_FUSES: bool = cfg!(target_arch = "aarch64");

impl VectorUnit {
    /// Whether its registers have 512 bits.
    pub(super) const fn is_wide(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return matches!(self, Self::Avx512);
        #[cfg(not(target_arch = "x86_64"))]
        false
    }
}

/// Makes a function of a loop `body::<T, FUSED>` that runs the loop as compiled for this processor. With
/// `by is_wide` the loop is `body::<T, FUSED, WIDE>`: a property of the unit is one more parameter.
macro_rules! by_processor {
    ($(#[$doc:meta])* fn $name:ident($($arg:ident: $kind:ty),* $(,)?) $(-> $out:ty)? = $body:ident $(by $of:ident)?) => {
        $(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name<T: $crate::scalar::Scalar>($($arg: $kind),*) $(-> $out)? {
            fn plain<T: $crate::scalar::Scalar>($($arg: $kind),*) $(-> $out)? {
                $body::<T, { $crate::kernels::dispatch::PLAIN_FUSES } $(, { $crate::kernels::dispatch::VectorUnit::Plain.$of() })?>($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,fma")]
                fn avx512<T: $crate::scalar::Scalar>($($arg: $kind),*) $(-> $out)? {
                    $body::<T, true $(, { $crate::kernels::dispatch::VectorUnit::Avx512.$of() })?>($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2<T: $crate::scalar::Scalar>($($arg: $kind),*) $(-> $out)? {
                    $body::<T, true $(, { $crate::kernels::dispatch::VectorUnit::Avx2.$of() })?>($($arg),*)
                }
                // There is one call, of the chosen loop: so the function is short enough to become a part of
                // its callers.
                let chosen: unsafe fn($($kind),*) $(-> $out)? = match $crate::kernels::dispatch::unit() {
                    $crate::kernels::dispatch::VectorUnit::Avx512 => avx512::<T>,
                    $crate::kernels::dispatch::VectorUnit::Avx2 => avx2::<T>,
                    $crate::kernels::dispatch::VectorUnit::Plain => plain::<T>,
                };
                // SAFETY: the processor has the instructions for which the chosen loop was compiled.
                unsafe { chosen($($arg),*) }
            }
            #[cfg(not(target_arch = "x86_64"))]
            plain::<T>($($arg),*)
        }
    };
}
pub(super) use by_processor;

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn the_byte_says_what_the_processor_has() {
        assert_eq!(unit(), detect());
        assert_eq!(unit(), detect(), "kept");
        assert_eq!(UNIT.load(Relaxed), detect() as u8);
    }
}
