//! The butterfly barrier of Seidel & Davis 1992 on up to 2^14 nodes, more than most clusters have.
use foregather_barrier::{butterfly, dissemination};
use foregather_machine::{Cause, Error, Nanos};
use foregather_results::Measurement;
use foregather_sim::Run;
use foregather_sim::event::Calendar;
use foregather_sim::net::{Network, profile};

/// The cost of one barrier, in microseconds, over the number of nodes: simulated, and by the closed formula.
///
/// # Errors
/// If a node's barrier fails.
pub fn barriers_over_nodes(largest_dimension: u32) -> Result<Vec<Measurement>, Error> {
    let mut all = Vec::new();
    for dimension in 0..=largest_dimension {
        let size = 1 << dimension;
        all.push(point(
            "butterfly",
            size,
            cost(size, |network| {
                let nodes = network.nodes();
                network.run(&nodes, |_| Nanos::ZERO, butterfly)
            })?,
        ));
        all.push(point("formula: d exchanges of 75 us", size, profile::IPSC860_FREE.null() * u64::from(dimension)));
        let odd = size / 2 + 1;
        if odd % 2 == 1 && odd > 1 {
            all.push(point(
                "dissemination, odd sizes",
                odd,
                cost(odd, |network| {
                    let nodes = network.nodes();
                    network.run(&nodes, |_| Nanos::ZERO, dissemination)
                })?,
            ));
        }
    }
    Ok(all)
}

fn cost(size: u32, run: impl Fn(&Network<Calendar>) -> Run<Result<(), Error>>) -> Result<Nanos, Error> {
    let slots = size.next_power_of_two().trailing_zeros();
    let run = run(&Network::new(size, slots, profile::IPSC860_FREE)?);
    for output in run.outputs {
        output.unwrap_or_else(|| Err(Error::from(Cause::Poisoned { by: None })))?;
    }
    Ok(run.finished.into_iter().max().unwrap_or(Nanos::ZERO))
}

fn point(series: &str, nodes: u32, cost: Nanos) -> Measurement {
    let id = format!("simulated/butterfly/{}/{nodes}", series.replace([' ', ':', ','], "-"));
    Measurement::from_values(id, "one barrier on the simulated iPSC/860", "us", vec![cost.as_us()])
        .label("nodes", nodes.to_string())
        .label("series", series)
}

#[cfg(test)]
mod tests {
    use super::barriers_over_nodes;

    #[test]
    fn a_hundred_and_twenty_eight_nodes_meet_in_525_microseconds() {
        let all = barriers_over_nodes(7).unwrap();
        let at_128 = all.iter().find(|m| m.id == "simulated/butterfly/butterfly/128").unwrap();
        assert_eq!(at_128.summary.p50, Some(525.0));
    }
}
