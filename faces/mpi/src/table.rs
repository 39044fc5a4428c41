//! The functions of MPI, their arguments in C, and what these mean by their places.
//!
//! `waits`: the watcher sees the thread in the call. `returns`: the call is only counted, since it does not
//! wait.
use crate::export::calls;
use crate::record::CallEffect::{self, Activates, Cancels, Ends, FreesCommunicator, Messages, Probes, Starts};

/// A message that is sent to or received from the rank of argument 3 with the tag of argument 4.
const ENDS: Option<(usize, usize)> = Some((3, 4));

const fn sends() -> CallEffect {
    CallEffect::Messages { send: ENDS, receive: None, communicator: 5 }
}

const fn starts(send: bool) -> CallEffect {
    let (send, receive) = if send { (ENDS, None) } else { (None, ENDS) };
    CallEffect::Starts { send, receive, communicator: 5, request: Some(6) }
}

const fn prepares(is_send: bool) -> CallEffect {
    CallEffect::Prepares { is_send, peer: 3, tag: 4, communicator: 5, request: 6 }
}

const fn of_all(communicator: usize) -> CallEffect {
    CallEffect::Collective { root: None, communicator }
}

const fn rooted(root: usize) -> CallEffect {
    CallEffect::Collective { root: Some(root), communicator: root + 1 }
}

const fn makes(new: usize) -> CallEffect {
    CallEffect::Makes { communicator: 0, new }
}

/// The requests of that argument; one if no argument counts them.
const fn requests(count: Option<usize>, requests: usize) -> CallEffect {
    CallEffect::Requests { count, requests }
}

calls! {
    Send send(a b c d e f) waits sends();
    Ssend ssend(a b c d e f) waits sends();
    Rsend rsend(a b c d e f) waits sends();
    Bsend bsend(a b c d e f) waits sends();
    Recv recv(a b c d e f g) waits Messages { send: None, receive: ENDS, communicator: 5 };
    Sendrecv sendrecv(a b c d e f g h i j k l) waits
        Messages { send: ENDS, receive: Some((8, 9)), communicator: 10 };
    Sendrecv_replace sendrecv_replace(a b c d e f g h i) waits
        Messages { send: ENDS, receive: Some((5, 6)), communicator: 7 };
    Probe probe(a b c d) waits Probes { receive: (0, 1), communicator: 2 };
    Mprobe mprobe(a b c d e) waits Messages { send: None, receive: Some((0, 1)), communicator: 2 };

    Isend isend(a b c d e f g) returns starts(true);
    Issend issend(a b c d e f g) returns starts(true);
    Irsend irsend(a b c d e f g) returns starts(true);
    Ibsend ibsend(a b c d e f g) returns starts(true);
    Irecv irecv(a b c d e f g) returns starts(false);
    Isendrecv isendrecv(a b c d e f g h i j k l) returns
        Starts { send: ENDS, receive: Some((8, 9)), communicator: 10, request: None };
    Isendrecv_replace isendrecv_replace(a b c d e f g h i) returns
        Starts { send: ENDS, receive: Some((5, 6)), communicator: 7, request: None };
    Send_init send_init(a b c d e f g) returns prepares(true);
    Ssend_init ssend_init(a b c d e f g) returns prepares(true);
    Rsend_init rsend_init(a b c d e f g) returns prepares(true);
    Bsend_init bsend_init(a b c d e f g) returns prepares(true);
    Recv_init recv_init(a b c d e f g) returns prepares(false);
    Start start(a) returns Activates { count: None, requests: 0 };
    Startall startall(a b) returns Activates { count: Some(0), requests: 1 };
    Wait wait(a b) waits requests(None, 0);
    Waitall waitall(a b c) waits requests(Some(0), 1);
    Waitany waitany(a b c d) waits requests(Some(0), 1);
    Waitsome waitsome(a b c d e) waits requests(Some(0), 1);
    Test test(a b c) returns requests(None, 0);
    Testall testall(a b c d) returns requests(Some(0), 1);
    Testany testany(a b c d e) returns requests(Some(0), 1);
    Testsome testsome(a b c d e) returns requests(Some(0), 1);
    Request_free request_free(a) returns requests(None, 0);
    Cancel cancel(a) returns Cancels { request: 0 };

    Barrier barrier(a) waits of_all(0);
    Allreduce allreduce(a b c d e f) waits of_all(5);
    Allgather allgather(a b c d e f g) waits of_all(6);
    Allgatherv allgatherv(a b c d e f g h) waits of_all(7);
    Alltoall alltoall(a b c d e f g) waits of_all(6);
    Alltoallv alltoallv(a b c d e f g h i) waits of_all(8);
    Alltoallw alltoallw(a b c d e f g h i) waits of_all(8);
    Reduce_scatter reduce_scatter(a b c d e f) waits of_all(5);
    Reduce_scatter_block reduce_scatter_block(a b c d e f) waits of_all(5);
    Bcast bcast(a b c d e) waits rooted(3);
    Scatter scatter(a b c d e f g h) waits rooted(6);
    Scatterv scatterv(a b c d e f g h i) waits rooted(7);
    Reduce reduce(a b c d e f g) waits rooted(5);
    Gather gather(a b c d e f g h) waits rooted(6);
    Gatherv gatherv(a b c d e f g h i) waits rooted(7);
    Scan scan(a b c d e f) waits of_all(5);
    Exscan exscan(a b c d e f) waits of_all(5);

    Comm_dup comm_dup(a b) waits makes(1);
    Comm_dup_with_info comm_dup_with_info(a b c) waits makes(2);
    Comm_split comm_split(a b c d) waits makes(3);
    Comm_split_type comm_split_type(a b c d e) waits makes(4);
    Comm_create comm_create(a b c) waits makes(2);
    Cart_create cart_create(a b c d e f) waits makes(5);
    Cart_sub cart_sub(a b c) waits makes(2);
    Comm_free comm_free(a) waits FreesCommunicator { communicator: 0 };

    Finalize finalize() waits Ends;
}

/// The first call, which has fewer arguments in Fortran.
mod init {
    use crate::export::entry;
    use crate::record::CallEffect;
    use foregather_host::watched::calls::MpiCall;

    const EFFECT: CallEffect = CallEffect::Begins { level: None };
    const CALL: Option<MpiCall> = Some(MpiCall::Init);
    entry! { C "MPI_" "PMPI_" Init "" (a b) }
    entry! { Fortran "mpi_" "pmpi_" init "_" (error) }
    entry! { Fortran "mpi_" "pmpi_" init "_f08_" (error) }
    entry! { Fortran "mpi_" "pmpi_" init "_f08ts_" (error) }
}

/// As [`init`].
mod init_thread {
    use crate::export::entry;
    use crate::record::CallEffect;
    use foregather_host::watched::calls::MpiCall;

    const CALL: Option<MpiCall> = Some(MpiCall::Init_thread);
    mod c {
        use super::*;
        const EFFECT: CallEffect = CallEffect::Begins { level: Some(3) };
        entry! { C "MPI_" "PMPI_" Init_thread "" (a b c d) }
    }
    mod fortran {
        use super::*;
        const EFFECT: CallEffect = CallEffect::Begins { level: Some(1) };
        entry! { Fortran "mpi_" "pmpi_" init_thread "_" (a b error) }
        entry! { Fortran "mpi_" "pmpi_" init_thread "_f08_" (a b error) }
        entry! { Fortran "mpi_" "pmpi_" init_thread "_f08ts_" (a b error) }
    }
}
