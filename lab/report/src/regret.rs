//! Regret maps: what share of its time the adaptive policy loses against the best there is in the same row,
//! over a space of rows.
//!
//! - Of a plan's measurements in the unit `regret`, with the label `best-axis`: which label names the
//!   policies. The other labels are the properties by which rows are summed up.
//! - Of drawn rows of the barrier matrix: labels as in `barriers`, the figures `share` (of the best peer) and
//!   `oracle_share` (of the best peer or fixed policy). Rows in which it is quicker than those lose nothing.
use super::maps::{ListedRow, Listing, Map, Maps, Several, hundredths};
use super::plans::{Shown, plain};
use super::shades::Shades;
use super::{Drawn, distinct};
use foregather_results::Measurement;
use foregather_results::ids::CANDIDATE;
use foregather_results::number::nanoseconds;
use foregather_results::row::Row;
use std::cmp::Ordering::Equal;
use std::collections::BTreeMap;

/// The policy that is shown, as plans and the matrix name it.
const ADAPTIVE: &str = "adaptive";
/// Fewer rows make no map.
const ROWS_MIN: usize = 4;
/// A property of more choices makes no map.
const CHOICES_MAX: usize = 16;
const MAPS_MAX: usize = 4;
/// The most rows in the list of the worst, and the least that a row in it loses.
const LISTED: usize = 12;
const LISTED_FROM: f64 = 0.05;
/// Rows that lose more are counted in the headline: half of their time.
const LOST: f64 = 0.5;
/// Properties that stand across, the first that there is.
const ACROSS: [&str; 3] = ["processors", "cpus", "members"];
/// The yardsticks of measured rows: names of figures, and what those are shares of.
const YARDSTICKS: [(&str, &str); 2] = [("share", "the best peer"), ("oracle_share", "the best peer or fixed policy")];
/// Properties by which measured rows are summed up.
const MEASURED: [&str; 4] = ["members", "strangers", "grain", "work"];

/// What the policy loses in a row, as a share of its time.
struct RegretRow {
    /// Its choice of each property.
    names: Vec<String>,
    regret: f64,
    /// The number of the policy's measurement.
    of: usize,
}

/// The maps of a plan whose figure is regrets.
pub(super) fn of_plan(all: &[Measurement], name: &str) -> Option<Drawn> {
    let plan = Shown::of(all, name)?;
    let policies = *plan.axis("best-axis").first().filter(|_| plan.unit == "regret")?;
    // Properties as the plan's figure orders them, then all others that vary.
    let named: Vec<&str> = plan.axis("row-axis").into_iter().filter(|name| *name != policies).collect();
    let properties = [named.clone(), plan.others(&[named.as_slice(), &[policies]].concat())].concat();
    let choices = |m: &Measurement| properties.iter().map(|name| m.text(name).to_owned()).collect::<Vec<String>>();
    let (mut rows, mut best) = (Vec::new(), BTreeMap::<Vec<String>, (f64, &str)>::new());
    for &(of, m) in &plan.points {
        let (names, regret) = (choices(m), m.summary.mean?);
        let least = best.entry(names.clone()).or_insert((f64::MAX, ""));
        if regret < least.0 {
            *least = (regret, m.text(policies));
        }
        if m.text(policies) == ADAPTIVE {
            rows.push(RegretRow { names, regret, of });
        }
    }
    let heads: Vec<&str> = properties.into_iter().map(plain).collect();
    let maps = maps(&heads, &rows, &rows, "");
    let line = |row: &RegretRow| row.names.iter().cloned().chain([best[&row.names].1.to_owned()]).collect();
    let worst = worst(&rows, &[heads.as_slice(), &["best policy"]].concat(), line);
    let told =
        Description { title: format!("{}: what the adaptive policy loses", plan.title), against: "the best policy of the row" };
    told.draw(&rows, None, maps, worst)
}

/// The maps of the rows that were drawn on this machine.
pub(super) fn of_barriers(all: &[Measurement]) -> Option<Drawn> {
    let drawn = |m: &Measurement| m.text("waiter") == CANDIDATE && m.text("class").starts_with("drawn");
    let drawn: Vec<(usize, &Measurement)> = all.iter().enumerate().filter(|(_, m)| drawn(m)).collect();
    let regret = |m: &Measurement, figure| {
        let share = m.figures.get(figure).copied().filter(|share: &f64| share.is_finite())?;
        Some((1.0 - share).max(0.0))
    };
    let rows = YARDSTICKS.map(|(figure, _)| {
        let row = |&(of, m): &(usize, &Measurement)| {
            Some(RegretRow { names: properties(&Row::parse(m.text("row"))?), regret: regret(m, figure)?, of })
        };
        drawn.iter().filter_map(row).collect::<Vec<RegretRow>>()
    });
    let both = [0, 1].map(|i| maps(&MEASURED, &rows[i], &rows[1], &format!(", against {}", YARDSTICKS[i].1)));
    let [peers, oracle] = both;
    let maps =
        if peers.len() == oracle.len() { peers.into_iter().zip(oracle).flat_map(|(a, b)| [a, b]).collect() } else { oracle };
    let line = |row: &RegretRow| {
        let m = &all[row.of];
        let peer = regret(m, YARDSTICKS[0].0).map_or_else(|| "-".to_owned(), hundredths);
        vec![m.text("row").to_owned(), m.text("oracle").to_owned(), peer]
    };
    let worst = worst(&rows[1], &["row", YARDSTICKS[1].1, "lost against the best peer"], line);
    let title = "Drawn rows on this machine: what the adaptive policy loses".to_owned();
    let peers = Several::of(rows[0].iter().map(|row| row.regret));
    Description { title, against: YARDSTICKS[1].1 }.draw(&rows[1], peers, maps, worst)
}

/// The choices of a measured row, wide enough that several rows share each.
fn properties(row: &Row) -> Vec<String> {
    let within = |value: u32, bounds: &[(u32, &str)]| {
        bounds.iter().find(|(most, _)| value <= *most).map_or("more", |(_, name)| name).to_owned()
    };
    let members = within(row.threads, &[(2, "2"), (4, "3-4"), (8, "5-8"), (16, "9-16"), (u32::MAX, "17+")]);
    let background = row.background.to_string();
    let background = match (row.hogs, background.split_once(':')) {
        (0, _) => "none",
        (_, Some((_, ms))) if ms.parse::<u32>().is_ok_and(|ms| ms <= 5) => "bursts of up to 5 ms",
        (_, Some(_)) => "longer bursts",
        (1, None) if background == "hog" => "1 hog",
        (_, None) if background == "hog" => "several hogs",
        _ if background == "team" => "a second team",
        _ => &background,
    };
    let grain = within(row.grain_us, &[(0, "0 us"), (2, "1-2 us"), (10, "3-10 us"), (50, "11-50 us"), (u32::MAX, "51+ us")]);
    // A row's name without its background load says how long members compute, and in which shape.
    let alone = Row { hogs: 0, quota: None, pinned: false, fork_join: false, ..row.clone() }.name();
    let work = alone.split_once(' ').and_then(|(_, shape)| shape.split_once(',')).map_or("uniform", |(shape, _)| shape);
    vec![members, background.to_owned(), grain, work.to_owned()]
}

/// A map for each property beside the one that stands across; choices stand in the order in which `like` has
/// them.
fn maps(properties: &[&str], rows: &[RegretRow], like: &[RegretRow], more: &str) -> Vec<Map> {
    let across = ACROSS.iter().find_map(|name| properties.iter().position(|known| known == name)).unwrap_or(0);
    let map = |down: usize| {
        let choices = [down, across].map(|property| ordered(like, property));
        let fits = choices.iter().all(|choices| (1..=CHOICES_MAX).contains(&choices.len()));
        let cells: Vec<(&str, &str, f64)> = rows.iter().map(|row| (&*row.names[down], &*row.names[across], row.regret)).collect();
        let title = format!("{} by {}{more}", properties[down], properties[across]);
        fits.then(|| Map::new(title, &choices[0], &choices[1], &cells))
    };
    (0..properties.len()).filter(|&property| property != across).filter_map(map).take(MAPS_MAX).collect()
}

/// The choices of a property: numbers in their order, others by what is lost with them.
fn ordered(rows: &[RegretRow], property: usize) -> Vec<&str> {
    let mut choices = distinct(rows.iter().map(|row| row.names[property].as_str()));
    let number = |choice: &str| {
        let end = choice.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(choice.len());
        let unit = choice.rsplit(|c: char| !c.is_ascii_alphabetic()).next().and_then(nanoseconds);
        Some(choice[..end].parse::<f64>().ok()? * unit.unwrap_or(1.0))
    };
    let lost = |choice: &str| {
        Several::of(rows.iter().filter(|row| row.names[property] == choice).map(|row| row.regret)).map_or(0.0, |all| all.mean)
    };
    let numbers = choices.iter().all(|choice| number(choice).is_some());
    choices
        .sort_by(|a, b| if numbers { number(a).partial_cmp(&number(b)) } else { lost(a).partial_cmp(&lost(b)) }.unwrap_or(Equal));
    choices
}

/// The rows that lose most.
fn worst(rows: &[RegretRow], heads: &[&str], line: impl Fn(&RegretRow) -> Vec<String>) -> Listing {
    let mut lost: Vec<&RegretRow> = rows.iter().filter(|row| row.regret >= LISTED_FROM).collect();
    lost.sort_by(|a, b| b.regret.total_cmp(&a.regret));
    lost.truncate(LISTED);
    let lines = lost.into_iter().map(|row| ListedRow { value: row.regret, of: row.of, texts: line(row) }).collect();
    Listing { title: "The worst rows".to_owned(), heads: heads.iter().map(|head| (*head).to_owned()).collect(), lines }
}

/// The texts of the figure besides its maps.
struct Description {
    title: String,
    against: &'static str,
}

impl Description {
    /// The figure, if there are enough rows; `peers` sums all rows up against peers alone.
    fn draw(&self, rows: &[RegretRow], peers: Option<Several>, maps: Vec<Map>, worst: Listing) -> Option<Drawn> {
        let all = Several::of(rows.iter().map(|row| row.regret)).filter(|all| all.count >= ROWS_MIN && !maps.is_empty())?;
        let lost = rows.iter().filter(|row| row.regret > LOST).count();
        let n = all.count;
        let mut headline = vec![
            (hundredths(all.mean), format!("mean, against {}", self.against)),
            (hundredths(all.worst), "worst".to_owned()),
            (format!("{lost} of {n}"), "rows lose more than half".to_owned()),
        ];
        headline.extend(peers.map(|peers| (hundredths(peers.mean), format!("mean, against {}", YARDSTICKS[0].1))));
        headline.extend(peers.map(|peers| (hundredths(peers.worst), "worst".to_owned())));
        let caption = format!(
            "Over {n} rows the adaptive policy loses {} of its time on average against {}, and {} in the worst row; {lost} lose more \
             than half.",
            hundredths(all.mean),
            self.against,
            hundredths(all.worst)
        );
        let scale = "share of its time that is lost: mean at the left of a cell, worst at its right";
        let maps = Maps { title: &self.title, scale, shades: Shades::regrets(), headline, maps, worst };
        Some(Drawn { svg: maps.render(), caption })
    }
}
