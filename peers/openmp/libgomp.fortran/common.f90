! { dg-do run }
! A threadprivate common block of 6 MB, which lies beside the stack of each member, and a recursion that takes 1 MB.
program large_common
  implicit none
  real(8) :: values(786432), total
  common /large/ values
  !$omp threadprivate(/large/)
  total = 0
  !$omp parallel num_threads(3) reduction(+ : total)
  values(1) = 1
  values(786432) = 2
  total = total + values(1) + values(786432) + deep(64)
  !$omp end parallel
  if (total /= 201) stop 1
contains
  recursive real(8) function deep(more) result(levels)
    integer, intent(in) :: more
    real(8), volatile :: array(2048)
    array(1) = 1
    array(2048) = 0
    levels = array(2048)
    if (more > 0) levels = levels + deep(more - 1) + array(1)
  end function
end program
