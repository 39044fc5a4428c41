//! What a few nodes of a network did: a lane for each node with its send port above and its receive port
//! below, in the manner of the timing diagrams of Seidel & Davis 1992.
use super::Drawn;
use super::axis::{Axis, Marks, Scale};
use super::distinct;
use super::legend::{LegendEntry, Swatch};
use super::svg::{At, Canvas, colour, escape, fitted, ink, width_of};
use foregather_results::{Passage, Spell, Timeline};

const WIDTH: f64 = 960.0;
const LEFT: f64 = 106.0;
const RIGHT: f64 = WIDTH - 22.0;
/// The height of a port's row, and that of the program's between the two.
const PORT: f64 = 16.0;
const PROGRAM: f64 = 7.0;
const LANE: f64 = 2.0 * PORT + PROGRAM;
/// Room for all gaps between lanes together; each gap is as wide as that allows, within bounds.
const GAPS: f64 = 150.0;
/// A small text's size, and the distance of its baseline from the row's top.
const SMALL: f64 = 10.0;
const BASELINE: f64 = 11.5;
/// The colour of work that keeps a program busy.
const BUSY: &str = "var(--blocked,#97a1ad)";
/// The colour of what takes the processor away from a program.
const AWAY: &str = ink::SOFT;
/// What a program does for its messages, with the number of the colour and the words of the legend.
const DEEDS: [(&str, usize, &str); 3] =
    [("copied", 4, "copies"), ("registered", 3, "registers, deregisters"), ("posted", 2, "posts, completes")];

/// The kinds of packets, as the legend lists them.
const KINDS: [&str; 7] = ["null", "forced", "data", "PROBE", "REQUEST", "short", "release"];

fn ink_of(kind: &str) -> &'static str {
    // Bytes look the same by every protocol.
    let place = match kind {
        "null" => 0,
        "forced" | "data" => 1,
        "PROBE" => 2,
        "REQUEST" => 3,
        "short" => 5,
        _ => 4,
    };
    colour(place)
}

/// Where each node's lane lies.
struct NodeRows {
    x: Axis,
    top: f64,
    gap: f64,
}

impl NodeRows {
    fn send(&self, node: u32) -> f64 {
        self.top + f64::from(node) * (LANE + self.gap)
    }
    fn program(&self, node: u32) -> f64 {
        self.send(node) + PORT
    }
    fn receive(&self, node: u32) -> f64 {
        self.program(node) + PROGRAM
    }
    fn bottom(&self, nodes: u32) -> f64 {
        self.send(nodes) - self.gap
    }
}

/// The timeline of that name.
pub(super) fn draw(all: &[Timeline], name: &str) -> Option<Drawn> {
    let timeline = all.iter().find(|timeline| timeline.name == name && timeline.nodes > 0)?;
    let mut canvas = Canvas::new(WIDTH);
    canvas.heading(16.0, 26.0, 15.0, &fitted(&timeline.title, 15.6, WIDTH - 32.0));
    let top = 38.0 + legend(&mut canvas, timeline) + 10.0;
    let end = timeline.done_us.iter().chain(timeline.packets.iter().map(|p| &p.arrived_us)).copied();
    let x = Axis { low: 0.0, ..Axis::fit(end, Scale::Span, (LEFT, RIGHT)) };
    let lanes = NodeRows { x, top, gap: (GAPS / f64::from(timeline.nodes)).clamp(16.0, 60.0) };
    let y = lanes.bottom(timeline.nodes);
    let upright = |v: f64| format!("M{:.1} {:.1}V{:.1}", x.at(v), top - 4.0, y + 5.0);
    canvas.grid(&x.marked(&Marks::Round, 60.0), At::Middle, upright, |v| (x.at(v), y + 19.0));
    canvas.text((LEFT + RIGHT) / 2.0, y + 37.0, At::Middle, ink::SOFT, "time (us)");
    for node in 0..timeline.nodes {
        presence(&mut canvas, &lanes, timeline, node);
    }
    let kinds = distinct(timeline.packets.iter().map(|packet| packet.kind.as_str()));
    let of = |kind: &str| timeline.packets.iter().filter(move |packet| packet.kind == kind).collect::<Vec<_>>();
    for kind in &kinds {
        let arrows: String = of(kind).into_iter().map(|packet| arrow(&lanes, packet)).collect();
        canvas.group(format_args!(r#"fill="none" stroke="{}" stroke-width="1.1" opacity=".75""#, ink_of(kind)), &arrows);
    }
    timeline.busy.iter().for_each(|spell| busy(&mut canvas, &lanes, spell));
    for kind in &kinds {
        let (all, ink) = (of(kind), ink_of(kind));
        let each = |draw: fn(&NodeRows, &Passage) -> String| all.iter().map(|packet| draw(&lanes, packet)).collect::<String>();
        canvas.group(format_args!(r#"fill="{}" stroke="{ink}" stroke-dasharray="3 2""#, ink::PAPER), &each(blocked));
        canvas.group(format_args!(r#"stroke="{ink}" stroke-width="2.5" stroke-dasharray="2 2""#), &each(queued));
        canvas.group(format_args!(r#"fill="{ink}" stroke="{}" stroke-width=".8""#, ink::PAPER), &each(ports));
    }
    let names: String = timeline.packets.iter().map(|packet| names(&lanes, packet)).collect();
    canvas.group(format_args!(r#"font-size="{SMALL}" text-anchor="middle" fill="{}""#, ink::PAPER), &names);
    for (node, &left) in (0..timeline.nodes).zip(&timeline.left_us) {
        let path = format!("M{:.1} {:.1}v{:.1}", x.at(left), lanes.send(node) - 3.0, LANE + 6.0);
        canvas.line(&path, ink::TEXT, 2.0);
    }
    Some(Drawn { svg: canvas.finish(y + 46.0, &timeline.title), caption: timeline.shows.clone() })
}

/// The legend: the meaning of the colours that occur.
fn legend(canvas: &mut Canvas, timeline: &Timeline) -> f64 {
    let entry = |name, ink, swatch| LegendEntry { series: None, name, ink, swatch };
    let kinds = distinct(timeline.packets.iter().map(|packet| packet.kind.as_str()));
    let mut entries: Vec<LegendEntry<'_>> = KINDS
        .into_iter()
        .filter(|kind| kinds.contains(kind))
        .map(|kind| entry(if kind == "null" { "null message" } else { kind }, ink_of(kind), Swatch::Box))
        .collect();
    let waits = timeline.packets.iter().any(|packet| packet.granted_us > packet.asked_us);
    let did = |what: &[&str]| timeline.busy.iter().any(|spell| what.contains(&spell.what.as_str()));
    let rest = [
        (waits, entry("waits for a port", ink::SOFT, Swatch::Line("2 2"))),
        (did(&["computed"]), entry("waits on purpose", BUSY, Swatch::Box)),
        (did(&["interrupted", "paused"]), entry("interrupted", AWAY, Swatch::Box)),
        (!timeline.left_us.is_empty(), entry("leaves the barrier", ink::TEXT, Swatch::Upright)),
    ];
    entries.extend(rest.into_iter().filter(|(there, _)| *there).map(|(_, entry)| entry));
    entries.extend(DEEDS.iter().filter(|deed| did(&[deed.0])).map(|&(_, place, words)| entry(words, colour(place), Swatch::Box)));
    canvas.legend((8.0, WIDTH), 38.0, &entries)
}

/// Draws from when to when a node takes part, with its name.
fn presence(canvas: &mut Canvas, lanes: &NodeRows, timeline: &Timeline, node: u32) {
    let at = |times: &[f64], otherwise: f64| lanes.x.at(times.get(node as usize).copied().unwrap_or(otherwise));
    let (from, to) = (at(&timeline.came_us, 0.0), at(&timeline.done_us, lanes.x.high));
    let (top, program) = (lanes.send(node), lanes.program(node));
    canvas.put(format_args!(
        r#"<rect x="{from:.1}" y="{top:.1}" width="{:.1}" height="{LANE}" fill="{}" opacity=".45"/><rect x="{from:.1}" y="{:.1}" width="{:.1}" height="1" fill="{}"/>"#,
        to - from,
        ink::GRID,
        program + PROGRAM / 2.0 - 0.5,
        to - from,
        ink::MUTED
    ));
    canvas.text(LEFT - 54.0, program + PROGRAM / 2.0 + 4.0, At::End, ink::TEXT, &format!("node {node}"));
    let row = |top: f64, name: &str| format!(r#"<text x="{:.1}" y="{:.1}">{name}</text>"#, LEFT - 5.0, top + BASELINE);
    let rows = row(top, "sends") + &row(lanes.receive(node), "receives");
    canvas.group(format_args!(r#"font-size="{SMALL}" text-anchor="end" fill="{}""#, ink::SOFT), &rows);
}

/// An arrow from where a packet leaves to where it arrives.
fn arrow(lanes: &NodeRows, packet: &Passage) -> String {
    let down = packet.to > packet.from;
    let (x0, x1) = (lanes.x.at(packet.granted_us), lanes.x.at(packet.arrived_us));
    let y0 = lanes.send(packet.from) + if down { PORT } else { 0.0 };
    let y1 = lanes.receive(packet.to) + if down { 0.0 } else { PORT };
    let (dx, dy) = (x1 - x0, y1 - y0);
    let length = dx.hypot(dy).max(1.0);
    let (ux, uy) = (dx / length * 6.0, dy / length * 6.0);
    format!(
        r#"<path d="M{x0:.1} {y0:.1}L{x1:.1} {y1:.1}m{:.1} {:.1}L{x1:.1} {y1:.1}l{:.1} {:.1}"/>"#,
        -ux - uy * 0.5,
        -uy + ux * 0.5,
        -ux + uy * 0.5,
        -uy - ux * 0.5
    )
}

/// Draws what kept the program busy.
fn busy(canvas: &mut Canvas, lanes: &NodeRows, spell: &Spell) {
    let (from, to) = (lanes.x.at(spell.from_us), lanes.x.at(spell.to_us));
    let deed = DEEDS.iter().find(|deed| deed.0 == spell.what);
    let (ink, grow) = match (deed, spell.what.as_str()) {
        (Some(&(_, place, _)), _) => (colour(place), 0.0),
        (None, "computed") => (BUSY, 0.0),
        (None, _) => (AWAY, 1.0),
    };
    canvas.put(format_args!(
        r#"<rect x="{from:.1}" y="{:.1}" width="{:.1}" height="{}" rx="1" fill="{ink}"><title>{} {} from {:.1} to {:.1} us</title></rect>"#,
        lanes.program(spell.node) - grow,
        (to - from).max(1.5),
        PROGRAM + 2.0 * grow,
        spell.node,
        escape(&spell.what),
        spell.from_us,
        spell.to_us
    ));
}

/// The bars on the two ports that a packet holds.
fn ports(lanes: &NodeRows, packet: &Passage) -> String {
    let at = |time: f64| lanes.x.at(time);
    let row = |top: f64, until: f64| {
        let wide = (at(until) - at(packet.granted_us)).max(1.0);
        format!("M{:.1} {:.1}h{wide:.1}v{}h-{wide:.1}z", at(packet.granted_us), top + 1.0, PORT - 2.0)
    };
    format!(
        r#"<path d="{}{}"><title>{} {} to {}: sent at {:.1} us, passes from {:.1} us, there at {:.1} us</title></path>"#,
        row(lanes.send(packet.from), packet.left_us),
        row(lanes.receive(packet.to), packet.arrived_us),
        escape(&packet.kind),
        packet.from,
        packet.to,
        packet.asked_us,
        packet.granted_us,
        packet.arrived_us
    )
}

/// The packet's name on each port, cut to the room there.
fn names(lanes: &NodeRows, packet: &Passage) -> String {
    let name = |until: f64, top: f64, word: &str, whom: u32| {
        let (from, wide) = (lanes.x.at(packet.granted_us), lanes.x.at(until) - lanes.x.at(packet.granted_us));
        let names = [format!("{} {word} {whom}", packet.kind), format!("{word} {whom}"), whom.to_string()];
        let fits = names.iter().find(|name| width_of(name, SMALL) < wide - 3.0);
        let text =
            |name: &String| format!(r#"<text x="{:.1}" y="{:.1}">{}</text>"#, from + wide / 2.0, top + BASELINE, escape(name));
        fits.map_or(String::new(), text)
    };
    name(packet.left_us, lanes.send(packet.from), "to", packet.to)
        + &name(packet.arrived_us, lanes.receive(packet.to), "from", packet.from)
}

/// The bar of a packet in the queue of its own send port.
fn queued(lanes: &NodeRows, packet: &Passage) -> String {
    if packet.began_us <= packet.asked_us {
        return String::new();
    }
    let (from, to) = (lanes.x.at(packet.asked_us), lanes.x.at(packet.began_us));
    format!(r#"<path d="M{from:.1} {:.1}H{to:.1}"/>"#, lanes.send(packet.from) - 3.0)
}

/// The hatched bar of a packet that holds its send port and waits for the receive port.
fn blocked(lanes: &NodeRows, packet: &Passage) -> String {
    if packet.granted_us <= packet.began_us {
        return String::new();
    }
    let (from, to) = (lanes.x.at(packet.began_us), lanes.x.at(packet.granted_us));
    let (top, high) = (lanes.send(packet.from) + 2.0, PORT - 4.0);
    let mut lines = String::new();
    let mut x = from;
    while x < to {
        // The last lines of the hatching end where the bar does.
        let wide = high.min(to - x);
        lines += &format!("M{x:.1} {:.1}l{wide:.1} {:.1}", top + high, -wide);
        x += 5.0;
    }
    let wide = to - from;
    format!(r#"<path d="M{from:.1} {top:.1}h{wide:.1}v{high}h-{wide:.1}z"/><path d="{lines}" stroke-dasharray="none"/>"#)
}
