//! The code that a thread executes, or the kernel's function in which it sleeps.
use crate::advise::symbols::{self, CodeFile};
use foregather_host::watched::{code, pointer, task};
use foregather_machine::ThreadId;

/// A name for where a thread is: function and file, and what it sleeps in. `None` if the system shows
/// nothing.
pub(super) fn of(process: u32, thread: ThreadId) -> Option<String> {
    let function = pointer::instruction(process, thread).and_then(|address| named(process, address));
    let asleep = task::kernel_function(process, thread);
    match (function, asleep) {
        (Some(function), Some(kernel)) => Some(format!("{function}, {kernel}")),
        (function, kernel) => function.or(kernel),
    }
}

/// The name of the function at an address of a process, without its file.
pub(super) fn function(process: u32, address: u64) -> Option<String> {
    let named = named(process, address)?;
    Some(named.split_once(" (").map_or(named.clone(), |(function, _)| function.to_owned()))
}

fn named(process: u32, address: u64) -> Option<String> {
    let mappings = code::read(process);
    let mapping = code::find(&mappings, address)?;
    let file = CodeFile { path: mapping.path.clone(), inode: mapping.inode };
    let name = symbols::names(&file, &[address - mapping.from + mapping.offset]).pop().flatten();
    Some(symbols::function(&file, name).label())
}
