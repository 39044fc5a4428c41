//! The names that types of many packages bear because they mean the same in all of them.

/// A name, and what it means everywhere. One that means two things is no entry: give the types two names.
pub(super) const SHARED: [(&str, &str); 18] = [
    ("Counts", "how often each of some things happened"),
    ("Distribution", "how values are spread"),
    ("Entry", "one element of a table or a list"),
    ("Event", "something that happens at one moment"),
    ("Header", "what stands first in a file or a segment and says what it is"),
    ("Host", "one computer of several, with what it holds"),
    ("Inbox", "what has come and was not taken yet"),
    ("Lane", "one thread's end of a fabric"),
    ("Measured", "what a measurement gave"),
    ("Placement", "on which processors threads run"),
    ("Plan", "what is to be done, as it stands before it begins"),
    ("Row", "one line of a table of results"),
    ("Sample", "one observation of many"),
    ("Settings", "what a user may choose of a part of the house"),
    ("Shared", "what several threads use at once"),
    ("State", "where a protocol or a machine stands"),
    ("Thread", "one thread of execution"),
    ("Wait", "one wait, while it goes on"),
];
