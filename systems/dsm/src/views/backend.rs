//! How a page of a view is opened and closed on this machine, and why the better way is not available.
use super::layout::Span;
use super::space::{Shape, Space};
use crate::Access;
use foregather_machine::Error;
use std::sync::OnceLock;

/// How pages are closed, and how touches are learned of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// userfaultfd in SIGBUS mode: the faulting thread asks. The default: no mapping is ever split.
    Userfault,
    /// userfaultfd with a thread that asks on behalf of the faulting one. Slower by the two wakes, but system
    /// calls on closed pages work. It has to be asked for.
    UserfaultThread,
    /// mprotect and SIGSEGV: everywhere, but every closed page may cost a mapping: the kernel allows 65530 of
    /// them.
    Mprotect,
}

impl Backend {
    /// The better of the two backends that faulting threads serve; and why not userfaultfd, if it is the
    /// other. Tried once a process.
    pub fn chosen() -> (Self, Option<Error>) {
        static REFUSAL: OnceLock<Option<Error>> = OnceLock::new();
        match REFUSAL.get_or_init(|| Self::Userfault.available().err()) {
            None => (Self::Userfault, None),
            Some(refusal) => (Self::Mprotect, Some(refusal.clone())),
        }
    }

    /// Whether it works here: tries all of its transitions on a page.
    ///
    /// # Errors
    /// What this machine lacks or forbids, and what to do about it.
    pub fn available(self) -> Result<(), Error> {
        let space = Space::new(Shape { backend: Some(self), ..Shape::new(1, 1) })?;
        let span = Span { view: 0, page: 0, pages: 1 };
        space.open(span, Access::None, Access::Read)?;
        space.open(span, Access::Read, Access::Write)?;
        space.downgrade(span)?;
        space.close(span)?;
        space.open(span, Access::None, Access::Write)?;
        Ok(())
    }

    /// Its name in results and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Userfault => "userfaultfd",
            Self::UserfaultThread => "userfaultfd-thread",
            Self::Mprotect => "mprotect",
        }
    }

    /// The backend of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Userfault, Self::UserfaultThread, Self::Mprotect].into_iter().find(|backend| backend.name() == name)
    }
}
