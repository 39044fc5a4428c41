//! The ways to open and close a page of a view.

foregather_machine::named! {
    /// How pages are closed, and how touches are learned of.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Backend {
        /// userfaultfd in SIGBUS mode: the faulting thread asks. The default: no mapping is ever split.
        Userfault = "userfaultfd",
        /// userfaultfd with a thread that asks on behalf of the faulting one. Slower by the two wakes, but
        /// system calls on closed pages work. It has to be asked for.
        UserfaultThread = "userfaultfd-thread",
        /// mprotect and SIGSEGV: everywhere, but every closed page may cost a mapping: the kernel allows
        /// 65530 of them.
        Mprotect = "mprotect",
    }
}

impl Backend {
    /// The backend of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Userfault, Self::UserfaultThread, Self::Mprotect].into_iter().find(|backend| backend.name() == name)
    }
}
