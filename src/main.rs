//! The `cachesim` program; everything is in the library.

use std::process::ExitCode;

/// Allocator in place of musl's, whose single lock and eager release make reading take 1.7 times as long.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    #[cfg(any(all(target_os = "linux", target_env = "gnu"), target_env = "musl"))]
    give_large_buffers_back();
    cachesim::cli::main()
}

/// Makes the C library return free buffers of four megabytes and more to the system at once. By default it raises that
/// threshold to 32 MiB with the first such buffer, and keeps the memory of simulations: a table of 100,000 requests
/// then takes 190 MB instead of 150.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn give_large_buffers_back() {
    const LARGE: libc::c_int = 4 << 20;
    // SAFETY: this sets a number of the allocator before any other thread runs.
    #[allow(unsafe_code)] // nothing else reaches the allocator's parameters
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// Makes the allocator give free memory back at once, and reserve none in advance. Reading 144 MB then holds 47 MB
/// instead of 145, and takes as long; so does a look of `statusline`.
#[cfg(target_env = "musl")]
fn give_large_buffers_back() {
    // `mi_option_t` in the header of this version.
    const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
    const ARENA_EAGER_COMMIT: libmimalloc_sys::mi_option_t = 4;
    // SAFETY: this sets numbers of the allocator before any other thread runs.
    #[allow(unsafe_code)] // nothing else reaches the allocator's parameters
    unsafe {
        libmimalloc_sys::mi_option_set(PURGE_DELAY, 0);
        libmimalloc_sys::mi_option_set(ARENA_EAGER_COMMIT, 0);
    }
}
