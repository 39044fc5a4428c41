//! Makes symbols from lines of the table.
//!
//! `entries! { "NODE" { fn NAME NAME .. (ARGUMENTS) -> RESULT { .. } .. } .. }` exports each name as a jump
//! through a slot, which is this library's own function unless the library stands aside ([`crate::load`]): so
//! a call that is passed on costs a jump, whatever its arguments are. `TABLE` has all of them. `pairs!` and
//! `numbers!` are the same for functions that Fortran calls with addresses.
use core::sync::atomic::AtomicPtr;

/// One symbol.
#[derive(Debug)]
pub struct ExportedSymbol {
    /// Its name.
    pub name: &'static str,
    /// The version node that programs find it under.
    pub node: &'static str,
    /// Whether newly linked programs get this version of the function. Older programs may get another
    /// function of this name.
    pub is_default: bool,
    /// The function that a call jumps to.
    pub slot: &'static AtomicPtr<()>,
}

/// The lines of a table. Those after `old:` are what programs find that were linked before other functions
/// got their names.
macro_rules! entries {
    (old: $($lines:tt)*) => { $crate::export::entries! { @ false old $($lines)* } };
    (@ $is_default:literal $place:ident $( $node:literal { $( fn $($name:ident)+ ($($arguments:tt)*) $(-> $result:ty)? $body:block )* } )*) => {
        $($( $crate::export::functions! { [$($name)+] ($($arguments)*) [$(-> $result)?] $body } )*)*
        #[allow(non_upper_case_globals, reason = "the standard's names")]
        mod slots {
            use core::sync::atomic::AtomicPtr;
            $($($( pub(super) static $name: AtomicPtr<()> = AtomicPtr::new(super::$name as *mut ()); )+)*)*
        }
        $($($( $crate::export::symbol! { $place $node $name } )+)*)*
        /// The symbols of this file.
        pub(crate) static TABLE: &[$crate::export::ExportedSymbol] =
            &[$($($( $crate::export::ExportedSymbol { name: stringify!($name), node: $node, is_default: $is_default, slot: &slots::$name } ),+),*),*];
    };
    ($($lines:tt)*) => { $crate::export::entries! { @ true new $($lines)* } };
}

/// The functions of a line: the same for each name.
macro_rules! functions {
    ([$($name:ident)+] $arguments:tt $result:tt $body:tt) => {
        $( $crate::export::functions! { @ $name $arguments $result $body } )+
    };
    (@ $name:ident ($($argument:ident: $kind:ty),* $(,)?) [$(-> $result:ty)?] $body:tt) => {
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "the standard's names and arguments")]
        unsafe extern "C" fn $name($($argument: $kind),*) $(-> $result)? $body
    };
}

/// Two names a line: C passes values, and Fortran their addresses.
macro_rules! pairs {
    ($($node:literal { $( fn $c:ident $fortran:ident($($value:ident: $kind:ty),*) $(-> $result:ty)? $body:block )* })*) => {
        $crate::export::entries! { $($node { $(
            fn $c($($value: $kind),*) $(-> $result)? $body
            fn $fortran($($value: &$kind),*) $(-> $result)? { $( let $value = *$value; )* $body }
        )* })* }
    };
}

/// Three names a line, for functions of a number: C's, Fortran's, and Fortran's with integers of eight bytes.
macro_rules! numbers {
    ($($node:literal { $( fn $c:ident $fortran:ident $long:ident($number:ident) $(-> $result:ty)? $body:block )* })*) => {
        $crate::export::entries! { $($node { $(
            fn $c($number: core::ffi::c_int) $(-> $result)? { let $number = i64::from($number); $body }
            fn $fortran($number: &core::ffi::c_int) $(-> $result)? { let $number = i64::from(*$number); $body }
            fn $long($number: &i64) $(-> $result)? { let $number = *$number; $body }
        )* })* }
    };
}

/// The symbol of a line.
macro_rules! symbol {
    (old $node:literal $name:ident) => {
        $crate::export::jump! { $name ["foregather_old_", stringify!($name)] }
        // The linker's script gives a name's default version alone.
        core::arch::global_asm!(concat!(".symver foregather_old_", stringify!($name), ", ", stringify!($name), "@", $node));
    };
    (new $node:literal $name:ident) => {
        $crate::export::jump! { $name [stringify!($name)] }
    };
}

/// The instructions that jump to what a slot holds.
#[cfg(target_arch = "x86_64")]
macro_rules! through_slot {
    () => {
        "jmp qword ptr [rip + {slot}]"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! through_slot {
    () => {
        "adrp x16, {slot}\nldr x16, [x16, :lo12:{slot}]\nbr x16"
    };
}

/// The symbol of a name: a jump to what its slot holds.
macro_rules! jump {
    ($name:ident [$($label:tt)*]) => {
        core::arch::global_asm!(
            ".text",
            ".balign 16",
            concat!(".globl ", $($label)*),
            concat!(".type ", $($label)*, ", @function"),
            concat!($($label)*, ":"),
            $crate::export::through_slot!(),
            concat!(".size ", $($label)*, ", . - ", $($label)*),
            slot = sym slots::$name,
        );
    };
}

pub(crate) use {entries, functions, jump, numbers, pairs, symbol, through_slot};
