/* One rank that sends messages to itself and calls MPI in C and in Fortran. */
#include <mpi.h>

typedef MPI_Fint word_t;
extern void mpi_isend_(int *data, word_t *count, word_t *kind, word_t *to, word_t *tag, word_t *on, word_t *request, word_t *error);
extern void mpi_irecv_(int *data, word_t *count, word_t *kind, word_t *from, word_t *tag, word_t *on, word_t *request, word_t *error);
extern void mpi_waitall_(word_t *count, word_t *requests, word_t *statuses, word_t *error);
extern void mpi_comm_dup_(word_t *on, word_t *made, word_t *error);
extern void mpi_bcast_(int *data, word_t *count, word_t *kind, word_t *root, word_t *on, word_t *error);
extern void mpi_comm_free_(word_t *on, word_t *error);

enum { ROUNDS = 20 };
static int out = 1, in;

static void messages(MPI_Comm on) {
    MPI_Request both[2], lasting;
    MPI_Irecv(&in, 1, MPI_INT, 0, 5, on, &both[0]);
    MPI_Isend(&out, 1, MPI_INT, 0, 5, on, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 6, &in, 1, MPI_INT, MPI_ANY_SOURCE, 6, on, MPI_STATUS_IGNORE);
    MPI_Recv_init(&in, 1, MPI_INT, 0, 7, on, &lasting);
    MPI_Start(&lasting);
    MPI_Send(&out, 1, MPI_INT, 0, 7, on);
    MPI_Wait(&lasting, MPI_STATUS_IGNORE);
    MPI_Request_free(&lasting);
    MPI_Isend(&out, 1, MPI_INT, 0, 8, on, &both[0]);
    MPI_Probe(0, 8, on, MPI_STATUS_IGNORE);
    MPI_Recv(&in, 1, MPI_INT, 0, 8, on, MPI_STATUS_IGNORE);
    MPI_Wait(&both[0], MPI_STATUS_IGNORE);
    MPI_Irecv(&in, 1, MPI_INT, 0, 9, on, &both[0]);
    MPI_Cancel(&both[0]);
    MPI_Wait(&both[0], MPI_STATUS_IGNORE);
}

static void messages_in_fortran(word_t world) {
    word_t one = 1, two = 2, self = 0, tag = 5, kind = MPI_Type_c2f(MPI_INT), on, both[2], statuses[64], error;
    mpi_comm_dup_(&world, &on, &error);
    mpi_irecv_(&in, &one, &kind, &self, &tag, &on, &both[0], &error);
    mpi_isend_(&out, &one, &kind, &self, &tag, &on, &both[1], &error);
    mpi_waitall_(&two, both, statuses, &error);
    mpi_bcast_(&out, &one, &kind, &self, &on, &error);
    mpi_comm_free_(&on, &error);
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm part;
        MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &part);
        messages(part);
        MPI_Barrier(part);
        MPI_Comm_free(&part);
        messages_in_fortran(MPI_Comm_c2f(MPI_COMM_WORLD));
        MPI_Bcast(&out, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 5;
}
