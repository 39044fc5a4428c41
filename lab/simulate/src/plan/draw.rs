//! `draw`: takes some of a sweep's combinations by chance, where all of them would take hours. A point's
//! regrets need all choices of the axis that they are over; combinations of the other axes are drawn.
use super::figure::PlanFigure;
use super::grid::{combination, product};
use super::read::{AnyValue, BoundedCount, count_at, read as read_table, table};
use super::sweep::SweptParameter;
use super::tree::{Located, ParseResult, mistake};
use foregather_machine::SplitMix;
use foregather_results::meant;
use std::collections::BTreeSet;

table! { "[draw]" Table { of: (usize, Vec<(usize, String)>); times: (usize, AnyValue), seed: BoundedCount<0, { u64::MAX / 2 }> } }

/// Nothing is drawn from more combinations than this.
const COMBINATIONS_MAX: usize = 10_000_000;

/// The numbers of the points that are drawn, in their order: `times` combinations of the axes that are drawn
/// from, for each combination of the others.
pub(super) fn read(node: &Located, axes: &[SweptParameter], figure: &PlanFigure) -> ParseResult<Vec<usize>> {
    let table: Table = read_table(node)?;
    let Some(best) = figure.best else {
        return mistake(node.line, "[draw] is for figures of regrets: of them alone it is known which points belong together");
    };
    if figure.over.is_some_and(|(axis, _)| axis != best) {
        return mistake(figure.line, "`over` must be a choice of what regrets are over: points beside it may not be drawn");
    }
    let drawn = names(&table.of, axes, best)?;
    let sizes: Vec<usize> = axes.iter().map(|axis| axis.choices.len()).collect();
    let of = |some: &[usize]| some.iter().map(|&axis| sizes[axis]).collect::<Vec<usize>>();
    let kept: Vec<usize> = (0..axes.len()).filter(|axis| *axis != best && !drawn.contains(axis)).collect();
    let (drawn_sizes, kept_sizes) = (of(&drawn), of(&kept));
    let combinations = product(&drawn_sizes);
    if product(&sizes) > COMBINATIONS_MAX {
        return mistake(node.line, format!("more than {COMBINATIONS_MAX} combinations to draw from: give fewer choices"));
    }
    let times = table.times.map_or(Ok(1), |times| count_at("times", &times, 1..=combinations as u64))? as usize;
    let seed = table.seed.map_or(1, |seed| seed.0);
    let mut points = Vec::new();
    for row in 0..product(&kept_sizes) {
        let mut random = SplitMix(SplitMix::mix(seed).wrapping_add(row as u64));
        let mut chosen = BTreeSet::new();
        while chosen.len() < times {
            chosen.insert(random.below(combinations as u64) as usize);
        }
        for drawing in chosen {
            let mut numbers = vec![0; axes.len()];
            let both = kept.iter().zip(combination(&kept_sizes, row)).chain(drawn.iter().zip(combination(&drawn_sizes, drawing)));
            both.for_each(|(&axis, choice)| numbers[axis] = choice);
            points.extend((0..sizes[best]).map(|choice| {
                numbers[best] = choice;
                numbers.iter().zip(&sizes).fold(0, |point, (number, size)| point * size + number)
            }));
        }
    }
    points.sort_unstable();
    Ok(points)
}

/// The axes that are drawn from, in the order of the sweep.
fn names((line, items): &(usize, Vec<(usize, String)>), axes: &[SweptParameter], best: usize) -> ParseResult<Vec<usize>> {
    if items.is_empty() {
        return mistake(*line, "`of` is a list of names that vary in [sweep]");
    }
    let known: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    let mut drawn = BTreeSet::new();
    for (line, name) in items {
        match known.iter().position(|known| known == name) {
            None => return mistake(*line, format!("`{name}` does not vary in [sweep]{}", meant(name, &known))),
            Some(axis) if axis == best => {
                return mistake(*line, format!("regrets are over `{name}`: all of its choices are needed"));
            }
            Some(axis) => drawn.insert(axis),
        };
    }
    Ok(drawn.into_iter().collect())
}
