//! The slave's part, and how a process becomes a slave.
use super::board::Board;
use super::link::{Link, link};
use super::method::Method;
use super::{WARM_UP, WHAT};
use foregather_host::{affinity, clock, interrupt, usage};
use foregather_machine::{Cause, CpuId, Error, Nanos, WaitContext};
use std::collections::BTreeMap;
use std::process::Command;

/// The first argument of a slave process.
pub const VERB: &str = "__ping-pong-slave";
/// For "no processor in particular".
const ANYWHERE: &str = "-";

/// Answers until the master says that it is over.
pub(super) fn run(board: &Board, link: &dyn Link) -> Result<(), Error> {
    let mut cpus = BTreeMap::new();
    let (mut round, mut began) = (0u32, Nanos::ZERO);
    loop {
        round = round.wrapping_add(1);
        link.await_ping(round)?;
        if board.stopped() {
            board.report(usage::thread_cpu() - began, &cpus);
            return Ok(());
        }
        link.pong(round)?;
        if round == WARM_UP {
            (began, cpus) = (usage::thread_cpu(), BTreeMap::new());
        } else {
            *cpus.entry(affinity::current()).or_insert(0) += 1;
        }
    }
}

/// Appends to a command what [`slave_main`] takes.
pub(super) fn tell(command: &mut Command, board: &Board, method: Method, cpu: Option<CpuId>) {
    let (number, names) = board.number_and_names();
    let cpu = cpu.map_or(ANYWHERE.to_owned(), |cpu| cpu.to_string());
    command.args([VERB, method.name(), &number.to_string(), &cpu]).args(names);
}

/// The whole of a slave process: `args` are those of the process, from [`VERB`] on (which may be left out).
///
/// # Errors
/// If the arguments are not those that a master gives, or the master ends in the middle.
pub fn slave_main(args: &[String]) -> Result<(), Error> {
    let strange = || {
        Error::from(Cause::Unavailable {
            what: "the arguments of a ping-pong slave".to_owned(),
            remedy: "do not start it by hand: a master starts it".to_owned(),
        })
    };
    let args = args.strip_prefix(&[VERB.to_owned()]).unwrap_or(args);
    let [method, number, cpu, names @ ..] = args else { return Err(strange()) };
    let method = Method::parse(method)?;
    let board = Board::attach(number.parse().map_err(|_| strange())?, method, names)?;
    // Control-C at the terminal reaches this process, too; the master then ends the game in good order.
    interrupt::install()?;
    if cpu != ANYWHERE {
        affinity::pin(cpu.parse().map_err(|_| strange())?)?;
    }
    clock::init();
    run(&board, &*link(method, &board, WaitContext::new(WHAT, 1).of(0)))
}
