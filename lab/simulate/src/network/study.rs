//! The loop of Seidel & Davis 1992 §4: each node comes, synchronises, shifts, and comes again.
use super::explained;
use anyhow::{Result, bail};
use foregather_barrier::Algorithm;
use foregather_machine::{Clock, Error, Member, Nanos, SplitMix};
use foregather_message::{Protocol, Ring};
use foregather_sim::event::{Calendar, Queue};
use foregather_sim::net::{Faults, Interrupts, Model, Network, Node, Record, Skew};
use std::cell::RefCell;

/// The shift after the barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    /// The protocol of its messages.
    pub protocol: Protocol,
    /// The length of its messages, in bytes.
    pub bytes: u32,
}

/// Times of all nodes in one round, by an ideal global clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trial {
    /// When each node came to the barrier.
    pub entered: Vec<Nanos>,
    /// When each node left the barrier.
    pub left: Vec<Nanos>,
    /// When each node's shift was done; without a shift, as [`Trial::left`].
    pub done: Vec<Nanos>,
}

fn first(times: &[Nanos]) -> Nanos {
    times.iter().copied().min().unwrap_or(Nanos::ZERO)
}

fn last(times: &[Nanos]) -> Nanos {
    times.iter().copied().max().unwrap_or(Nanos::ZERO)
}

impl Trial {
    /// The span over which the nodes came: the paper's delta.
    pub fn entry_skew(&self) -> Nanos {
        last(&self.entered) - first(&self.entered)
    }

    /// From the first entry to the last exit of the barrier.
    pub fn cost(&self) -> Nanos {
        last(&self.left) - first(&self.entered)
    }

    /// The span over which the nodes left the barrier.
    pub fn precision(&self) -> Nanos {
        last(&self.left) - first(&self.left)
    }

    /// The node with the slowest shift, and how long that took.
    pub fn slowest(&self) -> (usize, Nanos) {
        let spans = self.left.iter().zip(&self.done).map(|(&left, &done)| done - left).enumerate();
        spans.max_by_key(|&(node, span)| (span, std::cmp::Reverse(node))).unwrap_or_default()
    }
}

/// What is simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Study<M> {
    /// The network between the nodes.
    pub model: M,
    /// How many nodes there are.
    pub nodes: u32,
    /// What disturbs their programs.
    pub interrupts: Option<Interrupts>,
    /// What else goes wrong: lost and late packets, pauses, clocks that drift.
    pub faults: Faults,
    /// How they synchronise; `None`: not at all.
    pub barrier: Option<Algorithm>,
    /// What the nodes do after the barrier; `None`: nothing.
    pub shift: Option<Shift>,
    /// How late the nodes come.
    pub skew: Skew,
    /// Are the nodes brought together between two trials, by a means that no real machine has? Else what is
    /// left of one trial is there in the next.
    pub resynchronised: bool,
    /// How many trials are simulated.
    pub trials: u32,
    /// How many trials at the beginning do not count.
    pub skipped: u32,
    /// The seed of phases, skews and draws.
    pub seed: u64,
}

/// The results of a study.
#[derive(Clone, Debug, Default)]
pub struct StudyResults {
    /// Every trial that counts.
    pub trials: Vec<Trial>,
    /// What happened on the network; empty unless it was asked for.
    pub record: Record,
    /// A hash of all events.
    pub trace: u64,
    /// How many events there were.
    pub events: u64,
}

/// The time between two trials when the nodes are brought together.
const REST: Nanos = Nanos::from_ms(2);
/// The longest message: 256 MiB.
pub(crate) const BYTES_MAX: u32 = 1 << 28;
/// The tag of the shift.
const TAG: u32 = 0;

/// Runs a study.
///
/// # Errors
/// If the machine cannot be as described, or some node waits forever.
pub fn run<M: Model>(study: &Study<M>) -> Result<StudyResults> {
    run_on::<Calendar, M>(study, false)
}

/// Runs a study, and writes every packet down.
///
/// # Errors
/// As [`run`].
pub fn run_recorded<M: Model>(study: &Study<M>) -> Result<StudyResults> {
    run_on::<Calendar, M>(study, true)
}

/// Runs a study on the event queue `Q`; `recorded`: writes every packet down.
///
/// # Errors
/// As [`run`].
pub fn run_on<Q: Queue, M: Model>(study: &Study<M>, recorded: bool) -> Result<StudyResults> {
    let slots = study.barrier.map_or(0, |kind| kind.slots(study.nodes));
    if let Some(kind) = study.barrier {
        kind.takes(study.nodes)?;
    }
    let mut network = Network::<Q, M>::new(study.nodes, slots, study.model)?.without_contents();
    if let Some(interrupts) = study.interrupts {
        network = network.interrupted(interrupts, study.seed)?;
    }
    network = network.faulty(&study.faults)?;
    if recorded {
        network = network.recording();
    }
    // The bytes that are sent: only their number matters, so all nodes send the same ones.
    let bytes = study.shift.map_or(0, |shift| shift.bytes);
    if bytes > BYTES_MAX {
        bail!("a message of {bytes} bytes is beyond what one node's memory would hold; at most {BYTES_MAX}");
    }
    let out = vec![0; bytes as usize];
    let none = vec![Nanos::ZERO; study.nodes as usize];
    let trial = Trial { entered: none.clone(), left: none.clone(), done: none };
    let trials = RefCell::new(vec![trial; study.trials as usize]);
    let nodes = network.nodes();
    let (mut trace, mut events) = (0, 0);
    let mut play = |rounds: std::ops::Range<u32>, start: Nanos| -> Result<()> {
        let run = network.run(&nodes, |_| start, |node| rounds_of(study, node, rounds.clone(), &out, &trials));
        (trace, events) = (run.trace, run.events);
        match run.deadlocked().as_slice() {
            [] => {}
            stuck if recorded => bail!(explained::hang(&network.record(), stuck)),
            // Runs the study once more, recorded, to tell what the nodes wait for.
            _ => run_on::<Q, M>(study, true).map(drop)?,
        }
        Ok(run.outputs.into_iter().flatten().collect::<Result<_, _>>()?)
    };
    if study.resynchronised {
        let mut random = SplitMix(study.seed ^ 0x5265_7379_6e63);
        let mut now = Nanos::ZERO;
        for round in 0..study.trials {
            // Anywhere within the interrupts' period.
            let period = study.interrupts.map_or(1, |interrupts| interrupts.period.0.max(1));
            play(round..round + 1, now + Nanos(random.below(period)))?;
            now = trials.borrow()[round as usize].done.iter().copied().max().unwrap_or(now) + REST;
        }
    } else {
        play(0..study.trials, Nanos::ZERO)?;
    }
    let record = network.record();
    drop(nodes);
    let trials = trials.into_inner().split_off(study.skipped.min(study.trials) as usize);
    Ok(StudyResults { trials, record, trace, events })
}

/// One node's part.
async fn rounds_of<Q: Queue, M: Model>(
    study: &Study<M>,
    node: &Node<'_, Q, M>,
    rounds: std::ops::Range<u32>,
    out: &[u8],
    trials: &RefCell<Vec<Trial>>,
) -> Result<(), Error> {
    let rank = node.rank() as usize;
    let mut into = Vec::new();
    for round in rounds {
        let late = study.skew.of(node.rank(), node.size(), round, study.seed);
        if late > Nanos::ZERO {
            node.delay(late).await;
        }
        trials.borrow_mut()[round as usize].entered[rank] = node.ideal();
        let ring = study.shift.map(|shift| Ring::of(node.rank(), node.size()).map(|ring| (ring, shift))).transpose()?;
        if let Some((ring, _)) = ring {
            ring.post(node, TAG)?;
        }
        if let Some(kind) = study.barrier {
            kind.over(node).await?;
        }
        trials.borrow_mut()[round as usize].left[rank] = node.ideal();
        if let Some((ring, shift)) = ring {
            ring.shift(node, TAG, out, &mut into, shift.protocol).await?;
        }
        trials.borrow_mut()[round as usize].done[rank] = node.ideal();
    }
    Ok(())
}
