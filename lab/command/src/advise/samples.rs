//! Reads samples from the page and finds out which file each address belongs to, while the process is there.
use super::symbols::{self, CodeFile};
use foregather_host::watched::code::{self, CodeMapping};
use foregather_host::watched::page::{RecordedSample, SampleRecord, WatchPage};
use foregather_machine::Nanos;
use foregather_watch::{SampleTally, SampledFunction};
use std::collections::BTreeMap;

/// The number of a file, and where in it.
pub(super) type CodePlace = (usize, u64);

/// A process that loads libraries is looked at again after that time at most.
const AGAIN: Nanos = Nanos::from_ms(100);

pub(super) struct SampleReader {
    next: u64,
    tally: SampleTally<CodePlace>,
    files: Vec<CodeFile>,
    /// The code of each process, and when it was read.
    code: BTreeMap<u32, (Nanos, Vec<CodeMapping>)>,
}

impl SampleReader {
    pub(super) fn new() -> Self {
        let files = vec![CodeFile { path: symbols::UNKNOWN.to_owned(), inode: 0 }];
        Self { next: 0, tally: SampleTally::default(), files, code: BTreeMap::new() }
    }

    /// Takes what is new.
    pub(super) fn take(&mut self, page: WatchPage) {
        let mut found = Vec::new();
        self.tally.lost += page.samples(&mut self.next, |record| found.push(record));
        for record in found {
            match record {
                SampleRecord::Sample(sample) => {
                    let place = self.place(&sample);
                    self.tally.add(sample.thread, sample.activity, sample.at, place);
                }
                SampleRecord::Late { thread, second, arrived } => self.tally.settle(thread, second, arrived),
            }
        }
    }

    fn place(&mut self, sample: &RecordedSample) -> CodePlace {
        let (read_at, code) = self.code.entry(sample.process).or_insert((Nanos::ZERO, Vec::new()));
        if code::find(code, sample.address).is_none() && sample.at - *read_at >= AGAIN {
            *read_at = sample.at;
            let now = code::read(sample.process);
            // What is known of a process that has exited stays.
            if !now.is_empty() {
                *code = now;
            }
        }
        let Some(mapping) = code::find(code, sample.address) else { return (0, 0) };
        let offset = sample.address - mapping.from + mapping.offset;
        let is_it = |file: &CodeFile| file.path == mapping.path && file.inode == mapping.inode;
        let file = self.files.iter().position(is_it).unwrap_or_else(|| {
            self.files.push(CodeFile { path: mapping.path.clone(), inode: mapping.inode });
            self.files.len() - 1
        });
        (file, offset)
    }

    /// The samples by function.
    pub(super) fn finish(self) -> SampleTally<SampledFunction> {
        let mut offsets: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        self.tally.places().for_each(|(file, offset)| offsets.entry(*file).or_default().push(*offset));
        let mut functions: BTreeMap<CodePlace, SampledFunction> = BTreeMap::new();
        for (file, offsets) in offsets {
            let names = symbols::names(&self.files[file], &offsets);
            let function = |name| symbols::function(&self.files[file], name);
            functions.extend(offsets.into_iter().zip(names).map(|(offset, name)| ((file, offset), function(name))));
        }
        let unknown = symbols::function(&self.files[0], None);
        self.tally.at_places(|place| functions.get(place).unwrap_or(&unknown).clone())
    }
}
