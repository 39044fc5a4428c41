//! The view on screens of several sizes, and its keys.
use super::draw::draw;
use super::picture::{ProcessRow, ThreadRow, TopPicture};
use super::view::{TopAction, TopKey, TopView};
use expect_test::expect;
use foregather_machine::Nanos;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};

fn process(process: u32, name: Option<&str>, ran: u64, ready: u64) -> ProcessRow {
    let [ran, ready] = [ran, ready].map(Nanos::from_ms);
    let name = name.map(str::to_owned);
    let asleep_in = [("futex", 3), ("poll", 1)].into();
    ProcessRow { process, name, user: Some(0), threads: 5, ran, ready, lost: ready, asleep_in, ..ProcessRow::default() }
}

fn processes() -> TopPicture {
    let recorded = ProcessRow {
        spun: Some(Nanos::from_ms(300)),
        blocked: Some(Nanos::from_ms(150)),
        lost: Nanos::from_ms(950),
        ..process(4711, Some("python3.12"), 900, 500)
    };
    TopPicture {
        schema: "",
        interval: Nanos::from_ms(1_000),
        processors: 2,
        process: None,
        processes: vec![
            process(1, Some("init"), 0, 0),
            recorded,
            process(90, Some("na\u{1b}ughty"), 950, 40),
            process(5, None, 0, 0),
        ],
        threads: Vec::new(),
        not_seen: vec!["1 process of other users: the system hides them".to_owned()],
    }
}

fn threads(count: u32) -> TopPicture {
    let thread = |at: u32| ThreadRow {
        thread: 4711 + at,
        name: Some("worker".to_owned()),
        state: if at == 0 { "runnable" } else { "asleep" },
        cpu: 1,
        ran: Nanos::from_ms(if at == 0 { 900 } else { 0 }),
        ready: Nanos::from_ms(u64::from(at % 7)),
        asleep: Nanos::from_ms(if at == 0 { 0 } else { 990 }),
        spun: None,
        preempted: Some(12),
        slept: Some(u64::from(at)),
        waits_for: (at > 0).then(|| format!("futex 0x7f00, {} others too", count - 2)),
    };
    let processes = vec![ProcessRow { threads: count, ..process(4711, Some("python3.12"), 900, 500) }];
    TopPicture { process: Some(4711), processes, threads: (0..count).map(thread).collect(), ..processes_without_notes() }
}

fn processes_without_notes() -> TopPicture {
    TopPicture { not_seen: Vec::new(), ..processes() }
}

fn drawn(view: &mut TopView, columns: u16, rows: u16, colours: bool) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, view, colours)).unwrap();
    terminal
}

fn lines(view: &mut TopView, columns: u16, rows: u16) -> String {
    let terminal = drawn(view, columns, rows, true);
    let buffer = terminal.backend().buffer();
    let line = |row: u16| (0..columns).map(|column| buffer[(column, row)].symbol()).collect::<String>();
    (0..rows).map(|row| line(row).trim_end().to_owned() + "\n").collect()
}

#[test]
fn processes_at_60_and_200_columns() {
    let mut view = TopView::new(processes());
    expect![[r#"
        4 processes, 20 threads: 1.9 ran and 0.5 were ready on 2
        processors, mean of 1.0 s
        PROCESS  LOST %   RAN % READY % THREADS NAME
        4711       95.0    90.0    50.0       5 python3.12
        90          4.0    95.0     4.0       5 na�ughty
        1           0.0     0.0     0.0       5 init
        5           0.0     0.0     0.0       5 (not readable)


        not seen: 1 process of other users: the system hides them
        q quit  arrows  Enter threads  Esc back  s sort: LOST %
    "#]]
    .assert_eq(&lines(&mut view, 60, 11));
    expect![[r#"
        4 processes, 20 threads: 1.9 ran and 0.5 were ready on 2 processors, mean of 1.0 s
        PROCESS  LOST %   RAN % READY %  SPUN % BLOCKED % THREADS USER   ASLEEP IN                                    NAME
        4711       95.0    90.0    50.0    30.0      15.0       5 0      futex 3, poll 1                              python3.12
        90          4.0    95.0     4.0       -         -       5 0      futex 3, poll 1                              na�ughty
        1           0.0     0.0     0.0       -         -       5 0      futex 3, poll 1                              init
        5           0.0     0.0     0.0       -         -       5 0      futex 3, poll 1                              (not readable)


        not seen: 1 process of other users: the system hides them
        q quit  arrows  Enter threads  Esc back  s sort: LOST %
    "#]].assert_eq(&lines(&mut view, 200, 10));
}

#[test]
fn threads_at_60_and_200_columns() {
    let mut view = TopView::new(threads(4));
    expect![[r#"
        python3.12 (4711), 4 threads: 0.9 ran and 0.5 were ready on
        2 processors, mean of 1.0 s
        THREAD  STATE    CPU  READY %  RAN % WAITS FOR
        4714    asleep   1        0.3    0.0 futex 0x7f00, 2 others
        4713    asleep   1        0.2    0.0 futex 0x7f00, 2 others
        4712    asleep   1        0.1    0.0 futex 0x7f00, 2 others
        4711    runnable 1        0.0   90.0


        q quit  arrows  Enter threads  Esc back  s sort: READY %
    "#]]
    .assert_eq(&lines(&mut view, 60, 10));
    expect![[r#"
        python3.12 (4711), 4 threads: 0.9 ran and 0.5 were ready on 2 processors, mean of 1.0 s
        THREAD  STATE    CPU  READY %  RAN % ASLEEP % SPUN % PREEMPTED/s SLEEPS/s NAME            WAITS FOR
        4714    asleep   1        0.3    0.0     99.0      -          12        3 worker          futex 0x7f00, 2 others too
        4713    asleep   1        0.2    0.0     99.0      -          12        2 worker          futex 0x7f00, 2 others too
        4712    asleep   1        0.1    0.0     99.0      -          12        1 worker          futex 0x7f00, 2 others too
        4711    runnable 1        0.0   90.0      0.0      -          12        0 worker



        q quit  arrows  Enter threads  Esc back  s sort: READY %
    "#]]
    .assert_eq(&lines(&mut view, 200, 10));
}

#[test]
fn a_tiny_screen_and_one_that_grows_show_what_fits() {
    let mut view = TopView::new(threads(10_000));
    for (columns, rows) in [(1, 1), (3, 2), (20, 5), (80, 24), (500, 200)] {
        view.press(TopKey::Move(isize::MAX));
        let text = lines(&mut view, columns, rows);
        assert_eq!(text.lines().count(), usize::from(rows));
    }
}

#[test]
fn without_colours_the_selected_row_is_still_marked() {
    let mut view = TopView::new(processes());
    for (colours, is_coloured) in [(true, true), (false, false)] {
        let terminal = drawn(&mut view, 80, 12, colours);
        let cells = terminal.backend().buffer().content();
        assert_eq!(cells.iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset), is_coloured);
        assert!(cells.iter().any(|cell| cell.modifier.contains(Modifier::REVERSED)));
    }
}

#[test]
fn keys_select_and_enter_and_go_back() {
    let mut view = TopView::new(processes());
    assert_eq!(view.press(TopKey::Enter), TopAction::Show(Some(4711)), "the one that loses most comes first");
    assert_eq!((view.press(TopKey::Move(1)), view.press(TopKey::Enter)), (TopAction::Stay, TopAction::Show(Some(90))));
    assert_eq!((view.press(TopKey::Sort), view.sorted_by), (TopAction::Stay, "RAN %"));
    assert_eq!(view.press(TopKey::Enter), TopAction::Show(Some(90)), "it stays selected");
    assert_eq!(view.press(TopKey::Back), TopAction::Stay);
    view.update(threads(4));
    assert_eq!((view.selected, view.press(TopKey::Enter)), (0, TopAction::Stay));
    assert_eq!((view.press(TopKey::Back), view.press(TopKey::Quit)), (TopAction::Show(None), TopAction::Quit));
}

#[test]
fn the_selected_process_stays_selected_until_it_has_vanished() {
    let mut view = TopView::new(processes());
    view.press(TopKey::Move(1));
    let mut later = processes();
    later.processes[0].lost = Nanos::from_ms(2_000);
    view.update(later.clone());
    assert_eq!((view.selected, view.press(TopKey::Enter)), (2, TopAction::Show(Some(90))), "another one passed it");
    later.processes.retain(|row| row.process != 90);
    view.update(later.clone());
    assert_eq!(view.press(TopKey::Enter), TopAction::Show(Some(5)), "its neighbour");
    later.processes.clear();
    view.update(later);
    assert_eq!((view.press(TopKey::Move(1)), view.press(TopKey::Enter)), (TopAction::Stay, TopAction::Stay));
    assert!(lines(&mut view, 60, 8).starts_with("0 processes"));
}

#[test]
fn the_window_holds_the_selected_row_and_no_more_rows_than_fit() {
    let mut view = TopView::new(threads(10_000));
    for (by, expected) in [(0, 0..10), (9, 0..10), (1, 1..11), (-5, 1..11), (-6, 0..10), (isize::MAX, 9_990..10_000)] {
        view.press(TopKey::Move(by));
        assert_eq!(view.window(10), expected, "{by}");
        assert!(expected.contains(&view.selected));
    }
    assert_eq!(view.window(0).len(), 0);
    view.update(threads(4));
    assert_eq!((view.window(10), view.selected), (0..4, 3));
}
