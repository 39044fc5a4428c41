//! System calls on closed pages: refused when the faulting thread would have to serve itself, served by a thread of the space.
use super::*;
use core::ffi::c_void;
use std::fs::File;
use std::os::fd::AsRawFd;

/// `read` of 100 bytes to a closed page: what it returns, or the error.
fn read_zeros(space: &Space) -> Result<isize, i32> {
    let zeros = File::open("/dev/zero").unwrap();
    let into: *mut c_void = space.application(0, 0).cast();
    // SAFETY: a page of the view, to which nobody has a reference; the kernel refuses what it may not write.
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
