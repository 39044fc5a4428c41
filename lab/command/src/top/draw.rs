//! Draws the view: a headline, the table, what could not be seen, and the keys.
use super::picture::ShownColumn;
use super::view::TopView;
use foregather_machine::shown;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row, Table, Wrap};

const KEYS: &str = "q quit  arrows  Enter threads  Esc back  s sort";
/// Lines above and below the table take two rows at most.
const MOST_ROWS: usize = 2;

pub(super) fn draw(frame: &mut Frame<'_>, view: &mut TopView, colours: bool) {
    let (headline, not_seen) = (view.picture.headline(), view.picture.not_seen.join("; "));
    let not_seen = if not_seen.is_empty() { not_seen } else { format!("not seen: {}", shown(&not_seen)) };
    let columns = usize::from(frame.area().width).max(1);
    // Wrapping at words may take a row more than the characters do.
    let height = |text: &str| Constraint::Length(text.chars().count().div_ceil(columns).min(MOST_ROWS) as u16);
    let areas = Layout::vertical([height(&headline), Constraint::Min(1), height(&not_seen), Constraint::Length(1)]);
    let [head, table, foot, keys] = areas.areas(frame.area());
    let ink = |colour| if colours { Style::new().fg(colour) } else { Style::new() };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Paragraph::new(headline).style(bold).wrap(Wrap { trim: true }), head);
    draw_table(frame, view, table, ink(Color::Cyan));
    frame.render_widget(Paragraph::new(not_seen).style(ink(Color::Yellow)).wrap(Wrap { trim: true }), foot);
    frame.render_widget(Paragraph::new(Line::from(format!("{KEYS}: {}", view.sorted_by))).style(ink(Color::Cyan)), keys);
}

fn draw_table(frame: &mut Frame<'_>, view: &mut TopView, area: Rect, ink: Style) {
    let columns = view.picture.columns(area.width.into());
    let aligned = |column: &ShownColumn, text: String| {
        let alignment = if column.is_number { Alignment::Right } else { Alignment::Left };
        Line::from(text).alignment(alignment)
    };
    let heading = |column: &ShownColumn| {
        let is_sorted = column.heading == view.sorted_by;
        let style = if is_sorted { Modifier::BOLD | Modifier::UNDERLINED } else { Modifier::BOLD };
        aligned(column, column.heading.to_owned()).style(ink.add_modifier(style))
    };
    let header = Row::new(columns.iter().map(heading).collect::<Vec<_>>());
    let window = view.window(usize::from(area.height).saturating_sub(1));
    let row = |place: usize| {
        let style = if place == view.selected { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
        let cells = view.picture.cells(view.order[place], &columns);
        Row::new(columns.iter().zip(cells).map(|(column, cell)| aligned(column, cell)).collect::<Vec<_>>()).style(style)
    };
    let widths = columns.iter().map(|column| Constraint::Length(column.width.try_into().unwrap_or(u16::MAX)));
    frame.render_widget(Table::new(window.map(row), widths).header(header), area);
}
