//! The routines of the BLAS and their arguments, in the order of the standard's Fortran lists.
//!
//! A row is a name with a place for the letters of its types, these letters (`sc=c`: the letters are `sc`,
//! the numbers `c`), the arguments, the number of products in a sum, and the result. Arguments: sizes `m n k
//! kl ku`; options; arrays as `name:shape(dimensions)`, written ones with `!`, each followed by its increment
//! or leading dimension if the shape has one; all others are numbers, real ones with `:r`. A dimension
//! `trans?m:n` is `m` if that option transposes (or says right), else `n`.
use std::sync::OnceLock;

/// The numbers of a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NumberType {
    /// Whether a component is `f64`.
    pub(super) double: bool,
    /// Whether there are two components.
    pub(super) complex: bool,
}

/// How an array lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrayShape {
    Vector,
    General,
    Band,
    Triangle,
    TriangleBand,
    Packed,
    Few,
}

/// A size, or one of two by an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Dimension {
    Fixed(usize),
    Size(String),
    By { option: String, yes: String, no: String },
}

/// The kind of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SlotKind {
    Option,
    Size,
    Increment,
    Leading,
    Scalar { real: bool },
    Array { shape: ArrayShape, dimensions: Vec<Dimension>, written: bool, real: bool },
}

/// An argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArgumentSlot {
    pub(super) name: String,
    pub(super) kind: SlotKind,
}

/// What a routine returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Returned {
    Nothing,
    Number,
    Real,
    Double,
    Index,
}

/// A routine for one type of numbers.
#[derive(Debug)]
pub(super) struct Signature {
    /// Its name without those of the faces, such as `dgemm`.
    pub(super) name: String,
    /// Its name without the type, such as `gemm`.
    pub(super) root: &'static str,
    pub(super) class: &'static str,
    pub(super) number: NumberType,
    pub(super) slots: Vec<ArgumentSlot>,
    /// The number of products in a sum.
    pub(super) terms: Dimension,
    pub(super) returned: Returned,
    /// Whether C passes the order of matrices first.
    pub(super) ordered: bool,
}

const ALL: &str = "s d c z";

type TableRow = [&'static str; 5];

const TABLE: [(&str, &[TableRow]); 9] = [
    (
        "vectors moved",
        &[["?copy", ALL, "n x:vector(n) y!:vector(n)", "1", ""], ["?swap", ALL, "n x!:vector(n) y!:vector(n)", "1", ""]],
    ),
    (
        "vectors scaled and added",
        &[
            ["?axpy", ALL, "n alpha x:vector(n) y!:vector(n)", "1", ""],
            ["?axpby", ALL, "n alpha x:vector(n) beta y!:vector(n)", "1", ""],
            ["?scal", "s d c z", "n alpha x!:vector(n)", "1", ""],
            ["?scal", "cs=c zd=z", "n alpha:r x!:vector(n)", "1", ""],
        ],
    ),
    (
        "vectors reduced",
        &[
            ["?dot", "s d", "n x:vector(n) y:vector(n)", "n", "number"],
            ["?dotu", "c z", "n x:vector(n) y:vector(n)", "n", "number"],
            ["?dotc", "c z", "n x:vector(n) y:vector(n)", "n", "number"],
            ["?sdot", "d=s", "n x:vector(n) y:vector(n)", "n", "double"],
            ["?dsdot", "s", "n b x:vector(n) y:vector(n)", "n", "number"],
            ["?nrm2", "s d sc=c dz=z", "n x:vector(n)", "n", "real"],
            ["?asum", "s d sc=c dz=z", "n x:vector(n)", "n", "real"],
            ["i?amax", ALL, "n x:vector(n)", "1", "index"],
            ["?cabs1", "s=c d=z", "z", "1", "real"],
        ],
    ),
    (
        "rotations",
        &[
            ["?rot", "s d cs=c zd=z", "n x!:vector(n) y!:vector(n) c:r s:r", "1", ""],
            ["?rotg", "s d", "a!:few(1) b!:few(1) c!:few(1) s!:few(1)", "1", ""],
            ["?rotg", "c z", "a!:few(1) b:few(1) c!:few(1):r s!:few(1)", "1", ""],
            ["?rotm", "s d", "n x!:vector(n) y!:vector(n) param:few(5)", "1", ""],
            ["?rotmg", "s d", "d1!:few(1) d2!:few(1) x1!:few(1) y1 param!:few(5)", "1", ""],
        ],
    ),
    (
        "matrix times vector",
        &[
            ["?gemv", ALL, "trans m n alpha a:general(m,n) x:vector(trans?m:n) beta y!:vector(trans?n:m)", "trans?m:n", ""],
            ["?gbmv", ALL, "trans m n kl ku alpha a:band(m,n) x:vector(trans?m:n) beta y!:vector(trans?n:m)", "trans?m:n", ""],
            ["?symv", "s d", "uplo n alpha a:triangle(n) x:vector(n) beta y!:vector(n)", "n", ""],
            ["?hemv", "c z", "uplo n alpha a:triangle(n) x:vector(n) beta y!:vector(n)", "n", ""],
            ["?sbmv", "s d", "uplo n k alpha a:triangle-band(n) x:vector(n) beta y!:vector(n)", "n", ""],
            ["?hbmv", "c z", "uplo n k alpha a:triangle-band(n) x:vector(n) beta y!:vector(n)", "n", ""],
            ["?spmv", "s d", "uplo n alpha a:packed(n) x:vector(n) beta y!:vector(n)", "n", ""],
            ["?hpmv", "c z", "uplo n alpha a:packed(n) x:vector(n) beta y!:vector(n)", "n", ""],
        ],
    ),
    (
        "triangle and vector",
        &[
            ["?trmv", ALL, "uplo trans diag n a:triangle(n) x!:vector(n)", "n", ""],
            ["?trsv", ALL, "uplo trans diag n a:triangle(n) x!:vector(n)", "n", ""],
            ["?tbmv", ALL, "uplo trans diag n k a:triangle-band(n) x!:vector(n)", "n", ""],
            ["?tbsv", ALL, "uplo trans diag n k a:triangle-band(n) x!:vector(n)", "n", ""],
            ["?tpmv", ALL, "uplo trans diag n a:packed(n) x!:vector(n)", "n", ""],
            ["?tpsv", ALL, "uplo trans diag n a:packed(n) x!:vector(n)", "n", ""],
        ],
    ),
    (
        "matrix updated by vectors",
        &[
            ["?ger", "s d", "m n alpha x:vector(m) y:vector(n) a!:general(m,n)", "1", ""],
            ["?geru", "c z", "m n alpha x:vector(m) y:vector(n) a!:general(m,n)", "1", ""],
            ["?gerc", "c z", "m n alpha x:vector(m) y:vector(n) a!:general(m,n)", "1", ""],
            ["?syr", "s d", "uplo n alpha x:vector(n) a!:triangle(n)", "1", ""],
            ["?her", "c z", "uplo n alpha:r x:vector(n) a!:triangle(n)", "1", ""],
            ["?spr", "s d", "uplo n alpha x:vector(n) a!:packed(n)", "1", ""],
            ["?hpr", "c z", "uplo n alpha:r x:vector(n) a!:packed(n)", "1", ""],
            ["?syr2", "s d", "uplo n alpha x:vector(n) y:vector(n) a!:triangle(n)", "2", ""],
            ["?her2", "c z", "uplo n alpha x:vector(n) y:vector(n) a!:triangle(n)", "2", ""],
            ["?spr2", "s d", "uplo n alpha x:vector(n) y:vector(n) a!:packed(n)", "2", ""],
            ["?hpr2", "c z", "uplo n alpha x:vector(n) y:vector(n) a!:packed(n)", "2", ""],
        ],
    ),
    (
        "products of matrices",
        &[
            [
                "?gemm",
                ALL,
                "transa transb m n k alpha a:general(transa?k:m,transa?m:k) b:general(transb?n:k,transb?k:n) beta c!:general(m,n)",
                "k",
                "",
            ],
            [
                "?gemmtr",
                ALL,
                "uplo transa transb n k alpha a:general(transa?k:n,transa?n:k) b:general(transb?n:k,transb?k:n) beta c!:triangle(n)",
                "k",
                "",
            ],
            ["?symm", ALL, "side uplo m n alpha a:triangle(side?n:m) b:general(m,n) beta c!:general(m,n)", "side?n:m", ""],
            ["?hemm", "c z", "side uplo m n alpha a:triangle(side?n:m) b:general(m,n) beta c!:general(m,n)", "side?n:m", ""],
            ["?syrk", ALL, "uplo trans n k alpha a:general(trans?k:n,trans?n:k) beta c!:triangle(n)", "k", ""],
            ["?herk", "c z", "uplo trans n k alpha:r a:general(trans?k:n,trans?n:k) beta:r c!:triangle(n)", "k", ""],
            [
                "?syr2k",
                ALL,
                "uplo trans n k alpha a:general(trans?k:n,trans?n:k) b:general(trans?k:n,trans?n:k) beta c!:triangle(n)",
                "k",
                "",
            ],
            [
                "?her2k",
                "c z",
                "uplo trans n k alpha a:general(trans?k:n,trans?n:k) b:general(trans?k:n,trans?n:k) beta:r c!:triangle(n)",
                "k",
                "",
            ],
        ],
    ),
    (
        "triangle and matrix",
        &[
            ["?trmm", ALL, "side uplo trans diag m n alpha a:triangle(side?n:m) b!:general(m,n)", "side?n:m", ""],
            ["?trsm", ALL, "side uplo trans diag m n alpha a:triangle(side?n:m) b!:general(m,n)", "side?n:m", ""],
        ],
    ),
];

/// All routines, for all types.
pub(super) fn signatures() -> &'static [Signature] {
    static ALL: OnceLock<Vec<Signature>> = OnceLock::new();
    ALL.get_or_init(|| {
        let rows = TABLE.iter().flat_map(|(class, rows)| rows.iter().map(|row| (*class, row)));
        rows.flat_map(|(class, row)| row[1].split(' ').map(move |letters| Signature::of(class, row, letters))).collect()
    })
}

/// The classes of routines, in order.
pub(super) fn classes() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(class, _)| *class)
}

/// The routine of that name.
pub(super) fn signature(name: &str) -> Option<&'static Signature> {
    signatures().iter().find(|signature| signature.name == name)
}

impl Signature {
    fn of(class: &'static str, [name, _, arguments, terms, returned]: &'static TableRow, letters: &str) -> Self {
        let (letters, number) = letters.split_once('=').unwrap_or((letters, letters));
        let slots: Vec<ArgumentSlot> = arguments.split(' ').flat_map(slots).collect();
        Self {
            name: name.replace('?', letters),
            root: name.rsplit('?').next().unwrap_or(name),
            class,
            number: NumberType { double: matches!(number, "d" | "z"), complex: matches!(number, "c" | "z") },
            ordered: slots.iter().any(ArgumentSlot::is_matrix),
            slots,
            terms: dimension(terms),
            returned: match *returned {
                "" => Returned::Nothing,
                "number" => Returned::Number,
                "real" => Returned::Real,
                "double" => Returned::Double,
                _ => Returned::Index,
            },
        }
    }

    /// The argument of that name.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.slots.iter().position(|slot| slot.name == name)
    }

    /// The arrays, by the positions of their arguments.
    pub(super) fn arrays(&self) -> impl Iterator<Item = usize> {
        (0..self.slots.len()).filter(|&at| matches!(self.slots[at].kind, SlotKind::Array { .. }))
    }

    /// Whether a system of equations is solved.
    pub(super) fn is_solve(&self) -> bool {
        matches!(self.root, "trsv" | "tbsv" | "tpsv" | "trsm")
    }

    /// Whether the diagonal of its triangle is real by definition.
    pub(super) fn is_hermitian(&self) -> bool {
        self.root.starts_with('h')
    }
}

impl ArgumentSlot {
    fn is_matrix(&self) -> bool {
        matches!(&self.kind, SlotKind::Array { shape, .. } if !matches!(shape, ArrayShape::Vector | ArrayShape::Few))
    }
}

/// The arguments that a word of a row stands for.
fn slots(word: &str) -> Vec<ArgumentSlot> {
    let slot = |name: &str, kind| ArgumentSlot { name: name.to_owned(), kind };
    let (word, real) = word.strip_suffix(":r").map_or((word, false), |word| (word, true));
    let Some((name, shape)) = word.split_once(':') else {
        let kind = match word {
            "m" | "n" | "k" | "kl" | "ku" => SlotKind::Size,
            "trans" | "transa" | "transb" | "uplo" | "diag" | "side" => SlotKind::Option,
            _ => SlotKind::Scalar { real },
        };
        return vec![slot(word, kind)];
    };
    let (name, written) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
    let (shape, dimensions) = shape.trim_end_matches(')').split_once('(').unwrap_or((shape, ""));
    let shape = match shape {
        "vector" => ArrayShape::Vector,
        "general" => ArrayShape::General,
        "band" => ArrayShape::Band,
        "triangle" => ArrayShape::Triangle,
        "triangle-band" => ArrayShape::TriangleBand,
        "packed" => ArrayShape::Packed,
        _ => ArrayShape::Few,
    };
    let array = slot(name, SlotKind::Array { shape, dimensions: dimensions.split(',').map(dimension).collect(), written, real });
    match shape {
        ArrayShape::Vector => vec![array, slot(&format!("inc{name}"), SlotKind::Increment)],
        ArrayShape::Packed | ArrayShape::Few => vec![array],
        _ => vec![array, slot(&format!("ld{name}"), SlotKind::Leading)],
    }
}

fn dimension(text: &str) -> Dimension {
    if let Ok(number) = text.parse() {
        return Dimension::Fixed(number);
    }
    let by = text.split_once('?').and_then(|(option, sizes)| Some((option, sizes.split_once(':')?)));
    by.map_or_else(
        || Dimension::Size(text.to_owned()),
        |(option, (yes, no))| Dimension::By { option: option.to_owned(), yes: yes.to_owned(), no: no.to_owned() },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_routine_of_the_library_is_here() {
        let faces = concat!(
            include_str!("../../../faces/blas/src/table/level1.rs"),
            include_str!("../../../faces/blas/src/table/level2.rs"),
            include_str!("../../../faces/blas/src/table/level3.rs"),
        );
        let names: Vec<&str> = faces
            .lines()
            .filter_map(|line| line.trim().strip_prefix('[')?.strip_suffix("];"))
            .flat_map(|names| names.split(", ").map(|name| name.split(' ').next().unwrap_or(name).trim_end_matches("_sub")))
            .collect();
        assert!(names.len() > 150, "{names:?}");
        for name in &names {
            assert!(signature(name).is_some(), "{name}");
        }
        for signature in signatures() {
            assert!(names.contains(&&*signature.name), "{}", signature.name);
        }
    }

    #[test]
    fn arguments_stand_in_the_order_of_the_standard() {
        let list = |name: &str| signature(name).unwrap().slots.iter().map(|slot| slot.name.clone()).collect::<Vec<_>>().join(" ");
        assert_eq!(list("dgemm"), "transa transb m n k alpha a lda b ldb beta c ldc");
        assert_eq!(list("zhpr2"), "uplo n alpha x incx y incy a");
        assert_eq!(list("dsdot"), "n x incx y incy");
        assert_eq!(list("sdsdot"), "n b x incx y incy");
    }
}
