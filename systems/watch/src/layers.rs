//! Which layer of watching decides which cause.
use crate::causes::WaitCause;

/// What a layer knows of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knowledge {
    /// Its evidence decides.
    Decides,
    /// It sees a sign that other causes would give, too.
    Hints,
    /// It sees nothing.
    Blind,
}

impl Knowledge {
    /// As it is printed.
    pub fn label(self) -> &'static str {
        match self {
            Self::Decides => "decides",
            Self::Hints => "hints",
            Self::Blind => "blind",
        }
    }
}

/// What `/proc` alone knows of a cause, and what the preload library adds.
pub fn sight(cause: WaitCause) -> (Knowledge, Knowledge) {
    use Knowledge::{Blind, Decides, Hints};
    use WaitCause::*;
    match cause {
        Quota | Steal | Mask | Processes | OtherProgram => (Decides, Blind),
        LargePool | Hang => (Hints, Decides),
        NestedPools | TwoPools | IoBehindBarrier | LockConvoy | LateThread | TinyRegions | IdleSpin | RefusedThreads => {
            (Blind, Decides)
        }
    }
}

/// The causes of which nothing is known without the preload library.
pub fn blind_without_preload() -> impl Iterator<Item = WaitCause> {
    WaitCause::ALL.into_iter().filter(|cause| sight(*cause).0 == Knowledge::Blind)
}
