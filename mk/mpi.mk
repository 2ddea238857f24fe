# MPI: communication between processes is a module (BUILD/lib/cumind_mpi.so) that the program opens when it finds ranks.
# It is built where the compiler wrapper of an MPI is on the path, or will be when it is needed.
#: MPICC=mpicc          the compiler wrapper of MPI; empty: build without
MPICC ?= mpicc
MPI_MODULE := $(if $(MPICC),$(if $(shell command -v $(MPICC))$(filter deps,$(MAKECMDGOALS)),$(BUILD)/lib/cumind_mpi.so))
MPI_OBJ := $(MPI_SRC:%.c=$(BUILD)/%.o)
# The wrapper calls our compiler, whichever MPI it is of; the headers of MPI are not ours to warn about.
MPI_CC = OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC)
MPI_CFLAGS = $(patsubst -I%,-isystem %,$(filter -I%,$(if $(MPICC),$(shell $(MPICC) -show 2>/dev/null))))

all: $(MPI_MODULE)

$(MPI_OBJ): $(BUILD)/%.o: %.c $(BUILD)/flags.stamp | $(PROBE)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(MPI_CFLAGS) -DCM_VERSION=\"$(VERSION)\" -fPIC -MMD -MP -c $< -o $@

$(BUILD)/lib/cumind_mpi.so: $(MPI_OBJ) mk/module.map
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(MPI_CC) $(CFLAGS) $(LDFLAGS) -shared $(MPI_OBJ) -Wl,--version-script=mk/module.map -o $@
-include $(MPI_OBJ:.o=.d)
