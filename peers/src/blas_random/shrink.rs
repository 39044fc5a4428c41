//! Makes a call that fails as small as it can be and still fail.
use super::call::{Argument, ArrayPlace, BlasCall, Contents, Face};
use super::draw::plainest;
use super::table::SlotKind;

/// The smallest call that `fails`, by steps each of which makes one thing simpler.
pub(super) fn smallest(call: &BlasCall, mut fails: impl FnMut(&BlasCall) -> bool) -> BlasCall {
    let mut call = call.clone();
    while let Some(simpler) = simpler(&call).into_iter().find(&mut fails) {
        call = simpler;
    }
    call
}

/// The calls that are one step simpler.
fn simpler(call: &BlasCall) -> Vec<BlasCall> {
    let mut all = Vec::new();
    for at in 0..call.arguments.len() {
        let with = |argument| {
            let mut other = call.clone();
            other.arguments[at] = argument;
            other
        };
        match (call.arguments[at], &call.signature.slots[at].kind) {
            (Argument::Int(size), SlotKind::Size) if size > 0 => {
                all.extend([0, size / 2, size - 1].into_iter().filter(|&less| less < size).map(|less| with(Argument::Int(less))));
            }
            (Argument::Int(step), SlotKind::Increment) if step != 1 => {
                all.push(with(Argument::Int(1)));
                all.extend((step.abs() > 2).then(|| with(Argument::Int(2 * step.signum()))));
            }
            (Argument::Int(leading), SlotKind::Leading) if leading > call.least_leading(at) => {
                all.push(with(Argument::Int(call.least_leading(at))));
            }
            (Argument::Option(letter), _) if letter != plainest(call, at) => all.push(with(Argument::Option(plainest(call, at)))),
            (Argument::Scalar(value), _) => {
                let simple = [[1.0, 0.0], [0.0, 0.0], [value[0], 0.0]];
                let rank = |value: [f64; 2]| simple.iter().position(|simple| *simple == value).unwrap_or(3);
                all.extend(
                    simple.into_iter().filter(|&simple| rank(simple) < rank(value)).map(|simple| with(Argument::Scalar(simple))),
                );
            }
            (Argument::Array(ArrayPlace::First), _) => all.push(with(Argument::Array(ArrayPlace::Last))),
            _ => {}
        }
    }
    let order = [Contents::Whole, Contents::Plain, Contents::Wide, Contents::Unread, Contents::Special];
    let simple = order.iter().take_while(|contents| **contents != call.contents);
    all.extend(simple.map(|&contents| BlasCall { contents, ..call.clone() }));
    let faces = [Face::Fortran, Face::Columns, Face::Rows, Face::Neither];
    all.extend(faces.iter().take_while(|face| **face != call.face).map(|&face| BlasCall { face, ..call.clone() }));
    all.extend((call.seed > 9).then(|| (0..10).map(|seed| BlasCall { seed, ..call.clone() })).into_iter().flatten());
    all
}

#[cfg(test)]
mod tests {
    use super::super::draw::drawn;
    use super::*;

    #[test]
    fn what_fails_is_made_as_small_as_it_can_be() {
        let fails = |call: &BlasCall| call.signature.root == "gemm" && call.size("k") >= 2 && call.scalar("beta") == [0.0; 2];
        let call = (0..).map(|number| drawn(7, number)).find(|call| fails(call)).unwrap();
        let small = smallest(&call, |call| fails(call));
        assert_eq!((small.int("m"), small.int("n"), small.int("k"), small.face), (0, 0, 2, Face::Fortran), "{small}");
        assert_eq!(BlasCall::parse(&small.to_string()), Some(small));
    }
}
