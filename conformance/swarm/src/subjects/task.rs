//! Tasks among threads: what they use, whether their makers wait for them, how heavy they are taken to be.
use super::barrier::outcome;
use super::report::{RunReport, verdict};
use crate::draw::Draw;
use crate::plant::Plant;
use crate::worlds::{self, us};
use foregather_conformance::tasks::{TaskMistake, TaskProgram, TaskRun};
use foregather_machine::Nanos;
use foregather_sim::event::Heap;
use foregather_sim::smp::{MachineSpec, Smp};
use foregather_wait::Policy;

/// The drawn run.
#[derive(Debug)]
struct Plan {
    machine: MachineSpec,
    policy: Policy,
    size: u32,
    /// How long each body computes.
    span: Nanos,
    mistake: TaskMistake,
    points_ppm: u32,
    seed: u64,
}

fn plan(draw: &mut Draw, planted: Option<Plant>) -> Plan {
    let machine = worlds::machine(draw);
    let size = draw.within(1..=6);
    Plan {
        policy: worlds::policy(draw, &machine),
        machine,
        size: if planted.is_some() { size.max(2) } else { size },
        span: draw.span(us(200)),
        mistake: match planted {
            Some(Plant::TasksLeft) => TaskMistake::PlainMeeting,
            Some(_) => TaskMistake::BodyLater,
            None => TaskMistake::Nothing,
        },
        points_ppm: worlds::points(draw),
        seed: draw.seed(),
    }
}

pub(super) fn run(draw: &mut Draw, planted: Option<Plant>) -> RunReport {
    let plan = plan(draw, planted);
    let most = 3 + draw.below(40) as usize;
    let program = if draw.one_in(8) { TaskProgram::chain(most) } else { TaskProgram::drawn(draw.seed(), most) };
    let drawn = format!("{plan:?} {program:?}");
    let run = TaskRun::new(program, plan.size, plan.policy, plan.span, plan.mistake);
    let smp = Smp::<Heap>::new(&plan.machine, plan.size, plan.seed);
    let smp = smp.with_points(plan.points_ppm, plan.seed ^ 1).ending_at(worlds::limit(plan.policy));
    let outputs = smp.run(async |cpu| {
        let rank = cpu.number();
        run.part(cpu, rank).await;
        Ok(())
    });
    let (ends, stuck) = outcome(&smp, outputs);
    let is_whole = stuck.is_empty();
    let end = verdict(stuck, ends);
    if is_whole {
        // Panics, as all that fails in a run.
        run.hold();
    }
    RunReport { trace: smp.history().1, end, drawn }
}
