! What support.h says, for Fortran.
module support
  use iso_c_binding
  use omp_lib
  implicit none
  integer(8), bind(c) :: sums(0:3), guarded(0:6), cells(0:4095), junk(0:0)
  integer(omp_lock_kind), save :: locks(0:1)
  integer(omp_nest_lock_kind), save :: nest_locks(0:1)
  integer(8), save :: kept
  !$omp threadprivate(kept)
  interface
    subroutine finish(body) bind(c)
      import
      integer(c_int), value :: body
    end subroutine
    subroutine nap(us) bind(c)
      import
      integer(8), value :: us
    end subroutine
    function torn(from, count, chunk) bind(c)
      import
      integer(8), value :: from, count, chunk
      integer(8) :: torn
    end function
    function short_runs(from, count, chunk) bind(c)
      import
      integer(8), value :: from, count, chunk
      integer(8) :: short_runs
    end function
    subroutine clear(from, count) bind(c)
      import
      integer(8), value :: from, count
    end subroutine
    subroutine on_one_thread(part, given) bind(c)
      import
      type(c_funptr), value :: part
      integer(8), value :: given
    end subroutine
    subroutine on_three_threads(part, given) bind(c)
      import
      type(c_funptr), value :: part
      integer(8), value :: given
    end subroutine
    subroutine in_child(part, given) bind(c)
      import
      type(c_funptr), value :: part
      integer(8), value :: given
    end subroutine
    subroutine at_exit(part, given) bind(c)
      import
      type(c_funptr), value :: part
      integer(8), value :: given
    end subroutine
    subroutine in_plugin(name, given) bind(c)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(8), value :: given
    end subroutine
    subroutine leave(code) bind(c)
      import
      integer(8), value :: code
    end subroutine
  end interface
contains
  subroutine begin_here()
    call omp_init_lock(locks(0))
    call omp_init_lock(locks(1))
    call omp_init_nest_lock(nest_locks(0))
    call omp_init_nest_lock(nest_locks(1))
  end subroutine
  pure integer(8) function most(a, b)
    integer(8), intent(in) :: a, b
    most = max(a, b)
  end function
  pure integer(8) function least(a, b)
    integer(8), intent(in) :: a, b
    least = min(a, b)
  end function
  pure integer(8) function either(a, b)
    integer(8), intent(in) :: a, b
    either = ior(a, b)
  end function
  pure integer(8) function both(a, b)
    integer(8), intent(in) :: a, b
    both = iand(a, b)
  end function
  pure integer(8) function differ(a, b)
    integer(8), intent(in) :: a, b
    differ = ieor(a, b)
  end function
  pure integer(8) function mix(a, b)
    integer(8), intent(in) :: a, b
    mix = mod(a + b, 1000003_8)
  end function
  pure integer(8) function whole(a)
    real(10), intent(in) :: a
    whole = int(a, 8)
  end function
  subroutine set_twice(lock)
    integer(omp_nest_lock_kind) :: lock
    call omp_set_nest_lock(lock)
    if (omp_test_nest_lock(lock) /= 2) call leave(99_8)
  end subroutine
  subroutine unset_twice(lock)
    integer(omp_nest_lock_kind) :: lock
    call omp_unset_nest_lock(lock)
    call omp_unset_nest_lock(lock)
  end subroutine
end module
