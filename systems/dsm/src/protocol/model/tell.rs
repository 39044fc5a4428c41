//! Descriptions of steps, for traces.
use super::super::server_of;
use super::host::{Doing, lane_of};
use super::state::GlobalState;
use super::step::Transition;

impl GlobalState {
    /// Returns a description of what `step` is about to do.
    pub(super) fn tell(&self, step: Transition) -> String {
        match step {
            Transition::Take(rank, from) => match self.peek(from, server_of(rank)) {
                Some(packet) => format!("host {rank}, server: takes {:?} from host {}", packet.message, from.rank),
                None => format!("host {rank}, server: nothing"),
            },
            Transition::Serve(rank) => format!("host {rank}, server: {:?}", self.host(rank).todo.actions.front()),
            Transition::Leave(rank, at) => {
                format!("host {rank}, thread {}: leaves {:?}", at + 1, self.host(rank).threads[at].held)
            }
            Transition::Post(rank, at, flag) => format!("host {rank}, thread {}: posts {flag:?}", at + 1),
            Transition::Start(rank, at, op) => format!("host {rank}, thread {}: begins {op:?}", at + 1),
            Transition::Go(rank, at) => {
                let here = lane_of(rank, at);
                let doing = match &self.host(rank).threads[at].doing {
                    Doing::Asked(_) => {
                        let reply = self.senders(here).next().and_then(|from| self.peek(from, here));
                        format!("takes the reply {:?}", reply.map(|packet| packet.message))
                    }
                    Doing::Settling(todo, _) => format!("{:?}", todo.actions.front()),
                    Doing::Trying(op) => format!("tries {op:?}"),
                    doing => format!("{doing:?}"),
                };
                format!("host {rank}, thread {}: {doing}", at + 1)
            }
        }
    }
}
