//! The state of the live view: what is selected, how rows are sorted, and what a key does. No terminal here.
use super::picture::TopPicture;
use std::ops::Range;

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TopKey {
    /// Selects the row at this distance below; above if negative.
    Move(isize),
    /// Shows the threads of the selected process.
    Enter,
    /// Goes back to all processes.
    Back,
    /// Sorts by the next column.
    Sort,
    /// Ends the view.
    Quit,
}

/// What the view cannot do itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TopAction {
    /// Nothing.
    Stay,
    /// Look at this process, or at all.
    Show(Option<u32>),
    /// End.
    Quit,
}

/// A picture, as a user looks at it.
pub(super) struct TopView {
    pub(super) picture: TopPicture,
    /// How often each kind of rows was sorted by the next column: processes, threads.
    sorts: [usize; 2],
    pub(super) sorted_by: &'static str,
    pub(super) order: Vec<usize>,
    /// The place of the selected row in the order.
    pub(super) selected: usize,
    /// The first row that is shown.
    first: usize,
}

impl TopView {
    pub(super) fn new(picture: TopPicture) -> Self {
        let mut view = Self { picture, sorts: [0; 2], sorted_by: "", order: Vec::new(), selected: 0, first: 0 };
        view.sort();
        view
    }

    /// Shows a newer picture. The selected process or thread stays selected as long as it is there.
    pub(super) fn update(&mut self, picture: TopPicture) {
        let kept = self.selected_id().filter(|_| picture.process == self.picture.process);
        if kept.is_none() {
            (self.selected, self.first) = (0, 0);
        }
        self.picture = picture;
        self.sort();
        self.select(kept);
    }

    /// Does what a key asks for.
    pub(super) fn press(&mut self, key: TopKey) -> TopAction {
        match key {
            TopKey::Move(by) => {
                self.selected = self.selected.saturating_add_signed(by).min(self.order.len().saturating_sub(1));
                TopAction::Stay
            }
            TopKey::Sort => {
                let kept = self.selected_id();
                self.sorts[self.kind()] += 1;
                self.sort();
                self.select(kept);
                TopAction::Stay
            }
            TopKey::Enter => match (self.picture.process, self.selected_id()) {
                (None, Some(process)) => TopAction::Show(Some(process)),
                _ => TopAction::Stay,
            },
            TopKey::Back if self.picture.process.is_some() => TopAction::Show(None),
            TopKey::Back => TopAction::Stay,
            TopKey::Quit => TopAction::Quit,
        }
    }

    /// The places in the order that a table of this height shows, the selected one among them.
    pub(super) fn window(&mut self, height: usize) -> Range<usize> {
        let last_first = self.order.len().saturating_sub(height);
        let lowest = (self.selected + 1).saturating_sub(height);
        self.first = self.first.clamp(lowest, self.selected.max(lowest)).min(last_first);
        self.first..(self.first + height).min(self.order.len())
    }

    fn kind(&self) -> usize {
        usize::from(self.picture.process.is_some())
    }

    fn selected_id(&self) -> Option<u32> {
        self.order.get(self.selected).map(|&row| self.picture.id(row))
    }

    fn sort(&mut self) {
        (self.sorted_by, self.order) = self.picture.order(self.sorts[self.kind()]);
    }

    fn select(&mut self, id: Option<u32>) {
        let place = id.and_then(|id| self.order.iter().position(|&row| self.picture.id(row) == id));
        self.selected = place.unwrap_or(self.selected).min(self.order.len().saturating_sub(1));
    }
}
