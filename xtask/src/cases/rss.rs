//! The process's peak of resident memory, as Linux tells it.

/// Begins to measure anew, where the system lets it.
pub(super) fn reset() {
    // Where this is refused, the peak since the start is measured, which is only stricter.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The peak in MiB since [`reset`]; `None` where the system does not tell.
pub(super) fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib.div_ceil(1024))
}
