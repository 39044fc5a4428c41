! foregather for Fortran 2003 and later, over iso_c_binding. foregather.h describes the functions.
! SPDX: MIT OR Apache-2.0
!
! Handles are type(c_ptr). Functions return 0 (FG_OK) on success, or a code; fg_message() returns the text of
! the last error.
module foregather
    use, intrinsic :: iso_c_binding
    implicit none

    integer(c_int), parameter :: FG_OK = 0, FG_TIMED_OUT = 1, FG_POISONED = 2, FG_PEER_LOST = 3, FG_CLOSED = 4, &
        FG_SKIPPED = 5, FG_INVALID = 6, FG_SETTING = 7, FG_RANK = 8, FG_LENGTH = 9, FG_IN_PIECES = 10, FG_BUSY = 11, &
        FG_FORKED = 12, FG_DEADLOCK = 13, FG_FAILED = 14, FG_SYSTEM = 15, FG_VERSION_DIFFERS = 16, FG_PANIC = 17, &
        FG_REPLACED = 18
    ! The version of this module: 0.1.0.
    integer(c_int32_t), parameter :: FG_VERSION = 4096_c_int32_t
    integer(c_int64_t), parameter :: FG_INFINITE = -1_c_int64_t

    ! The interfaces of the functions that teams, jobs and locks call. Pass c_funloc of your function.
    abstract interface
        ! The function of a team, called once for each member.
        subroutine fg_work(member, members, data) bind(c)
            import :: c_int32_t, c_ptr
            integer(c_int32_t), value :: member, members
            type(c_ptr), value :: data
        end subroutine
        ! The function of fg_team_split, called once for each part; parts are numbered from 0.
        subroutine fg_part_work(part, data) bind(c)
            import :: c_size_t, c_ptr
            integer(c_size_t), value :: part
            type(c_ptr), value :: data
        end subroutine
        ! The function of a rank, for fg_job and fg_shared.
        integer(c_int) function fg_body(me, data) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: me, data
        end function
        ! The function of fg_shared_lock_with.
        subroutine fg_locked_work(data) bind(c)
            import :: c_ptr
            type(c_ptr), value :: data
        end subroutine
    end interface

    ! Pointers to data and to elements are their c_loc, functions their c_funloc. A size is in bytes, and the
    ! elements of an array count from 0.
    ! Written by faces/c/tests/fortran.rs, from foregather.h.
    interface
        type(c_ptr) function fg_error_message() bind(c)
            import :: c_ptr
        end function
        integer(c_int) function fg_error_code() bind(c)
            import :: c_int
        end function
        integer(c_int) function fg_error_rank() bind(c)
            import :: c_int
        end function
        integer(c_int64_t) function fg_error_messages() bind(c)
            import :: c_int64_t
        end function
        integer(c_int) function fg_check_version(major, minor) bind(c)
            import :: c_int, c_int32_t
            integer(c_int32_t), value :: major, minor
        end function
        integer(c_int) function fg_barrier_create_of(version, size, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            integer(c_int32_t), value :: version, size
            type(c_ptr), intent(out) :: into
        end function
        integer(c_int) function fg_barrier_wait(barrier, timeout_ns, is_leader) bind(c)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: barrier
            integer(c_int64_t), value :: timeout_ns
            integer(c_int), intent(out) :: is_leader
        end function
        integer(c_int) function fg_barrier_destroy(barrier) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: barrier
        end function
        integer(c_int) function fg_barrier_members_of(version, size, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            integer(c_int32_t), value :: version, size
            type(c_ptr), intent(out) :: into(*)
        end function
        integer(c_int) function fg_barrier_member_wait(member, timeout_ns, is_leader) bind(c)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: member
            integer(c_int64_t), value :: timeout_ns
            integer(c_int), intent(out) :: is_leader
        end function
        integer(c_int) function fg_barrier_member_harmonize(member, slack_ns, late_ns) bind(c)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: member
            integer(c_int64_t), value :: slack_ns
            integer(c_int64_t), intent(out) :: late_ns
        end function
        integer(c_int) function fg_barrier_member_rank(member, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: member
            integer(c_int32_t), intent(out) :: into
        end function
        integer(c_int) function fg_barrier_member_statistics(member, into, size, length) bind(c)
            import :: c_int, c_size_t, c_ptr
            type(c_ptr), value :: member, into
            integer(c_size_t), value :: size
            integer(c_size_t), intent(out) :: length
        end function
        integer(c_int) function fg_barrier_member_destroy(member) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: member
        end function
        integer(c_int) function fg_team_create_of(version, members, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            integer(c_int32_t), value :: version, members
            type(c_ptr), intent(out) :: into
        end function
        integer(c_int) function fg_team_global_of(version, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            integer(c_int32_t), value :: version
            type(c_ptr), intent(out) :: into
        end function
        integer(c_int) function fg_team_run(team, work, data) bind(c)
            import :: c_int, c_ptr, c_funptr
            type(c_ptr), value :: team
            type(c_funptr), value :: work
            type(c_ptr), value :: data
        end function
        integer(c_int) function fg_team_split(team, parts, work, data) bind(c)
            import :: c_int, c_size_t, c_ptr, c_funptr
            type(c_ptr), value :: team
            integer(c_size_t), value :: parts
            type(c_funptr), value :: work
            type(c_ptr), value :: data
        end function
        integer(c_int) function fg_team_members(team, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: team
            integer(c_int32_t), intent(out) :: into
        end function
        integer(c_int) function fg_team_statistics(team, into, size, length) bind(c)
            import :: c_int, c_size_t, c_ptr
            type(c_ptr), value :: team, into
            integer(c_size_t), value :: size
            integer(c_size_t), intent(out) :: length
        end function
        integer(c_int) function fg_team_destroy(team) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: team
        end function
        integer(c_int) function fg_broadcast_create_of(version, readers, bytes, into) bind(c)
            import :: c_int, c_int32_t, c_size_t, c_ptr
            integer(c_int32_t), value :: version, readers
            integer(c_size_t), value :: bytes
            type(c_ptr), intent(out) :: into
        end function
        integer(c_int) function fg_broadcast_skipping_of(version, readers, bytes, into) bind(c)
            import :: c_int, c_int32_t, c_size_t, c_ptr
            integer(c_int32_t), value :: version, readers
            integer(c_size_t), value :: bytes
            type(c_ptr), intent(out) :: into
        end function
        integer(c_int) function fg_broadcast_attach_of(version, descriptor, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            integer(c_int32_t), value :: version
            integer(c_int), value :: descriptor
            type(c_ptr), intent(out) :: into
        end function
        integer(c_int) function fg_broadcast_fd(broadcast, into) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: broadcast
            integer(c_int), intent(out) :: into
        end function
        integer(c_int) function fg_broadcast_readers(broadcast, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: broadcast
            integer(c_int32_t), intent(out) :: into
        end function
        integer(c_int) function fg_broadcast_writer(broadcast, into) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: broadcast
            type(c_ptr), intent(out) :: into
        end function
        integer(c_int) function fg_broadcast_reader(broadcast, rank, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: broadcast
            integer(c_int32_t), value :: rank
            type(c_ptr), intent(out) :: into
        end function
        integer(c_int) function fg_broadcast_replace(broadcast, rank, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: broadcast
            integer(c_int32_t), value :: rank
            type(c_ptr), intent(out) :: into
        end function
        integer(c_int) function fg_broadcast_destroy(broadcast) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: broadcast
        end function
        integer(c_int) function fg_writer_send(writer, timeout_ns, data, bytes) bind(c)
            import :: c_int, c_int64_t, c_size_t, c_ptr
            type(c_ptr), value :: writer
            integer(c_int64_t), value :: timeout_ns
            type(c_ptr), value :: data
            integer(c_size_t), value :: bytes
        end function
        integer(c_int) function fg_writer_lost(writer, into, capacity, count) bind(c)
            import :: c_int, c_int32_t, c_size_t, c_ptr
            type(c_ptr), value :: writer
            integer(c_int32_t), intent(out) :: into(*)
            integer(c_size_t), value :: capacity
            integer(c_size_t), intent(out) :: count
        end function
        integer(c_int) function fg_writer_statistics(writer, into, size, length) bind(c)
            import :: c_int, c_size_t, c_ptr
            type(c_ptr), value :: writer, into
            integer(c_size_t), value :: size
            integer(c_size_t), intent(out) :: length
        end function
        integer(c_int) function fg_writer_destroy(writer) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: writer
        end function
        integer(c_int) function fg_reader_receive(reader, timeout_ns, into, capacity, bytes) bind(c)
            import :: c_int, c_int64_t, c_size_t, c_ptr
            type(c_ptr), value :: reader
            integer(c_int64_t), value :: timeout_ns
            type(c_ptr), value :: into
            integer(c_size_t), value :: capacity
            integer(c_size_t), intent(out) :: bytes
        end function
        integer(c_int) function fg_reader_pass(reader) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: reader
        end function
        integer(c_int) function fg_reader_is_ready(reader, into) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: reader
            integer(c_int), intent(out) :: into
        end function
        integer(c_int) function fg_reader_statistics(reader, into, size, length) bind(c)
            import :: c_int, c_size_t, c_ptr
            type(c_ptr), value :: reader, into
            integer(c_size_t), value :: size
            integer(c_size_t), intent(out) :: length
        end function
        integer(c_int) function fg_reader_destroy(reader) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: reader
        end function
        integer(c_int) function fg_shared_barrier_create_of(version, size, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            integer(c_int32_t), value :: version, size
            type(c_ptr), intent(out) :: into
        end function
        integer(c_int) function fg_shared_barrier_attach_of(version, descriptor, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            integer(c_int32_t), value :: version
            integer(c_int), value :: descriptor
            type(c_ptr), intent(out) :: into
        end function
        integer(c_int) function fg_shared_barrier_fd(barrier, into) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: barrier
            integer(c_int), intent(out) :: into
        end function
        integer(c_int) function fg_shared_barrier_size(barrier, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: barrier
            integer(c_int32_t), intent(out) :: into
        end function
        integer(c_int) function fg_shared_barrier_member(barrier, rank, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: barrier
            integer(c_int32_t), value :: rank
            type(c_ptr), intent(out) :: into
        end function
        integer(c_int) function fg_shared_barrier_destroy(barrier) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: barrier
        end function
        integer(c_int) function fg_shared_member_wait(member, timeout_ns) bind(c)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: member
            integer(c_int64_t), value :: timeout_ns
        end function
        integer(c_int) function fg_shared_member_statistics(member, into, size, length) bind(c)
            import :: c_int, c_size_t, c_ptr
            type(c_ptr), value :: member, into
            integer(c_size_t), value :: size
            integer(c_size_t), intent(out) :: length
        end function
        integer(c_int) function fg_shared_member_destroy(member) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: member
        end function
        integer(c_int) function fg_job_of(version, ranks, body, data) bind(c)
            import :: c_int, c_int32_t, c_ptr, c_funptr
            integer(c_int32_t), value :: version, ranks
            type(c_funptr), value :: body
            type(c_ptr), value :: data
        end function
        integer(c_int) function fg_comm_rank(me, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: me
            integer(c_int32_t), intent(out) :: into
        end function
        integer(c_int) function fg_comm_size(me, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: me
            integer(c_int32_t), intent(out) :: into
        end function
        integer(c_int) function fg_comm_send(me, timeout_ns, to, data, bytes) bind(c)
            import :: c_int, c_int32_t, c_int64_t, c_size_t, c_ptr
            type(c_ptr), value :: me
            integer(c_int64_t), value :: timeout_ns
            integer(c_int32_t), value :: to
            type(c_ptr), value :: data
            integer(c_size_t), value :: bytes
        end function
        integer(c_int) function fg_comm_receive(me, timeout_ns, from, into, capacity, bytes) bind(c)
            import :: c_int, c_int32_t, c_int64_t, c_size_t, c_ptr
            type(c_ptr), value :: me
            integer(c_int64_t), value :: timeout_ns
            integer(c_int32_t), value :: from
            type(c_ptr), value :: into
            integer(c_size_t), value :: capacity
            integer(c_size_t), intent(out) :: bytes
        end function
        integer(c_int) function fg_comm_exchange(me, timeout_ns, peer, data, bytes_out, into, capacity, bytes) bind(c)
            import :: c_int, c_int32_t, c_int64_t, c_size_t, c_ptr
            type(c_ptr), value :: me
            integer(c_int64_t), value :: timeout_ns
            integer(c_int32_t), value :: peer
            type(c_ptr), value :: data
            integer(c_size_t), value :: bytes_out
            type(c_ptr), value :: into
            integer(c_size_t), value :: capacity
            integer(c_size_t), intent(out) :: bytes
        end function
        integer(c_int) function fg_comm_barrier(me, timeout_ns) bind(c)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: me
            integer(c_int64_t), value :: timeout_ns
        end function
        integer(c_int) function fg_comm_sum_double(me, timeout_ns, value) bind(c)
            import :: c_int, c_int64_t, c_double, c_ptr
            type(c_ptr), value :: me
            integer(c_int64_t), value :: timeout_ns
            real(c_double), intent(inout) :: value
        end function
        integer(c_int) function fg_comm_sum_int64(me, timeout_ns, value) bind(c)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: me
            integer(c_int64_t), value :: timeout_ns
            integer(c_int64_t), intent(inout) :: value
        end function
        integer(c_int) function fg_comm_broadcast(me, timeout_ns, root, data, bytes) bind(c)
            import :: c_int, c_int32_t, c_int64_t, c_size_t, c_ptr
            type(c_ptr), value :: me
            integer(c_int64_t), value :: timeout_ns
            integer(c_int32_t), value :: root
            type(c_ptr), value :: data
            integer(c_size_t), value :: bytes
        end function
        integer(c_int) function fg_shared_of(version, ranks, body, data) bind(c)
            import :: c_int, c_int32_t, c_ptr, c_funptr
            integer(c_int32_t), value :: version, ranks
            type(c_funptr), value :: body
            type(c_ptr), value :: data
        end function
        integer(c_int) function fg_memory_rank(me, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: me
            integer(c_int32_t), intent(out) :: into
        end function
        integer(c_int) function fg_memory_size(me, into) bind(c)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: me
            integer(c_int32_t), intent(out) :: into
        end function
        integer(c_int) function fg_memory_barrier(me, timeout_ns) bind(c)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: me
            integer(c_int64_t), value :: timeout_ns
        end function
        integer(c_int) function fg_memory_sum_double(me, timeout_ns, value) bind(c)
            import :: c_int, c_int64_t, c_double, c_ptr
            type(c_ptr), value :: me
            integer(c_int64_t), value :: timeout_ns
            real(c_double), intent(inout) :: value
        end function
        integer(c_int) function fg_memory_sum_int64(me, timeout_ns, value) bind(c)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: me
            integer(c_int64_t), value :: timeout_ns
            integer(c_int64_t), intent(inout) :: value
        end function
        integer(c_int) function fg_memory_array(me, timeout_ns, bytes, count, into) bind(c)
            import :: c_int, c_int64_t, c_size_t, c_ptr
            type(c_ptr), value :: me
            integer(c_int64_t), value :: timeout_ns
            integer(c_size_t), value :: bytes, count
            type(c_ptr), intent(out) :: into
        end function
        integer(c_int) function fg_memory_lock(me, timeout_ns, into) bind(c)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: me
            integer(c_int64_t), value :: timeout_ns
            type(c_ptr), intent(out) :: into
        end function
        integer(c_int) function fg_shared_array_load(array, first, count, into) bind(c)
            import :: c_int, c_size_t, c_ptr
            type(c_ptr), value :: array
            integer(c_size_t), value :: first, count
            type(c_ptr), value :: into
        end function
        integer(c_int) function fg_shared_array_store(array, first, count, from) bind(c)
            import :: c_int, c_size_t, c_ptr
            type(c_ptr), value :: array
            integer(c_size_t), value :: first, count
            type(c_ptr), value :: from
        end function
        integer(c_int) function fg_shared_lock_with(lock, timeout_ns, work, data) bind(c)
            import :: c_int, c_int64_t, c_ptr, c_funptr
            type(c_ptr), value :: lock
            integer(c_int64_t), value :: timeout_ns
            type(c_funptr), value :: work
            type(c_ptr), value :: data
        end function
    end interface
    ! End of what is written.

contains

    ! Returns the text of this thread's last error.
    function fg_message() result(message)
        character(:), allocatable :: message
        character(kind=c_char), pointer :: bytes(:)
        type(c_ptr) :: text
        integer :: at
        interface
            integer(c_size_t) function c_strlen(text) bind(c, name='strlen')
                import :: c_size_t, c_ptr
                type(c_ptr), value :: text
            end function
        end interface

        text = fg_error_message()
        call c_f_pointer(text, bytes, [c_strlen(text)])
        allocate (character(size(bytes)) :: message)
        do at = 1, size(bytes)
            message(at:at) = bytes(at)
        end do
    end function

    integer(c_int) function fg_barrier_create(size, into)
        integer(c_int32_t), intent(in) :: size
        type(c_ptr), intent(out) :: into
        fg_barrier_create = fg_barrier_create_of(FG_VERSION, size, into)
    end function

    integer(c_int) function fg_barrier_members(size, into)
        integer(c_int32_t), intent(in) :: size
        type(c_ptr), intent(out) :: into(*)
        fg_barrier_members = fg_barrier_members_of(FG_VERSION, size, into)
    end function

    integer(c_int) function fg_team_global(into)
        type(c_ptr), intent(out) :: into
        fg_team_global = fg_team_global_of(FG_VERSION, into)
    end function

    integer(c_int) function fg_team_create(members, into)
        integer(c_int32_t), intent(in) :: members
        type(c_ptr), intent(out) :: into
        fg_team_create = fg_team_create_of(FG_VERSION, members, into)
    end function

    integer(c_int) function fg_broadcast_create(readers, bytes, into)
        integer(c_int32_t), intent(in) :: readers
        integer(c_size_t), intent(in) :: bytes
        type(c_ptr), intent(out) :: into
        fg_broadcast_create = fg_broadcast_create_of(FG_VERSION, readers, bytes, into)
    end function

    integer(c_int) function fg_broadcast_skipping(readers, bytes, into)
        integer(c_int32_t), intent(in) :: readers
        integer(c_size_t), intent(in) :: bytes
        type(c_ptr), intent(out) :: into
        fg_broadcast_skipping = fg_broadcast_skipping_of(FG_VERSION, readers, bytes, into)
    end function

    integer(c_int) function fg_broadcast_attach(descriptor, into)
        integer(c_int), intent(in) :: descriptor
        type(c_ptr), intent(out) :: into
        fg_broadcast_attach = fg_broadcast_attach_of(FG_VERSION, descriptor, into)
    end function

    integer(c_int) function fg_shared_barrier_create(size, into)
        integer(c_int32_t), intent(in) :: size
        type(c_ptr), intent(out) :: into
        fg_shared_barrier_create = fg_shared_barrier_create_of(FG_VERSION, size, into)
    end function

    integer(c_int) function fg_shared_barrier_attach(descriptor, into)
        integer(c_int), intent(in) :: descriptor
        type(c_ptr), intent(out) :: into
        fg_shared_barrier_attach = fg_shared_barrier_attach_of(FG_VERSION, descriptor, into)
    end function

    integer(c_int) function fg_job(ranks, body, data)
        integer(c_int32_t), intent(in) :: ranks
        type(c_funptr), value :: body
        type(c_ptr), intent(in) :: data
        fg_job = fg_job_of(FG_VERSION, ranks, body, data)
    end function

    integer(c_int) function fg_shared(ranks, body, data)
        integer(c_int32_t), intent(in) :: ranks
        type(c_funptr), value :: body
        type(c_ptr), intent(in) :: data
        fg_shared = fg_shared_of(FG_VERSION, ranks, body, data)
    end function
end module
