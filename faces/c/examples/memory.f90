! Ranks fill a field that they share, each its columns, and add up what the neighbour has written.
module smoothing
    use foregather
    implicit none
    integer(c_size_t), parameter :: columns = 12, rows = 32
contains
    integer(c_int) function body(me, data) bind(c)
        type(c_ptr), value :: me, data
        real(c_double), target :: column(rows)
        real(c_double) :: total
        integer(c_int32_t) :: rank, ranks
        integer(c_size_t) :: at
        type(c_ptr) :: field

        if (c_associated(data)) error stop 'no data was passed'
        body = fg_memory_rank(me, rank)
        if (body == FG_OK) body = fg_memory_size(me, ranks)
        if (body == FG_OK) body = fg_memory_array(me, FG_INFINITE, 8_c_size_t, columns * rows, field)
        do at = rank, columns - 1, ranks
            column = at
            if (body == FG_OK) body = fg_shared_array_store(field, at * rows, rows, c_loc(column))
        end do
        if (body == FG_OK) body = fg_memory_barrier(me, FG_INFINITE)
        total = 0
        do at = rank, columns - 1, ranks
            if (body == FG_OK) body = fg_shared_array_load(field, mod(at + 1, columns) * rows, rows, c_loc(column))
            total = total + sum(column)
        end do
        if (body == FG_OK) body = fg_memory_sum_double(me, FG_INFINITE, total)
        if (body == FG_OK .and. rank == 0) print '(f0.0)', total
    end function
end module

program memory
    use smoothing
    implicit none
    integer(c_int) :: code

    code = fg_shared(3_c_int32_t, c_funloc(body), c_null_ptr)
    if (code == FG_OK) stop
    print '(a)', fg_message()
    error stop 1
end program
