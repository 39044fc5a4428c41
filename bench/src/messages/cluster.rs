//! Two ranks over libfabric: processes that tell each other by rank 1's standard streams where their lanes are.
use super::{MessageCell, strange};
use foregather_machine::{Error, Nanos};
use foregather_ofi::{Lane, Opening, Provider};
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Arc;

/// Addresses of lanes are shorter.
const LONGEST: u64 = 1 << 20;

/// The lanes of `rank`, once it has told its address and was told the other's. `job` is the number of rank 0's process.
pub(super) fn lanes(
    plan: &MessageCell,
    (rank, job): (u32, u32),
    provider: &str,
    (tell, told): (&mut dyn Write, &mut dyn Read),
) -> Result<Vec<Lane>, Error> {
    // Both ranks are on this host.
    let host = (provider == "tcp").then_some("127.0.0.1");
    let provider = Arc::new(Provider::open(provider, host)?);
    let opening = Opening::new(provider, (rank, 2), plan.lanes(), &job.to_le_bytes(), None)?;
    let own = opening.address();
    let lost = |error: std::io::Error| strange(format!("the other rank's address: {error}"));
    writeln!(tell, "{}", written(&own)).and_then(|()| tell.flush()).map_err(lost)?;
    let mut line = String::new();
    BufReader::new(told.take(LONGEST)).read_line(&mut line).map_err(lost)?;
    let theirs = read(line.trim()).ok_or_else(|| strange("the other rank's address; its provider may be missing".to_owned()))?;
    opening.connect(&if rank == 0 { [own, theirs] } else { [theirs, own] })
}

/// As one line of text.
fn written(address: &[u8]) -> String {
    address.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let whole = !digits.is_empty() && digits.len().is_multiple_of(2);
    whole.then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Connections are closed in good order, unless that takes longer.
pub(super) const PARTING: Nanos = Nanos::from_ms(5_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_was_written() {
        let address: Vec<u8> = (0..=255).collect();
        assert_eq!(read(&written(&address)), Some(address));
        assert_eq!([read(""), read("abc"), read("zz")], [None, None, None]);
    }
}
