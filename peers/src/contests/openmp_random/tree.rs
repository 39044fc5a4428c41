//! A program as a tree that knows no language: the writers print it as C, C++ or Fortran, the shrinker takes
//! parts out of it.

foregather_machine::named! {
    /// The language of a program.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Language {
        C = "c",
        Cpp = "c++",
        Fortran = "fortran",
    }
}

/// Bodies that run one after the other in one process, and the environment that they run in.
#[derive(Clone, Debug)]
pub(super) struct TestProgram {
    pub(super) language: Language,
    pub(super) environment: Vec<(&'static str, String)>,
    /// Each with its number, which it keeps when others are taken out.
    pub(super) bodies: Vec<(usize, Block)>,
}

pub(super) type Block = Vec<Stmt>;

#[derive(Clone, Debug)]
pub(super) enum Stmt {
    Set(LValue, Expr),
    Add(LValue, Expr, Exclusion),
    If(Expr, Block),
    /// A loop that one thread runs.
    For(Loop, Block),
    /// A block with variables of its own.
    Locals(Vec<LocalVariable>, Block),
    /// Statements that only make sense all together.
    Together(Block),
    Directive(Directive),
    Call(Expr),
    /// A function of its own with this block, called in a certain way. The block reads the argument as
    /// [`Expr::given`] and no variable around.
    Part(CallKind, Expr, Block),
    /// Throws, and catches what is thrown, in C++.
    Try(Block),
    Throw(i64),
}

/// How a program calls a part of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallKind {
    /// As functions are called: constructs in it are orphaned.
    Plain,
    /// By the function of `support.c` of this name, which is passed the part and the argument.
    By(&'static str),
    /// As [`CallKind::By`], but passed the part's name.
    ByName(&'static str),
    /// In the destructor of a static object, in C++.
    Destructor,
}

/// What keeps others out while a number is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exclusion {
    Plain,
    Atomic,
    /// Of this name, or of none.
    Critical(&'static str),
    /// Sets and unsets by these functions a lock of this name.
    Lock {
        set: &'static str,
        unset: &'static str,
        lock: &'static str,
        number: i64,
    },
    /// Tries until it has the lock.
    TestLock {
        number: i64,
    },
}

/// A variable, or an element of an array.
#[derive(Clone, Debug)]
pub(super) struct LValue {
    pub(super) name: String,
    pub(super) at: Option<Box<Expr>>,
}

#[derive(Clone, Debug)]
pub(super) enum Expr {
    Int(i64),
    Of(LValue),
    Call(&'static str, Vec<Self>),
    Op(Box<Self>, BinaryOperator, Box<Self>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BinaryOperator {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Eq,
    Ne,
}

impl Expr {
    pub(super) fn name(name: impl Into<String>) -> Self {
        Self::Of(LValue::name(name))
    }

    /// The argument of a [`Stmt::Part`].
    pub(super) fn given() -> Self {
        Self::name("given")
    }

    pub(super) fn call(name: &'static str) -> Self {
        Self::Call(name, Vec::new())
    }

    pub(super) fn op(self, op: BinaryOperator, right: Self) -> Self {
        Self::Op(Box::new(self), op, Box::new(right))
    }
}

impl LValue {
    pub(super) fn name(name: impl Into<String>) -> Self {
        Self { name: name.into(), at: None }
    }

    pub(super) fn at(name: impl Into<String>, at: Expr) -> Self {
        Self { name: name.into(), at: Some(Box::new(at)) }
    }
}

/// A variable of a block.
#[derive(Clone, Debug)]
pub(super) struct LocalVariable {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) initial: i64,
    /// Whether there is only one instance, however often the block is entered. It then belongs to all
    /// threads.
    pub(super) fixed: bool,
}

impl LocalVariable {
    pub(super) fn of(name: String, kind: Kind, initial: i64) -> Self {
        Self { name, kind, initial, fixed: false }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Whole,
    /// An array of this length.
    Array(i64),
    /// A floating point number that is too long to be added to in one instruction.
    Long,
    /// The handle of a detached task.
    Event,
    /// A dependence that is kept, in C.
    Depend,
}

/// `count` iterations from `first` on, `step` apart.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub(super) name: String,
    pub(super) kind: IndexType,
    pub(super) first: i64,
    pub(super) count: i64,
    pub(super) step: i64,
    /// By how much the bound is beyond the last number; less than a step.
    pub(super) slack: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IndexType {
    Int,
    Long,
    /// Of C, from near its greatest number on.
    Unsigned,
}

/// A directive, by its name in C, and what it applies to.
#[derive(Clone, Debug)]
pub(super) struct Directive {
    pub(super) name: &'static str,
    pub(super) clauses: Vec<Clause>,
    pub(super) body: Associated,
}

#[derive(Clone, Debug)]
pub(super) enum Associated {
    Nothing,
    Block(Block),
    Loops(Vec<Loop>, Block),
    Sections(Vec<Block>),
}

/// `name(prefix values)`, as `reduction(+: r1)`.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    pub(super) name: &'static str,
    pub(super) prefix: String,
    pub(super) values: Vec<Expr>,
    /// The program means the same without it.
    pub(super) loose: bool,
}

impl Clause {
    /// A clause that the program needs.
    pub(super) fn of(name: &'static str, prefix: impl Into<String>, values: Vec<Expr>) -> Self {
        Self { name, prefix: prefix.into(), values, loose: false }
    }

    pub(super) fn loose(name: &'static str, prefix: impl Into<String>, values: Vec<Expr>) -> Self {
        Self { loose: true, ..Self::of(name, prefix, values) }
    }
}

impl Directive {
    pub(super) fn of(name: &'static str, clauses: Vec<Clause>, block: Block) -> Stmt {
        Stmt::Directive(Self { name, clauses, body: Associated::Block(block) })
    }

    pub(super) fn alone(name: &'static str, clauses: Vec<Clause>) -> Stmt {
        Stmt::Directive(Self { name, clauses, body: Associated::Nothing })
    }
}

impl Stmt {
    /// The blocks directly in it.
    pub(super) fn blocks_mut(&mut self) -> Vec<&mut Block> {
        match self {
            Self::If(_, block) | Self::For(_, block) | Self::Locals(_, block) | Self::Part(_, _, block) => vec![block],
            Self::Together(block) | Self::Try(block) => vec![block],
            Self::Directive(Directive { body: Associated::Block(block) | Associated::Loops(_, block), .. }) => vec![block],
            Self::Directive(Directive { body: Associated::Sections(sections), .. }) => sections.iter_mut().collect(),
            Self::Directive(_) | Self::Set(..) | Self::Add(..) | Self::Call(_) | Self::Throw(_) => Vec::new(),
        }
    }
}
