//! The ways to open and close a page of a view.

foregather_machine::named! {
    /// How pages are closed, and how accesses to them are detected.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Backend {
        /// userfaultfd in SIGBUS mode: the faulting thread sends the request itself. This is the default,
        /// because it never splits a mapping.
        Userfault = "userfaultfd",
        /// userfaultfd with a thread that sends requests on behalf of faulting threads. Two wake-ups slower,
        /// but system calls on closed pages work. Must be selected explicitly.
        UserfaultThread = "userfaultfd-thread",
        /// mprotect and SIGSEGV: works everywhere, but every closed page may cost a mapping, of which the
        /// kernel allows 65530.
        Mprotect = "mprotect",
    }
}

impl Backend {
    /// Returns the backend with that name.
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Userfault, Self::UserfaultThread, Self::Mprotect].into_iter().find(|backend| backend.name() == name)
    }
}
