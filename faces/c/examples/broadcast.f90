! A queue carries ten numbers from its writer to its reader, and the members of a team add up what came.
module work
    use foregather
    implicit none
    real(c_double), target :: numbers(10)
    real(c_double) :: sums(0:1) = 0
contains
    subroutine add(member, members, data) bind(c)
        integer(c_int32_t), value :: member, members
        type(c_ptr), value :: data
        real(c_double), pointer :: all(:)
        call c_f_pointer(data, all, [10])
        sums(member) = sum(all(1 + member:10:members))
    end subroutine
end module

program broadcast
    use work
    implicit none
    type(c_ptr) :: queue, writer, reader, team
    real(c_double), target :: out(10), long(2)
    integer(c_size_t) :: bytes
    integer(c_int) :: code
    integer :: at

    call check(fg_broadcast_create(1_c_int32_t, 4096_c_size_t, queue))
    call check(fg_broadcast_writer(queue, writer))
    call check(fg_broadcast_reader(queue, 1_c_int32_t, reader))
    out = [(real(at, c_double), at=1, 10)]
    call check(fg_writer_send(writer, FG_INFINITE, c_loc(out), 80_c_size_t))
    call check(fg_writer_destroy(writer))
    ! It does not fit, and stays.
    code = fg_reader_receive(reader, FG_INFINITE, c_loc(long), 16_c_size_t, bytes)
    if (code /= FG_LENGTH .or. bytes /= 80) error stop 'a message that does not fit'
    call check(fg_reader_receive(reader, FG_INFINITE, c_loc(numbers), 80_c_size_t, bytes))
    code = fg_reader_receive(reader, FG_INFINITE, c_loc(numbers), 80_c_size_t, bytes)

    call check(fg_team_create(2_c_int32_t, team))
    call check(fg_team_run(team, c_funloc(add), c_loc(numbers)))
    print '(f0.0,1x,i0,1x,a)', sum(sums), code, fg_message()
    call check(fg_team_destroy(team))
    call check(fg_reader_destroy(reader))
    call check(fg_broadcast_destroy(queue))
contains
    subroutine check(code)
        integer(c_int), intent(in) :: code
        if (code == FG_OK) return
        print '(a)', fg_message()
        error stop 1
    end subroutine
end program
