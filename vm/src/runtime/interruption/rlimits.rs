//! What the system lets this process have, where that matters before anything is tried: a file that would grow beyond its
//! limit is a signal that ends the process, and address space is reserved long before it is known how much is needed.

/// More than this is spare in no case.
const MOST_SPARE: u64 = 256 << 20;

/// The longest file that this process may write, in bytes; `None` if there is no limit.
pub fn file_size() -> Option<u64> {
    of(libc::RLIMIT_FSIZE)
}

/// How many bytes of address space this process may have; `None` if there is no limit.
pub fn address_space() -> Option<u64> {
    of(libc::RLIMIT_AS)
}

/// How many bytes of address space programs are not to take, if there is a limit: a multiple of the size of a page.
pub fn spare_address_space() -> usize {
    address_space().map_or(0, |limit| (limit / 8).min(MOST_SPARE) as usize & !0xffff)
}

/// Demands that this process may write a file of so many bytes.
///
/// # Errors
/// If it would be longer than allowed.
pub fn check_file_size(bytes: u64) -> std::io::Result<()> {
    match file_size().is_some_and(|limit| bytes > limit) {
        true => Err(std::io::ErrorKind::FileTooLarge.into()),
        false => Ok(()),
    }
}

fn of(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the system writes both limits where there is room for them.
    let failed = unsafe { libc::getrlimit(resource, &raw mut limits) } != 0;
    (!failed && limits.rlim_cur != libc::RLIM_INFINITY).then_some(limits.rlim_cur)
}
