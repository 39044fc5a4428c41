//! What is asked for on the command line.
use super::call::BlasCall;
use crate::peer_error::PeerError;
use std::path::PathBuf;

/// The libraries, by their files.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Libraries {
    pub(super) ours: String,
    pub(super) reference: String,
    /// That of the handler of errors.
    pub(super) handler: String,
    /// Others, with their names.
    pub(super) others: Vec<(String, String)>,
}

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    pub(super) libraries: Libraries,
    pub(super) seed: u64,
    /// The first number, and how many.
    pub(super) from: u64,
    pub(super) calls: u64,
    /// No new calls are begun after this time.
    pub(super) seconds: Option<u64>,
    pub(super) call: Option<BlasCall>,
    /// Where the process that makes the calls writes their numbers; then it is this one.
    pub(super) at: Option<PathBuf>,
}

impl Options {
    pub(super) fn parse(words: &[&str]) -> Result<Self, PeerError> {
        let mut options = Self { calls: 100_000, ..Self::default() };
        for pair in words.chunks(2) {
            let [name, value] = pair else {
                return Err(PeerError::Usage(format!("`{}` needs a value", pair[0])));
            };
            let number =
                || value.parse::<u64>().map_err(|_| PeerError::Usage(format!("invalid {name} {value}: expected a number")));
            match *name {
                "--ours" => options.libraries.ours = (*value).to_owned(),
                "--reference" => options.libraries.reference = (*value).to_owned(),
                "--handler" => options.libraries.handler = (*value).to_owned(),
                "--other" => {
                    let other = value
                        .split_once('=')
                        .ok_or_else(|| PeerError::Usage(format!("invalid {name} {value}: expected NAME=FILE")))?;
                    options.libraries.others.push((other.0.to_owned(), other.1.to_owned()));
                }
                "--seed" => options.seed = number()?,
                "--from" => options.from = number()?,
                "--calls" => options.calls = number()?,
                "--seconds" => options.seconds = Some(number()?),
                "--at" => options.at = Some(PathBuf::from(value)),
                "--call" => {
                    let call = BlasCall::parse(value)
                        .ok_or_else(|| PeerError::Usage(format!("invalid --call `{value}`: give a line that was printed")))?;
                    options.call = Some(call);
                }
                _ => return Err(PeerError::Usage(format!("no option `{name}`"))),
            }
        }
        Ok(options)
    }

    /// The words that name the libraries.
    pub(super) fn library_words(&self) -> Vec<String> {
        let Libraries { ours, reference, handler, others } = &self.libraries;
        let mut words: Vec<String> = [("--ours", ours), ("--reference", reference), ("--handler", handler)]
            .into_iter()
            .flat_map(|(name, file)| [name.to_owned(), file.clone()])
            .collect();
        words.extend(others.iter().flat_map(|(name, file)| ["--other".to_owned(), format!("{name}={file}")]));
        words
    }
}
