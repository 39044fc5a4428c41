//! Jobs whose threads share a lock.
use super::{refused, study};
use foregather_machine::Nanos;
use foregather_sim::smp::{Distribution, Fault, FaultKind, LockKind, Preemption, Scheduler, Stop};
use foregather_wait::Policy;

const US: Nanos = Nanos::from_us(1);

fn with(lines: &str) -> String {
    format!("[[job]]\nthreads = 4\n{lines}")
}

#[test]
fn every_kind_of_lock_can_be_given() {
    let kinds = [
        ("spin", LockKind::Spin, Policy::Spin),
        ("ticket", LockKind::Ticket, Policy::Spin),
        ("mcs", LockKind::Mcs, Policy::Spin),
        ("futex", LockKind::Futex, Policy::Block),
        ("two-phase", LockKind::TwoPhase { spin: US * 12 }, Policy::TwoPhase { spin: US * 12 }),
    ];
    for (name, kind, policy) in kinds {
        let text = with(&format!("lock = {{ kind = \"{name}\", hold = \"2 us\", think = \"30 us\" }}\nacquisitions = 7"));
        let job = study(&text).jobs.remove(0);
        let lock = job.lock.clone().unwrap();
        assert_eq!((lock.kind, lock.hold, job.policy), (kind, Distribution::Constant(US * 2), policy), "{name}");
        assert_eq!((job.barriers, &job.compute, job.meets()), (7, &Distribution::Constant(US * 30), true));
    }
    let own = with("lock = { kind = \"ticket\", hold = \"2 us\", think = \"30 us\" }\npolicy = \"block\"");
    assert_eq!((study(&own).jobs[0].policy, study(&own).stop), (Policy::Block, Stop::FirstJob));
    let spin = with("lock = { kind = \"two-phase\", hold = \"2 us\", think = \"30 us\" }\nspin = \"5 us\"");
    assert_eq!(study(&spin).jobs[0].policy, Policy::TwoPhase { spin: US * 5 });
}

#[test]
fn critical_sections_have_page_faults() {
    let fault = |more: &str| {
        let fault = format!("fault = {{ chance = 0.25, takes = {{ exponential = {{ mean = \"9 us\" }} }}{more} }}");
        let text = with(&format!("lock = {{ kind = \"spin\", hold = \"2 us\", think = \"30 us\", {fault} }}"));
        study(&text).jobs.remove(0).lock.unwrap().fault.unwrap()
    };
    let Fault { chance, takes, kind } = fault("");
    assert_eq!((chance, takes, kind), (0.25, Distribution::Exponential { mean_ns: 9e3 }, FaultKind::Minor));
    assert_eq!(fault(", kind = \"major\"").kind, FaultKind::Major);
}

#[test]
fn locks_that_make_no_sense_are_refused_at_their_line() {
    let lock = "lock = { kind = \"spin\", hold = \"2 us\", think = \"30 us\" }";
    refused(
        &with("lock = { kind = \"tiket\", hold = \"2 us\", think = \"1 us\" }"),
        "`tiket` is no kind; did you mean `ticket`?",
    );
    refused(&with("lock = { kind = \"spin\", hold = \"2 us\" }"), "x.toml:3: lock needs `think`");
    refused(&with("lock = { kind = \"spin\", hold = \"0 us\", think = \"1 us\" }"), "x.toml:3: `hold` must be longer than zero");
    refused(&with("acquisitions = 3"), "x.toml:3: `acquisitions` is how often each thread takes a `lock`");
    refused(&with(&format!("{lock}\nbarriers = 3")), "x.toml:4: `barriers` is of jobs that meet at barriers");
    refused(&with(&format!("{lock}\ncompute = \"1 us\"")), "x.toml:4: `compute` is of jobs that meet at barriers");
    refused(&with(&format!("{lock}\nload = true")), "x.toml:3: unknown key `lock` in a [[job]] with load = true");
    let fault = "lock = { kind = \"spin\", hold = \"2 us\", think = \"1 us\", fault = { chance = 2, takes = \"1 us\" } }";
    refused(&with(fault), "x.toml:3: `chance` is 0 to 1, not 2");
}

#[test]
fn preemption_models_and_extended_slices_can_be_given() {
    let lock = "lock = { kind = \"spin\", hold = \"2 us\", think = \"30 us\", extend = true }";
    let eevdf = |more: &str| format!("{}\n[machine]\npreset = \"eevdf\"\n[machine.eevdf]\n{more}", with(lock));
    let models = [Preemption::None, Preemption::Voluntary, Preemption::Full, Preemption::Lazy];
    for (name, model) in ["none", "voluntary", "full", "lazy"].into_iter().zip(models) {
        let study = study(&eevdf(&format!("preemption = \"{name}\"\nslice-extension = \"5 us\"")));
        let Scheduler::Eevdf(rules) = &study.machine.scheduler else { panic!("{:?}", study.machine.scheduler) };
        assert_eq!((rules.preemption, rules.slice_extension), (model, US * 5));
        assert!(study.jobs[0].lock.as_ref().unwrap().extend);
    }
    refused(&eevdf("preemption = \"lasy\""), "x.toml:7: `lasy` is no preemption; did you mean `lazy`?");
    refused(&eevdf("slice-extension = \"1 ms\""), "a slice extension of 1.00 ms: 50.00 us at most");
    refused(&eevdf("preemption = \"lazy\"\nlazy-preemption = true"), "give preemption alone");
}

#[test]
fn a_published_factor_needs_two_cases() {
    let published = "[published]\nfactor = 2\nsource = \"a page\"\n";
    let cases = "[sweep]\ncase = { anomaly = {}, base = { \"job.job.threads\" = 4 } }";
    assert!(super::parse(&format!("{}{published}{cases}", with("barriers = 1\n"))).is_ok());
    refused(&format!("{}{published}", with("barriers = 1\n")), "x.toml:4: [published] needs two choices to compare");
    let zero = published.replace("= 2", "= 0");
    refused(&format!("{}{zero}{cases}", with("barriers = 1\n")), "x.toml:5: `factor` is 0.000001 to 1000000, not 0");
}
