//! A start line for nodes without a common clock: RDS with a deadline instead of computed waits.
use crate::tree::TreePosition;
use crate::{CommonClock, Protocol, receive, send};
use foregather_barrier::Punctual;
use foregather_machine::{Cause, Error, Nanos, Port};

/// Waits for all nodes and leaves with them at one moment of the common clock: `slack` after rank 0 has
/// learnt that all have come. Null messages come in slots `0..log2 n`, the deadline under `tag`.
///
/// The answer concerns the caller alone, by its own clock.
///
/// # Errors
/// The port's errors; [`Cause::Setting`] for an unbounded slack.
pub async fn harmonize<P: Port>(port: &P, clock: &CommonClock, slack: Nanos, tag: u32) -> Result<Punctual, Error> {
    if slack == Nanos::MAX {
        let needs = "an end: the time in which a message reaches the last node";
        return Err(Cause::Setting { what: "the slack of a start line", needs }.into());
    }
    let place = TreePosition::of(port);
    for (_, dimension) in place.children().rev() {
        port.wait(dimension).await?;
    }
    let mut deadline = clock.common(port.now()) + slack;
    if let Some(parent) = place.parent() {
        port.signal(parent, place.dimension()).await?;
        let mut bytes = [0; 8];
        receive(port, parent, tag, &mut bytes).await?;
        deadline = Nanos(u64::from_le_bytes(bytes));
    }
    for (child, _) in place.children() {
        send(port, child, tag, &deadline.0.to_le_bytes(), Protocol::Short).await?;
    }
    let own = clock.own(deadline);
    Ok(Punctual::left(own, port.delay_until(own).await))
}
