//! The kinds of handles. A kind's number is in its handles, so no two kinds have the same.
use crate::barrier::OneMember;
use crate::ends::{ReadingEnd, WritingEnd};
use crate::lent::Lent;
use crate::memory::{AnyArray, Sharer};
use crate::shared::OneSharedMember;
use crate::slots::Thing;
use crate::team::AnyTeam;
use foregather::processes::SharedBarrier;
use foregather::{Barrier, Broadcast, Communicator, Locked};

/// A kind a line: its number, its name in errors, whether a child process may use the handle after a fork.
macro_rules! kinds {
    ($($kind:literal $name:literal $inherited:literal $thing:ty;)*) => {$(
        impl Thing for $thing {
            const KIND: u64 = $kind;
            const NAME: &'static str = $name;
            const INHERITED: bool = $inherited;
        }
    )*};
}

kinds! {
    1 "barrier" false Barrier;
    2 "barrier's member" false OneMember;
    3 "team" true AnyTeam;
    4 "broadcast" true Broadcast;
    5 "writer" false WritingEnd;
    6 "reader" false ReadingEnd;
    7 "shared barrier" true SharedBarrier;
    8 "shared barrier's member" false OneSharedMember;
    9 "job's rank" false Lent<Communicator>;
    10 "rank of shared memory" false Lent<Sharer>;
    11 "shared array" false Lent<AnyArray>;
    // Its value is of no use: what it guards are arrays.
    12 "shared lock" false Lent<Locked<'static, u8>>;
}
