//! A wait that times out names the missing member, and the next wait continues the same episode. After a
//! member has left, all later errors name it.
//!
//! `cargo add foregather --no-default-features`
use foregather::{Barrier, WaitError};
use std::thread;
use std::time::Duration;

fn main() -> Result<(), WaitError> {
    let mut members = Barrier::new(2).members();
    let (mut first, mut second) = (members.next().expect("two"), members.next().expect("two"));
    let late = thread::Builder::new().name("late".to_owned());
    let late = late.spawn(move || {
        second.wait()?;
        thread::sleep(Duration::from_millis(50));
        second.wait().map(drop)
    });
    first.wait()?;
    let mut timeouts = 0;
    while let Err(error) = first.wait_timeout(Duration::from_millis(10)) {
        if !error.is_timed_out() {
            return Err(error);
        }
        timeouts += 1;
        println!("{error}");
    }
    println!("met after {timeouts} timeouts");
    late.expect("a thread can be started").join().expect("it does not panic")?;
    // The other member is gone: this wait can never succeed.
    println!("{}", first.wait().expect_err("it has left"));
    Ok(())
}
