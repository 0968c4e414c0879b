//! The resource limits of this process that must be known in advance: a file that grows beyond its limit raises a
//! signal that ends the process, and address space is reserved long before it is known how much is needed.

/// Upper bound of the spare address space.
const MOST_SPARE: u64 = 256 << 20;

/// Returns the maximum size of files that this process may write, in bytes; `None` if there is no limit.
pub fn file_size() -> Option<u64> {
    soft_limit(libc::RLIMIT_FSIZE)
}

/// Returns the maximum address space of this process in bytes; `None` if there is no limit.
pub fn address_space() -> Option<u64> {
    soft_limit(libc::RLIMIT_AS)
}

/// Returns the address space in bytes that programs must leave free, if there is a limit: a multiple of the page
/// size.
pub fn spare_address_space() -> usize {
    address_space().map_or(0, |limit| (limit / 8).min(MOST_SPARE) as usize & !0xffff)
}

/// Checks that this process may write a file of `bytes` bytes.
///
/// # Errors
/// Returns an error if the file would be larger than allowed.
pub fn check_file_size(bytes: u64) -> std::io::Result<()> {
    match file_size().is_some_and(|limit| bytes > limit) {
        true => Err(std::io::ErrorKind::FileTooLarge.into()),
        false => Ok(()),
    }
}

fn soft_limit(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the system writes both limits to the local variable.
    let failed = unsafe { libc::getrlimit(resource, &raw mut limits) } != 0;
    (!failed && limits.rlim_cur != libc::RLIM_INFINITY).then_some(limits.rlim_cur)
}
