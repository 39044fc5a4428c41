//! Ranks with separate memories, or threads that behave like them: threads of `foregather_dsm`, over any
//! fabric.
use super::elements::Elements;
use super::plain::SharedElement;
use core::fmt::Display;
use core::panic::Location;
use foregather_dsm::memory::{self as dsm, Call, Settings};
use foregather_dsm::views::{Backend, PAGE, Room};
use foregather_machine::{Cause, Clock, Error, Nanos, Rank};
use foregather_message::collective::Element;
use foregather_shm::{Lane, Process};
use foregather_thread::Thread;

/// The thread of a rank, for each fabric.
#[derive(Clone, Copy)]
pub(super) enum Views<'a> {
    Thread(&'a dsm::Thread<'a, Lane<Thread>>),
    Process(&'a dsm::Thread<'a, Lane<Process>>),
    Cluster(&'a dsm::Thread<'a, foregather_ofi::Lane>),
    Mpi(&'a dsm::Thread<'a, foregather_mpi::Lane>),
}

macro_rules! from {
    ($($variant:ident($lane:ty),)*) => {$(
        impl<'a> From<&'a dsm::Thread<'a, $lane>> for Views<'a> {
            fn from(thread: &'a dsm::Thread<'a, $lane>) -> Self {
                Self::$variant(thread)
            }
        }
    )*};
}

from! {
    Thread(Lane<Thread>),
    Process(Lane<Process>),
    Cluster(foregather_ofi::Lane),
    Mpi(foregather_mpi::Lane),
}

macro_rules! over {
    ($views:expr, $thread:ident => $what:expr) => {
        match $views {
            Views::Thread($thread) => $what,
            Views::Process($thread) => $what,
            Views::Cluster($thread) => $what,
            Views::Mpi($thread) => $what,
        }
    };
}

/// Returns the settings for a rank with that memory: reserved at first, and filled as it is used.
pub(super) fn settings(room: Room) -> Settings {
    Settings { bytes: room.bytes, views: room.views, ..Settings::default() }
}

impl Views<'_> {
    pub(super) fn rank(self) -> Rank {
        over!(self, thread => thread.rank())
    }

    pub(super) fn size(self) -> u32 {
        over!(self, thread => thread.ranks())
    }

    pub(super) fn meet(self, call: Call) -> Result<(), Error> {
        over!(self, thread => thread.agree(call))
    }

    /// Takes two barriers, because a reduction alone could not detect that ranks reduce different types.
    pub(super) fn reduce<T: Element>(self, call: Call, value: T, combine: impl Fn(T, T) -> T) -> Result<T, Error> {
        self.meet(call)?;
        over!(self, thread => thread.reduce(value, combine))
    }

    pub(super) fn locked<R>(self, lock: u32, deadline: Nanos, act: impl FnOnce() -> R) -> Result<R, Error> {
        over!(self, thread => thread.locked_until(lock, deadline, act))
    }

    pub(super) fn now(self) -> Nanos {
        over!(self, thread => thread.messenger().now())
    }

    /// Sets the deadline of collective calls.
    pub(super) fn set_deadline(self, deadline: Nanos) {
        over!(self, thread => thread.messenger().set_deadline(deadline));
    }

    /// Allocates an array whose unit of transfer is about a page.
    pub(super) fn array<T: SharedElement>(
        self,
        call: Call,
        len: usize,
        place: &'static Location<'static>,
    ) -> Result<Elements<T>, Error> {
        let unit = (PAGE / size_of::<T>().max(1)).clamp(1, len.max(1));
        self.allocate(call, (len, unit), place, format_args!("{len} elements")).map(Elements::Views)
    }

    /// Allocates rows; the unit of transfer is a row.
    pub(super) fn rows<T: SharedElement>(
        self,
        call: Call,
        (rows, columns): (usize, usize),
        place: &'static Location<'static>,
    ) -> Result<Elements<T>, Error> {
        let len = rows.saturating_mul(columns);
        self.allocate(call, (len, columns), place, format_args!("{rows} rows of {columns} elements")).map(Elements::Views)
    }

    /// Allocates elements. If there is not enough memory, the error names the call at `place` and how to get
    /// more.
    pub(super) fn allocate<T: SharedElement>(
        self,
        call: Call,
        (len, unit): (usize, usize),
        place: &'static Location<'static>,
        what: impl Display,
    ) -> Result<dsm::Array<T>, Error> {
        over!(self, thread => thread.array_by(call, (len, unit), place)).map_err(|error| match error.cause() {
            Cause::Unavailable { .. } => {
                let what = format!("room for {what} of {} bytes, asked for at {place},", size_of::<T>());
                Cause::Unavailable { what, remedy: more_room() }.into()
            }
            _ => error,
        })
    }
}

fn more_room() -> String {
    match Backend::chosen() {
        (_, None) => "share less, or run where more memory is free: each rank can share a quarter of that".to_owned(),
        (_, Some(refusal)) => {
            format!(
                "share less, raise the sysctl vm.max_map_count, or make userfaultfd work, which needs none of that ({refusal})"
            )
        }
    }
}
