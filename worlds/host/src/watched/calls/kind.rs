//! The calls of MPI that are noted, and which members of a communicator each of them needs.

/// Declares the calls by the names that C programs know.
macro_rules! kinds {
    ($($name:ident $needs:ident)*) => {
        /// A call of MPI that may wait.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        #[expect(missing_docs, non_camel_case_types, reason = "the names are MPI's, without the prefix")]
        pub enum MpiCall { $($name),* }

        impl MpiCall {
            /// All of them, in the order of their numbers on the page.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The name of the function in C.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => concat!("MPI_", stringify!($name))),* }
            }

            /// What the call needs of others.
            pub fn needs(self) -> CallNeeds {
                match self { $(Self::$name => CallNeeds::$needs),* }
            }
        }
    };
}

/// What a call needs of others before it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallNeeds {
    /// Each message that it waits for.
    AllMessages,
    /// One of the messages that it waits for.
    OneMessage,
    /// All members of the communicator.
    Members,
    /// The root, and members that pass its data on.
    Root,
    /// Some of the members; the root needs all of them.
    RootNeedsMembers,
    /// Some of the members.
    SomeMembers,
    /// All ranks, at the beginning and at the end.
    Job,
}

kinds! {
    Send AllMessages Ssend AllMessages Rsend AllMessages Bsend AllMessages Recv AllMessages
    Sendrecv AllMessages Sendrecv_replace AllMessages Probe AllMessages Mprobe AllMessages
    Wait AllMessages Waitall AllMessages Waitany OneMessage Waitsome OneMessage
    Barrier Members Allreduce Members Allgather Members Allgatherv Members Alltoall Members Alltoallv Members
    Alltoallw Members Reduce_scatter Members Reduce_scatter_block Members
    Bcast Root Scatter Root Scatterv Root
    Reduce RootNeedsMembers Gather RootNeedsMembers Gatherv RootNeedsMembers
    Scan SomeMembers Exscan SomeMembers
    Comm_dup Members Comm_dup_with_info Members Comm_split Members Comm_split_type Members Comm_create Members
    Cart_create Members Cart_sub Members Comm_free SomeMembers
    Init Job Init_thread Job Finalize Job
}

impl MpiCall {
    /// Returns whether it is a call of all members of a communicator.
    pub fn is_collective(self) -> bool {
        !matches!(self.needs(), CallNeeds::AllMessages | CallNeeds::OneMessage | CallNeeds::Job)
    }

    pub(super) fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}
