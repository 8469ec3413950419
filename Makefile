# Makefile -- every target by hand; `make help` lists them, V=1 shows the commands.
#
# On a fresh checkout any target may be the first command: config.mk is remade through
# tools/bootstrap, which installs what is missing (as root on Debian) or says what is.
# BUILD=dir keeps a second build beside the first, for instance for another compiler.

BUILD ?= build
V     ?= 0
# Sorting and messages in the recipes and tests must not depend on the user's locale.
export LC_ALL := C

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

goals := $(or $(MAKECMDGOALS),all)
# What the goals need beyond the compiler: known before anything is configured.
groups := build $(if $(filter check unit stress stress-quick demo models,$(goals)),test) \
                $(if $(filter bench,$(goals)),bench)

ifneq ($(filter-out help clean distclean,$(goals)),)
include config.mk
config.mk: configure.ac config.mk.in config.h.in
	@tools/bootstrap $(groups)
	@touch $@
endif

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-5s %s\n' $(1) $(2);)

# ---- sources: the rooms, lowest first. A new file needs no line here. ------------------------------

lower   := $(wildcard $(foreach r,base arch os core,src/$(r)/*.cc))   # libc-free, no FPU
upper   := $(wildcard src/rt/*.cc)
preload := $(wildcard preload/*.cc)
asm     := $(wildcard asm/x86_64/*.S)
obj      = $(patsubst %,$(BUILD)/obj/%.o,$(basename $(1)))
# Everything below preload, where libc's names begin: what a unit test may link.
room_objs := $(call obj,$(lower) $(upper) $(asm))
lib_objs  := $(room_objs) $(call obj,$(preload))
gmpt_objs := $(call obj,$(wildcard tools/gmpt/*.cc))

SONAME := libgmpthreads.so.0
LIB    := $(BUILD)/libgmp.so

# ---- flags -----------------------------------------------------------------------------------------

CPPFLAGS := -D_GNU_SOURCE -Isrc -Iasm/include -I. $(USER_CPPFLAGS)
WARN     := -Wall -Wextra -Wno-unused-parameter $(WERROR)
# No stack protector, no guards for statics, no fortified calls, no loops turned into memcpy: each
# would call libc or read the thread's block while FS may belong to another thread. Unwind tables
# everywhere: exceptions and forced unwinding of the program pass through our frames.
LIBFLAGS := -std=c++20 $(OPT) -g -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti -fno-stack-protector \
            -fno-threadsafe-statics -fasynchronous-unwind-tables -fno-strict-aliasing \
            -fno-tree-loop-distribute-patterns -U_FORTIFY_SOURCE -fcf-protection=none $(WARN)
# The scheduler runs before the vector registers of a preempted thread are saved.
LOWFLAGS := -ffreestanding -fno-builtin -mgeneral-regs-only
APPFLAGS := -std=c++20 $(OPT) -g $(WARN)
DEPFLAGS  = -MMD -MP -MF $(basename $@).d

# ---- targets ---------------------------------------------------------------------------------------

all: $(LIB) $(BUILD)/$(SONAME) $(BUILD)/libgmpthreads.so $(BUILD)/gmpt  ## the library and the command (default)

check: all unit tools-test  ## every check and test; T=regex picks some, J=n runs n at once
	$(Q)tests/run --build $(BUILD) $(if $(J),-j $(J)) $(if $(T),--filter '$(T)')

unit: $(patsubst tests/unit/%.cc,$(BUILD)/tests/unit/%,$(wildcard tests/unit/*_test.cc))  ## build the unit tests

stress: all tools-test  ## long randomised runs
	$(Q)tests/run --build $(BUILD) --only stress --stress full $(if $(T),--filter '$(T)')

stress-quick: all tools-test  ## the same, about a minute
	$(Q)tests/run --build $(BUILD) --only stress --stress quick $(if $(T),--filter '$(T)')

conformance: all tools-test  ## the Open POSIX Test Suite, native against preloaded; T=regex picks some
	$(Q)tests/conformance/run --lib $(LIB) $(if $(T),--filter '$(T)')

programs: all tools-test  ## programs of Debian, natively and preloaded: one table; T=regex picks some
	$(Q)tests/programs/run --lib $(LIB) --build $(BUILD) $(if $(T),--filter '$(T)') $(if $(R),--rounds $(R))

suites: all tools-test  ## the tests of libuv and libevent, native against preloaded; T=regex picks some
	$(Q)tests/suites/run --lib $(LIB) $(if $(T),--filter '$(T)')

models: tools-test  ## check the protocols with spin
	$(Q)tests/run --build $(BUILD) --only model

bench: all tools-bench bench-programs  ## benchmarks, native against preloaded
	$(Q)bench/run $(LIB) $(BUILD)

demo: all tools-test  ## a threaded server, native and preloaded, side by side
	$(Q)tools/demo/run $(LIB) $(BUILD)

clean:  ## remove everything built
	$(Q)rm -rf $(BUILD)

distclean: clean  ## and everything configured
	$(Q)rm -rf autom4te.cache configure configure~ config.h config.mk config.log config.status

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*  ## /\1|/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{printf "  make %-14s %s\n", $$1, $$2}'

# A tree configured on a machine without them still gets what these targets need.
tools-test tools-bench: tools-%: config.mk
	@tools/bootstrap --packages $*

.PHONY: all check unit stress stress-quick conformance suites programs models bench bench-programs demo clean distclean help \
        install uninstall tools-test tools-bench

# ---- the library -----------------------------------------------------------------------------------

$(if $(lower),$(eval $(call obj,$(lower)): private LIBFLAGS += $$(LOWFLAGS)))

$(lib_objs): $(BUILD)/obj/%.o: config.mk Makefile
$(BUILD)/obj/src/%.o: src/%.cc
	@mkdir -p $(@D)
	$(call say,CXX,$<)$(CXX) $(CPPFLAGS) $(LIBFLAGS) $(USER_CXXFLAGS) $(DEPFLAGS) -c -o $@ $<
$(BUILD)/obj/preload/%.o: preload/%.cc
	@mkdir -p $(@D)
	$(call say,CXX,$<)$(CXX) $(CPPFLAGS) $(LIBFLAGS) $(USER_CXXFLAGS) $(DEPFLAGS) -c -o $@ $<
$(BUILD)/obj/asm/%.o: asm/%.S
	@mkdir -p $(@D)
	$(call say,AS,$<)$(CC) $(CPPFLAGS) -g -fPIC -fcf-protection=none $(DEPFLAGS) -c -o $@ $<

# What is exported is what the table of calls names, and nothing else.
$(BUILD)/exports.map: src/os/calls.def tools/list-exports Makefile
	@mkdir -p $(@D)
	$(call say,GEN,$@){ echo '{ global:'; tools/list-exports | sed 's/$$/;/'; echo 'local: *; };'; } >$@

# Our calls of our own names stay here: an allocator preloaded before us has mmap() too, and comes back by syscall().
# Only libc and ld.so may remain in DT_NEEDED (tools/check-needed): no libstdc++, no shared libgcc.
# Written beside and moved into place, because running programs may have the old file mapped.
$(LIB): $(lib_objs) $(BUILD)/exports.map
	$(call say,LD,$@)$(CXX) -shared -nostdlib -o $@.tmp $(lib_objs) $(USER_LDFLAGS) \
	  -Wl,-soname,$(SONAME) -Wl,--version-script=$(BUILD)/exports.map -Wl,--build-id=sha1 -Wl,-O1 -Wl,-Bsymbolic-functions \
	  -Wl,-z,defs -Wl,-z,text -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete \
	  $(LIBFFI) -Wl,--as-needed -lc -l:ld-linux-x86-64.so.2 -lgcc
	$(Q)mv -f $@.tmp $@

$(BUILD)/$(SONAME) $(BUILD)/libgmpthreads.so: $(LIB)
	@ln -sfn libgmp.so $@

# ---- the command -----------------------------------------------------------------------------------

$(gmpt_objs): $(BUILD)/obj/%.o: %.cc config.mk Makefile
	@mkdir -p $(@D)
	$(call say,CXX,$<)$(CXX) $(CPPFLAGS) -DGMPT_LIBDIR='"$(libdir)"' $(APPFLAGS) $(USER_CXXFLAGS) $(DEPFLAGS) -c -o $@ $<
$(BUILD)/gmpt: $(gmpt_objs)
	$(call say,LD,$@)$(CXX) -o $@ $(gmpt_objs) $(USER_LDFLAGS)

# ---- tests and benchmarks --------------------------------------------------------------------------
# Unit tests see the rooms below preload, as an archive: a test links the objects it uses.
# The programs in tests/posix and tests/stress are built by tests/run, which reads their directives.

$(BUILD)/librooms.a: $(room_objs)
	$(call say,AR,$@)rm -f $@ && ar rcs $@ $(room_objs)

$(BUILD)/tests/unit/%: tests/unit/%.cc $(BUILD)/librooms.a config.mk Makefile | tools-test
	@mkdir -p $(@D)
	$(call say,TEST,$<)$(CXX) $(CPPFLAGS) -Itests/lib $(APPFLAGS) -fno-strict-aliasing $(USER_CXXFLAGS) -MMD -MP -MF $@.d -o $@ $< \
	  $(BUILD)/librooms.a $(LIBFFI) -lcmocka -l:ld-linux-x86-64.so.2

# One program per file; the same binary runs natively and preloaded, so it links nothing of ours.
benches := $(patsubst %.cc,$(BUILD)/%,$(wildcard bench/*.cc bench/*/*.cc)) \
           $(patsubst %.c,$(BUILD)/%,$(wildcard bench/*.c bench/*/*.c))
bench-programs: $(benches)
$(BUILD)/bench/%: bench/%.cc config.mk Makefile | tools-bench
	@mkdir -p $(@D)
	$(call say,CXX,$<)$(CXX) $(CPPFLAGS) $(APPFLAGS) $(USER_CXXFLAGS) -MMD -MP -MF $@.d -o $@ $< \
	  $(USER_LDFLAGS) -Wl,--as-needed -lbenchmark -lpthread
$(BUILD)/bench/%: bench/%.c config.mk Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS) -std=gnu17 $(OPT) -g $(WARN) $(USER_CFLAGS) -MMD -MP -MF $@.d -o $@ $< \
	  $(USER_LDFLAGS) -lpthread

# ---- install ---------------------------------------------------------------------------------------
# GNU MP owns the name libgmp.so in ${libdir}, so ours has its own soname, and the development link
# of that name lives in a folder of its own, which gmpthreads.pc puts on the link line.

pcdir := $(libdir)/pkgconfig
man_pages := $(wildcard man/*.[1-9])

install: all  ## library, command, header, gmpthreads.pc and manual pages; DESTDIR, prefix
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(libdir)/gmpthreads $(DESTDIR)$(pcdir) $(DESTDIR)$(includedir)
	install -m 755 $(BUILD)/gmpt $(DESTDIR)$(bindir)/gmpt
	install -m 755 $(LIB) $(DESTDIR)$(libdir)/$(SONAME)
	ln -sfn $(SONAME) $(DESTDIR)$(libdir)/libgmpthreads.so
	ln -sfn ../$(SONAME) $(DESTDIR)$(libdir)/gmpthreads/libgmp.so
	$(if $(wildcard src/gmpthreads.h),install -m 644 src/gmpthreads.h $(DESTDIR)$(includedir)/gmpthreads.h)
	sed -e 's|@prefix@|$(prefix)|; s|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|; s|@VERSION@|$(VERSION)|' \
	  tools/gmpthreads.pc.in >$(DESTDIR)$(pcdir)/gmpthreads.pc
	for page in $(man_pages); do \
	  install -D -m 644 $$page $(DESTDIR)$(mandir)/man$${page##*.}/$${page##*/} || exit 1; done

uninstall:  ## take back what install put there
	rm -f $(DESTDIR)$(bindir)/gmpt $(DESTDIR)$(libdir)/$(SONAME) $(DESTDIR)$(libdir)/libgmpthreads.so \
	  $(DESTDIR)$(libdir)/gmpthreads/libgmp.so $(DESTDIR)$(includedir)/gmpthreads.h $(DESTDIR)$(pcdir)/gmpthreads.pc
	for page in $(man_pages); do rm -f $(DESTDIR)$(mandir)/man$${page##*.}/$${page##*/}; done
	-rmdir $(DESTDIR)$(libdir)/gmpthreads

-include $(lib_objs:.o=.d) $(gmpt_objs:.o=.d) $(wildcard $(BUILD)/tests/unit/*.d) $(addsuffix .d,$(benches))
