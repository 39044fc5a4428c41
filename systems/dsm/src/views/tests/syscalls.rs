//! System calls on closed pages: they fail if the faulting thread would have to serve itself, and work if a
//! thread of the space serves them.
use super::*;
use crate::memory::{self, Array, Settings, SharedAllocator, lanes, run};
use core::ffi::c_void;
use foregather_machine::Address;
use foregather_shm::ShmFabric;
use std::fs::File;
use std::os::fd::AsRawFd;

/// Calls `read` for 100 bytes into a closed page, and returns its result or the error.
fn read_zeros(space: &Space) -> Result<isize, i32> {
    let zeros = File::open("/dev/zero").unwrap();
    let into: *mut c_void = space.application(0, 0).cast();
    // SAFETY: a page of the view, to which there is no reference; the kernel refuses what it may not write.
    let done = unsafe { libc::read(zeros.as_raw_fd(), into, 100) };
    if done < 0 { Err(std::io::Error::last_os_error().raw_os_error().unwrap()) } else { Ok(done) }
}

#[test]
fn a_system_call_on_a_closed_page_works_only_if_a_thread_serves_it() {
    for backend in backends() {
        let opener = Opener::new(backend, 1, 1);
        opener.space.write(0, &[7; 200]).unwrap();
        let _serving = opener.space.serve(Arc::clone(&opener) as _).unwrap();
        let wanted = if backend == Backend::UserfaultThread { Ok(100) } else { Err(libc::EFAULT) };
        assert_eq!(read_zeros(&opener.space), wanted, "{backend:?}");
        let mut bytes = [0; 200];
        opener.space.read(0, &mut bytes).unwrap();
        let written = bytes.iter().filter(|&&byte| byte == 0).count();
        assert_eq!(written, wanted.unwrap_or(0) as usize, "{backend:?}");
        assert_eq!(opener.seen().len(), usize::from(wanted.is_ok()), "{backend:?}");
    }
}

#[test]
fn a_system_call_on_an_open_page_works() {
    for backend in backends() {
        let opener = Opener::new(backend, 1, 1);
        opener.space.open(page(0, 0), Access::None, Access::Write).unwrap();
        assert_eq!(read_zeros(&opener.space), Ok(100), "{backend:?}");
    }
}

/// Writes the bytes of an element to a pipe, and reads them from there into the next element.
fn through_a_pipe(words: &Array<u64>) -> Result<(), i32> {
    let (out, into) = rustix::pipe::pipe().unwrap();
    let done = |bytes: isize| {
        let errno = (bytes < 0).then(|| std::io::Error::last_os_error().raw_os_error().unwrap());
        assert!(errno.is_some() || bytes == 8, "{bytes} bytes");
        errno.map_or(Ok(()), Err)
    };
    // SAFETY: 8 bytes of a shared array, to which there is no reference; the kernel refuses what it may not
    // read.
    done(unsafe { libc::write(into.as_raw_fd(), words.pointer(0).cast(), 8) })?;
    // SAFETY: 8 bytes of a shared array, to which there is no reference; the kernel refuses what it may not
    // write.
    done(unsafe { libc::read(out.as_raw_fd(), words.pointer(1).cast(), 8) })
}

#[test]
fn a_program_hands_shared_memory_to_system_calls_if_a_thread_serves_its_faults() {
    for backend in backends() {
        let exchange = &ShmFabric::between_threads(foregather_shm::SegmentSpec::new(2, lanes(2))).unwrap();
        let settings = Settings { bytes: 1 << 16, threads: 2, backend: Some(backend), ..Settings::default() };
        let ends = std::thread::scope(|scope| {
            let rank = |rank| {
                scope.spawn(move || {
                    let lane = |lane| exchange.lane(foregather_thread::Thread::current(), Address { rank, lane }).unwrap();
                    let layout = |layout: &mut SharedAllocator| layout.array::<u64>(2, 1);
                    let program = |thread: &memory::Thread<'_, _>, words: &Array<u64>| {
                        if thread.number() == 0 {
                            words.set(0, 77);
                        }
                        thread.barrier()?;
                        let end = if thread.number() == 3 { through_a_pipe(words) } else { Ok(()) };
                        thread.barrier()?;
                        Ok((end, words.get(1)))
                    };
                    run((0..lanes(2)).map(lane).collect(), settings, layout, program).unwrap().leave()
                })
            };
            [rank(0), rank(1)].map(|rank| rank.join().unwrap()).into_iter().flatten().map(|end| end.result).collect::<Vec<_>>()
        });
        let works = backend == Backend::UserfaultThread;
        assert_eq!(ends[3].0, if works { Ok(()) } else { Err(libc::EFAULT) }, "{backend:?}");
        assert!(ends.iter().all(|end| end.1 == if works { 77 } else { 0 }), "{backend:?}: {ends:?}");
    }
}
