//! Calls of a BLAS that was loaded. One signature serves all routines: by the calling conventions of Linux on
//! processors of 64 bits, integers and pointers are passed one after the other in registers and then in words
//! of the stack, real numbers in registers of their own, and a function may be given more than it declares.
use super::arena::Arena;
use super::call::{Argument, BlasCall, Face};
use super::contents::Operand;
use super::table::{Returned, SlotKind};
use crate::peer_error::PeerError;
use core::ffi::c_void;
use core::mem::transmute;
use foregather_host::dl::Library;
use std::collections::BTreeMap;

/// A BLAS.
pub(super) struct Blas {
    pub(super) name: String,
    library: Library,
    addresses: BTreeMap<String, *mut c_void>,
}

/// The memory that calls use, and where the handler of errors leaves what it was told.
pub(super) struct CallMemory {
    arenas: Vec<Arena>,
    report: *mut ErrorReport,
}

/// What the handler of errors (`peers/c/blas_errors.c`) was told: how often, and at first which position, and
/// whether the reference's C interface had exchanged arguments.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ErrorReport {
    pub(super) calls: i32,
    pub(super) position: i32,
    pub(super) exchanged: i32,
}

/// What a call has left.
#[derive(Clone, Debug)]
pub(super) struct AfterCall {
    /// The result: up to two components, or an index.
    pub(super) returned: [f64; 2],
    /// The operands' bytes.
    pub(super) arrays: Vec<Vec<u8>>,
    pub(super) report: ErrorReport,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct TwoParts<T>(T, T);

const WORDS: usize = 18;
const REALS: usize = 3;

/// The arguments of a call as they are passed.
#[derive(Default)]
struct PassedWords {
    words: Vec<usize>,
    reals: Vec<f64>,
    /// What pointers point to.
    #[allow(clippy::vec_box, reason = "pointers into it are passed while it grows")]
    kept: Vec<Box<[u64; 2]>>,
}

impl PassedWords {
    fn by_reference(&mut self, bytes: [u64; 2]) {
        self.kept.push(Box::new(bytes));
        self.words.extend(self.kept.last().map(|kept| kept.as_ptr() as usize));
    }
}

/// The number of an option in C.
fn code(option: &str, letter: u8) -> usize {
    match (option, letter.to_ascii_uppercase()) {
        (_, b'T') => 112,
        (_, b'C') => 113,
        ("diag", b'N') => 131,
        ("diag", b'U') => 132,
        (_, b'N') => 111,
        (_, b'U') => 121,
        ("side", b'L') => 141,
        (_, b'L') => 122,
        (_, b'R') => 142,
        _ => 99,
    }
}

impl CallMemory {
    /// Memory for calls, whose errors go to this library.
    /// `slack` bytes beside each array can be touched.
    pub(super) fn new(handler: &str, slack: usize) -> Result<Self, PeerError> {
        let handler = Library::open(&[handler])?;
        let report = handler.symbol("blas_report")?.cast();
        Ok(Self { arenas: (0..4).map(|_| Arena::new(slack)).collect::<Result<_, _>>()?, report })
    }
}

impl Blas {
    /// Loads a library.
    pub(super) fn open(name: &str, files: &[&str]) -> Result<Self, PeerError> {
        Ok(Self { name: name.to_owned(), library: Library::open(files)?, addresses: BTreeMap::new() })
    }

    /// Lets calls of our library have at most that many threads; 0 for as many as there are.
    pub(super) fn set_threads(&self, threads: i32) -> Result<(), PeerError> {
        let address = self.library.symbol("foregather_blas_set_num_threads")?;
        // SAFETY: the function's declaration in our library.
        unsafe { transmute::<*mut c_void, unsafe extern "C" fn(i32)>(address)(threads) };
        Ok(())
    }

    /// Calls the routine on copies of these bytes of the operands.
    pub(super) fn call(
        &mut self,
        call: &BlasCall,
        operands: &[Operand],
        bytes: &[Vec<u8>],
        memory: &mut CallMemory,
    ) -> Result<AfterCall, PeerError> {
        let symbol = call.symbol();
        let address = match self.addresses.get(&symbol) {
            Some(address) => *address,
            None => {
                let address = self.library.symbol(&symbol)?;
                self.addresses.insert(symbol, address);
                address
            }
        };
        let loaded = operands.iter().zip(bytes).zip(&mut memory.arenas);
        let arrays: Vec<usize> = loaded.map(|((operand, bytes), arena)| arena.load(operand, bytes) as usize).collect();
        let mut result = Box::new([0_u64; 2]);
        let mut passed = passed(call, &arrays);
        if call.face != Face::Fortran && call.signature.returned == Returned::Number && call.signature.number.complex {
            passed.words.push(result.as_mut_ptr() as usize);
        }
        // SAFETY: the handler's variable; no call is under way.
        unsafe { memory.report.write_volatile(ErrorReport::default()) };
        // SAFETY: the address is that of the routine, the arguments are those of the standard's list, and the
        // arrays are as large as these say.
        let returned = unsafe { returned(address, call, &passed) };
        // SAFETY: the handler's variable; the call has returned.
        let report = unsafe { memory.report.read_volatile() };
        let arrays = operands.iter().zip(&memory.arenas).map(|(operand, arena)| arena.bytes(operand)).collect();
        let returned = if *result == [0; 2] {
            returned
        } else {
            let bytes: Vec<u8> = result.iter().flat_map(|word| word.to_ne_bytes()).collect();
            call.signature.number.read(&bytes)
        };
        Ok(AfterCall { returned, arrays, report })
    }
}

/// The arguments as the call's face passes them.
fn passed(call: &BlasCall, arrays: &[usize]) -> PassedWords {
    let mut passed = PassedWords::default();
    let (fortran, number) = (call.face == Face::Fortran, call.signature.number);
    if !fortran && call.signature.ordered {
        passed.words.push(match call.face {
            Face::Rows => 101,
            Face::Neither => 0,
            _ => 102,
        });
    }
    let mut arrays = arrays.iter();
    for (slot, argument) in call.signature.slots.iter().zip(&call.arguments) {
        match (*argument, &slot.kind) {
            (Argument::Array(_), _) => passed.words.extend(arrays.next()),
            (Argument::Option(letter), _) if fortran => passed.by_reference([letter.into(), 0]),
            (Argument::Option(letter), _) => passed.words.push(code(&slot.name, letter)),
            (Argument::Int(value), _) if fortran => passed.by_reference([u64::from(value as i32 as u32), 0]),
            (Argument::Int(value), _) => passed.words.push(value as usize),
            (Argument::Scalar(value), kind) => {
                let real = !number.complex || *kind == SlotKind::Scalar { real: true };
                let mut bytes = [0; 16];
                super::table::NumberType { complex: !real, ..number }.write(value, &mut bytes);
                let [low, high] = [0, 8].map(|at| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap_or_default()));
                if fortran || !real {
                    passed.by_reference([low, high]);
                } else {
                    // A real number of 32 bits is passed in the lower half of a register.
                    passed.reals.push(f64::from_bits(low));
                }
            }
        }
    }
    // The lengths of Fortran's strings.
    if fortran {
        let options = call.signature.slots.iter().filter(|slot| slot.kind == SlotKind::Option).count();
        passed.words.extend(std::iter::repeat_n(1, options));
    }
    passed
}

/// Calls the function at `address`.
///
/// # Safety
/// It is a routine of the BLAS that returns an `R`, and the arguments are its own.
unsafe fn raw<R>(address: *mut c_void, passed: &PassedWords) -> R {
    type W = usize;
    type Routine<R> = unsafe extern "C" fn(W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, f64, f64, f64) -> R;
    assert!(passed.words.len() <= WORDS && passed.reals.len() <= REALS, "more arguments than any routine has");
    let w: [usize; WORDS] = std::array::from_fn(|at| passed.words.get(at).copied().unwrap_or(0));
    let r: [f64; REALS] = std::array::from_fn(|at| passed.reals.get(at).copied().unwrap_or(0.0));
    // SAFETY: by this function's contract, and by the calling conventions (see the top of this file).
    unsafe {
        let f = transmute::<*mut c_void, Routine<R>>(address);
        let ([a, b, c, d, e, g, h, i, j, k], [l, m, n, o, p, q, s, t]) = halves(w);
        f(a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, s, t, r[0], r[1], r[2])
    }
}

/// The words in two parts, to be named.
fn halves(w: [usize; WORDS]) -> ([usize; 10], [usize; 8]) {
    (std::array::from_fn(|at| w[at]), std::array::from_fn(|at| w[at + 10]))
}

/// Calls the routine at `address`, and reads its result.
///
/// # Safety
/// It is the call's routine, and the arguments are its own.
unsafe fn returned(address: *mut c_void, call: &BlasCall, passed: &PassedWords) -> [f64; 2] {
    let (number, fortran) = (call.signature.number, call.face == Face::Fortran);
    // SAFETY: in all of this match: by this function's contract, with the result that the standard says.
    unsafe {
        match call.signature.returned {
            Returned::Number if number.complex && fortran && number.double => {
                let TwoParts(re, im) = raw::<TwoParts<f64>>(address, passed);
                [re, im]
            }
            Returned::Number if number.complex && fortran => {
                let TwoParts(re, im) = raw::<TwoParts<f32>>(address, passed);
                [re.into(), im.into()]
            }
            Returned::Nothing => {
                raw::<()>(address, passed);
                [0.0; 2]
            }
            Returned::Number if number.complex => {
                raw::<()>(address, passed);
                [0.0; 2]
            }
            Returned::Number | Returned::Real if !number.double => [raw::<f32>(address, passed).into(), 0.0],
            Returned::Number | Returned::Real | Returned::Double => [raw::<f64>(address, passed), 0.0],
            Returned::Index if fortran => [raw::<i32>(address, passed).into(), 0.0],
            Returned::Index => [raw::<usize>(address, passed) as f64, 0.0],
        }
    }
}
