//! Classes of load: rows that ask the same of a waiter, over which shares may be averaged; and the unions that goals are
//! set for.

/// What the rows of a class have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadClass {
    /// Two members, one to a processor.
    TwoPinned,
    /// Two members wherever the kernel puts them.
    TwoFree,
    /// Three, four or eight members.
    Many,
    /// Two members beside processes that want the processor, too.
    Hogs,
    /// Five or six members: not a multiple of two processors, and not far above them.
    FiveSix,
    /// Exponential work, and members of which every other has three times the work.
    Shapes,
    /// Log-normal work.
    LogNormal,
    /// Less processor time than the members want.
    Quota,
    /// Two barriers an episode.
    ForkJoin,
    /// Operations of a graph, split evenly.
    Graph,
    /// Drawn: more members than processors, beside strangers.
    DrawnCrowded,
    /// Drawn: a processor for each member, beside strangers.
    DrawnDisturbed,
    /// Drawn: any team, alone.
    DrawnAlone,
}

impl LoadClass {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 13] = [
        Self::TwoPinned,
        Self::TwoFree,
        Self::Many,
        Self::Hogs,
        Self::FiveSix,
        Self::Shapes,
        Self::LogNormal,
        Self::Quota,
        Self::ForkJoin,
        Self::Graph,
        Self::DrawnCrowded,
        Self::DrawnDisturbed,
        Self::DrawnAlone,
    ];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TwoPinned => "2 pinned",
            Self::TwoFree => "2 free",
            Self::Many => "3-8 threads",
            Self::Hogs => "hogs",
            Self::FiveSix => "5-6 threads",
            Self::Shapes => "shapes",
            Self::LogNormal => "log-normal",
            Self::Quota => "quota",
            Self::ForkJoin => "fork-join",
            Self::Graph => "graph",
            Self::DrawnCrowded => "drawn crowded",
            Self::DrawnDisturbed => "drawn disturbed",
            Self::DrawnAlone => "drawn alone",
        }
    }

    /// That of its name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }

    /// Does it belong to the core matrix of 32 rows?
    pub const fn is_core(self) -> bool {
        matches!(self, Self::TwoPinned | Self::TwoFree | Self::Many | Self::Hogs)
    }

    /// Does it belong to the 47 rows: the core, five and six threads, and uneven work?
    pub const fn is_extended(self) -> bool {
        self.is_core() || matches!(self, Self::FiveSix | Self::Shapes)
    }
}

/// A union of classes that summaries are given for: its name, and who belongs to it.
pub type Subset = (&'static str, fn(LoadClass) -> bool);

/// The subsets, those with the most general names first.
pub const SUBSETS: [Subset; 10] = [
    ("core", LoadClass::is_core),
    ("extended", LoadClass::is_extended),
    ("log-normal", |class| matches!(class, LoadClass::LogNormal)),
    ("quota", |class| matches!(class, LoadClass::Quota)),
    ("fork-join", |class| matches!(class, LoadClass::ForkJoin)),
    ("graph", |class| matches!(class, LoadClass::Graph)),
    ("drawn", |class| matches!(class, LoadClass::DrawnCrowded | LoadClass::DrawnDisturbed | LoadClass::DrawnAlone)),
    ("drawn crowded", |class| matches!(class, LoadClass::DrawnCrowded)),
    ("drawn disturbed", |class| matches!(class, LoadClass::DrawnDisturbed)),
    ("drawn alone", |class| matches!(class, LoadClass::DrawnAlone)),
];
