//! Paths: their names in messages, their directories, and the files that they lead to.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use huginn_net::core::Escaped;

/// Path with control characters escaped.
#[derive(Clone, Debug)]
pub(crate) struct PathName(pub(crate) PathBuf);

impl fmt::Display for PathName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", Escaped(self.0.as_os_str().as_encoded_bytes()))
    }
}

/// Formats a path with control characters escaped.
pub(crate) fn name_of(path: &Path) -> String {
    format!("{:#}", Escaped(path.as_os_str().as_encoded_bytes()))
}

/// Returns the directory of a file.
pub(crate) fn parent_directory(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Resolves symbolic links of an existing or future file, so that a rename affects the file and not a link to it.
/// Devices and pipes keep their path, and so do links in a folder that every user may write to: [`open_output`] refuses them.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    if is_shared(&parent_directory(path)) {
        return path.to_owned();
    }
    match fs::metadata(path) {
        Ok(found) if found.is_file() => fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
        Ok(_) => path.to_owned(),
        Err(_) => {
            // The path does not exist or is a dangling link.
            let path =
                fs::read_link(path).map_or_else(|_| path.to_owned(), |to| parent_directory(path).join(to));
            match (fs::canonicalize(parent_directory(&path)), path.file_name()) {
                (Ok(folder), Some(name)) => folder.join(name),
                _ => path,
            }
        }
    }
}

/// Creates a file of results with these options, or opens it: its owner and group may read it.
///
/// # Errors
/// Also for a symbolic link in a folder that every user may write to: another user may have put it there.
pub(crate) fn open_output(path: &Path, options: &mut OpenOptions, flags: i32) -> io::Result<File> {
    let is_shared = check_link(path)?;
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o640);
    // A link made after the check is not followed either.
    #[cfg(target_os = "linux")]
    let flags = flags | if is_shared { nix::fcntl::OFlag::O_NOFOLLOW.bits() } else { 0 };
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags);
    #[cfg(not(unix))]
    let _ = flags;
    options.open(path)
}

/// Refuses a symbolic link in a folder that every user may write to. Returns whether the folder is such a one.
pub(crate) fn check_link(path: &Path) -> io::Result<bool> {
    let is_shared = is_shared(&parent_directory(path));
    if is_shared && fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        return Err(io::Error::other(
            "a symbolic link in a folder that every user may write to; name the file that it leads to",
        ));
    }
    Ok(is_shared)
}

/// Creates a file of results, or empties it, as [`open_output`] does.
pub(crate) fn create_output(path: &Path) -> io::Result<File> {
    open_output(path, OpenOptions::new().write(true).create(true).truncate(true), 0)
}

/// Whether every user may create files in a folder.
#[cfg(unix)]
fn is_shared(folder: &Path) -> bool {
    fs::metadata(folder)
        .is_ok_and(|found| std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o002 != 0)
}

#[cfg(not(unix))]
fn is_shared(_: &Path) -> bool {
    false
}

/// Whether two paths name the same regular file. Two options may share a device.
#[cfg(unix)]
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => one == other,
    }
}

/// Whether two paths are equal: this system does not tell whether they name one file.
#[cfg(not(unix))]
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other
}

/// Returns the temporary path of a file that replaces `path` once it is complete.
pub(crate) fn new_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

/// Returns the first path that no file has among `path("")`, and `path(".1")` up to this number.
#[cfg(unix)]
pub(crate) fn unused_path(last: u32, path: impl Fn(&str) -> PathBuf) -> Option<PathBuf> {
    let numbers = (1..=last).map(|number| format!(".{number}"));
    let mut paths = std::iter::once(String::new()).chain(numbers).map(|number| path(&number));
    // A dangling link uses the name too.
    paths.find(|path| fs::symlink_metadata(path).is_err())
}

/// Returns the path for a state that could not be read, and is kept: the first of ten that no file has, or else the first.
#[cfg(unix)]
pub(crate) fn unread_name(path: &Path) -> PathBuf {
    let numbered = |number: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(".unread");
        name.push(number);
        PathBuf::from(name)
    };
    unused_path(9, numbered).unwrap_or_else(|| numbered(""))
}

/// Replaces a file as [`replace_file`] does. Only its owner may read the file, which is complete after a crash of the system, too.
#[cfg(unix)]
pub(crate) fn replace_private_file<T>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>,
) -> io::Result<T> {
    let name = new_name(path);
    // What a crash left may have other rights, or be a link.
    match fs::remove_file(&name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut out = BufWriter::with_capacity(1 << 16, options.open(&name)?);
    let written = write(&mut out).and_then(|result| {
        out.flush()?;
        out.get_ref().sync_all()?;
        Ok(result)
    });
    drop(out);
    let outcome = written.and_then(|result| fs::rename(&name, path).map(|()| result));
    match &outcome {
        // Some file systems cannot write directories to the disk on request.
        Ok(_) => _ = File::open(parent_directory(path)).and_then(|folder| folder.sync_all()),
        // An incomplete file is of no use.
        Err(_) => _ = fs::remove_file(&name),
    }
    outcome
}

/// Replaces a file atomically: readers see the old or the new file, never a part.
pub(crate) fn replace_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let name = new_name(path);
    let mut out = BufWriter::with_capacity(1 << 16, create_output(&name)?);
    let written = write(&mut out).and_then(|()| out.flush());
    drop(out);
    let outcome = written.and_then(|()| fs::rename(&name, path));
    if outcome.is_err() {
        // An incomplete file is of no use.
        let _ = fs::remove_file(&name);
    }
    outcome
}

/// Checks that this process may create and rename files in the directory of `path`.
#[cfg(target_os = "linux")]
pub(crate) fn check_directory_writable(path: &Path) -> io::Result<()> {
    use nix::unistd::{AccessFlags, access};
    Ok(access(&parent_directory(path), AccessFlags::W_OK | AccessFlags::X_OK)?)
}

/// Other systems report the error when the file is created.
#[cfg(not(target_os = "linux"))]
pub(crate) fn check_directory_writable(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::tempdir;

    use super::*;

    #[test]
    fn private_file_replaces_whatever_has_its_names() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempdir().unwrap();
        let path = folder.path().join("state");
        fs::write(folder.path().join("other"), "of others").unwrap();
        symlink(folder.path().join("other"), new_name(&path)).unwrap();
        for text in ["one", "two"] {
            replace_private_file(&path, |out| out.write_all(text.as_bytes())).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert!(replace_private_file(&path, |_| Err::<(), _>(io::Error::other("no"))).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_to_string(folder.path().join("other")).unwrap(), "of others");
        assert!(!new_name(&path).exists());
    }

    #[test]
    fn resolves_links_to_existing_and_future_files() {
        let folder = tempdir().unwrap();
        let folder = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir(folder.join("far")).unwrap();
        fs::write(folder.join("far/there"), "").unwrap();
        symlink(&folder, folder.join("far/back")).unwrap();
        for (link, to) in [("one", "far/there"), ("two", "far/missing"), ("null", "/dev/null")] {
            symlink(to, folder.join(link)).unwrap();
        }
        for (path, wanted) in [
            ("one", "far/there"),
            ("two", "far/missing"),
            ("far/back/two", "far/missing"),
            ("far/back/new", "new"),
            ("null", "null"),
            ("no/new", "no/new"),
        ] {
            assert_eq!(resolved(&folder.join(path)), folder.join(wanted), "{path}");
        }
        assert_eq!(resolved(Path::new("/dev/null")), Path::new("/dev/null"));
    }
}
