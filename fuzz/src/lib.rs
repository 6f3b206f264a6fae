//! What the targets' programs share. What they check stands in `targets/`, which `cargo test` calls over
//! the seeds.

/// Makes everything run on the thread of the fuzzer: waking others takes longer than small inputs do.
///
/// # Panics
/// Where a pool of threads is there already.
pub fn run_on_one_thread() {
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .use_current_thread()
        .build_global()
        .expect("the first pool of threads");
}
