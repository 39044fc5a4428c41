//! The least that a program can do with libfabric: a receive that stands open, a send, and looks at the
//! queue. Messages are compared with it.
use crate::endpoint::ActiveEndpoint;
use core::ptr::null_mut;

/// The context that libfabric writes into while an operation is under way.
#[repr(align(64))]
struct Context([u8; 64]);

/// One end of two.
pub struct Bare {
    endpoint: ActiveEndpoint,
    peer: u64,
    contexts: Box<[Context; 2]>,
    received: bool,
    sent: bool,
}

const RECEIVE: usize = 0;
const SEND: usize = 1;

impl Bare {
    /// An end; the name is that of the other end.
    pub fn new(endpoint: ActiveEndpoint, peer: &[u8]) -> Self {
        let peer = endpoint.insert(peer).expect("a name of libfabric's");
        Self { endpoint, peer, contexts: Box::new([const { Context([0; 64]) }; 2]), received: false, sent: true }
    }

    fn look(&mut self) {
        let (receive, send) = (&raw mut self.contexts[RECEIVE], &raw mut self.contexts[SEND]);
        let (received, sent) = (&mut self.received, &mut self.sent);
        self.endpoint.poll(|completion| {
            assert_eq!(completion.error, 0, "an operation failed");
            *received |= completion.context == receive.cast();
            *sent |= completion.context == send.cast();
        });
    }

    /// Calls `begin` until libfabric has room for the operation.
    fn begun(&mut self, mut begin: impl FnMut(&mut Self) -> isize) {
        loop {
            match begin(self) {
                0 => return,
                again if again == -(libc::EAGAIN as isize) => self.look(),
                error => panic!("libfabric refuses: {error}"),
            }
        }
    }

    fn open(&mut self, into: &mut [u8]) {
        self.received = false;
        // SAFETY: the caller waits for the completion before it returns, and `into` and the context live
        // until then.
        self.begun(|end| unsafe {
            let context = (&raw mut end.contexts[RECEIVE]).cast();
            end.endpoint.receive(into.as_mut_ptr(), into.len(), null_mut(), context)
        });
    }

    fn send(&mut self, bytes: &[u8]) {
        if bytes.len() <= self.endpoint.provider().inject_size() {
            return self.begun(|end| end.endpoint.inject(bytes, end.peer, 0));
        }
        self.sent = false;
        // SAFETY: the caller waits for the completion before it returns, and `bytes` and the context live
        // until then.
        self.begun(|end| unsafe {
            let context = (&raw mut end.contexts[SEND]).cast();
            end.endpoint.send((bytes.as_ptr(), bytes.len()), null_mut(), end.peer, 0, context)
        });
    }

    fn wait(&mut self) {
        while !self.received || !self.sent {
            self.look();
        }
    }

    /// Sends `rounds` messages there and as many back.
    pub fn ping_pong(&mut self, rounds: u32, first: bool, bytes: &[u8], into: &mut [u8]) {
        self.open(into);
        for round in 0..rounds {
            if first {
                self.send(bytes);
            }
            self.wait();
            let more = round + 1 < rounds;
            if more {
                self.open(into);
            }
            if !first {
                self.send(bytes);
            }
        }
        while !self.sent {
            self.look();
        }
    }
}
