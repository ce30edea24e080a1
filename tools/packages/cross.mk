# cross.mk: building for another processor. Included by the top Makefile before its flags are used.
#
#   make sysroot CROSS=aarch64-linux-gnu-     libraries for that processor, in BUILD-sysroot
#   make CROSS=aarch64-linux-gnu-             builds into build/aarch64/
#
# CUDA's headers are this machine's own: they are the same for all processors.
ifneq ($(CROSS),)
SYSROOT ?= build/$(MACHINE)-sysroot
TRIPLET := $(CROSS:%-=%)
GCC_VERSION := $(firstword $(subst ., ,$(shell $(CC) -dumpversion 2>/dev/null)))
CPPFLAGS += -isystem $(SYSROOT)/usr/include -isystem $(SYSROOT)/usr/include/$(TRIPLET)
LDFLAGS += -L$(SYSROOT)/usr/lib/$(TRIPLET) -Wl,-rpath-link,$(SYSROOT)/usr/lib/$(TRIPLET) \
	-L$(SYSROOT)/usr/lib/gcc/$(TRIPLET)/$(GCC_VERSION)
# The toolkit's stub is for this machine's processor.
CUDA_STUB := $(BUILD)/simgpu/libcuda.so.1

.PHONY: sysroot
sysroot:
	@tools/packages/sysroot $(MACHINE) $(SYSROOT) $(GCC_VERSION)

# Runs a program of that processor.
RUNNER = qemu-$(MACHINE) -L $(SYSROOT)
endif
