//! Files that get their name once they are complete.

#[cfg(unix)]
use std::fs::Permissions;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempPath};

use super::Target;
use crate::paths::{check_link, create_output, open_output, parent_directory, resolved};

/// Longest name that is part of the temporary one: file systems allow 255 bytes.
const MAX_SHOWN_NAME: usize = 200;

/// A file with a temporary name in the folder of its own: a program that fails or is killed leaves an earlier file as it was. A killed one
/// leaves the incomplete file under its temporary name.
pub(crate) struct UnfinishedFile {
    path: TempPath,
    name: PathBuf,
    /// Whether it may replace a file.
    replaces: bool,
    /// The file that it replaces, if it could be opened.
    earlier: Option<File>,
}

impl UnfinishedFile {
    /// Creates the file; `None` beside it if it is written as it is: a device, a pipe, or a file in a folder that takes no other one.
    pub(crate) fn create_or_open(path: &Path) -> io::Result<(File, Option<Self>)> {
        check_link(path)?;
        let found = match fs::metadata(path) {
            Ok(found) if !found.is_file() => return Ok((create_output(path)?, None)),
            Ok(found) => Some((open_output(path, OpenOptions::new().write(true), 0)?, mode(&found))),
            Err(_) => None,
        };
        let mode = found.as_ref().map_or(0o640, |(_, mode)| *mode);
        let created = Self::create(&resolved(path), true, mode);
        match (created, found) {
            (Ok((file, mut unfinished)), Some((earlier, mode))) => {
                set_mode(&file, mode)?;
                unfinished.earlier = Some(earlier);
                Ok((file, Some(unfinished)))
            }
            (Err(error), Some((file, _)))
                if matches!(
                    error.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                file.set_len(0)?;
                Ok((file, None))
            }
            (created, _) => created.map(|(file, unfinished)| (file, Some(unfinished))),
        }
    }

    /// Creates the file under its temporary name, with these permissions but for those that the umask takes.
    pub(crate) fn create(path: &Path, replaces: bool, mode: u32) -> io::Result<(File, Self)> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let folder = parent_directory(path);
        fs::metadata(&folder)?;
        let mut prefix = std::ffi::OsString::from(".");
        if name.len() <= MAX_SHOWN_NAME {
            prefix.push(name);
        }
        let mut builder = Builder::new();
        builder.prefix(&prefix).suffix(".unfinished");
        #[cfg(unix)]
        builder.permissions(<Permissions as std::os::unix::fs::PermissionsExt>::from_mode(mode));
        #[cfg(not(unix))]
        let _ = mode;
        // The error of the builder names the temporary file.
        let created = builder.tempfile_in(folder).map_err(|error| io::Error::from(error.kind()))?;
        let (file, temporary) = created.into_parts();
        Ok((file, Self { path: temporary, name: path.to_owned(), replaces, earlier: None }))
    }

    /// Gives the file its name.
    pub(crate) fn complete(self) -> io::Result<()> {
        let Self { path, name, replaces, earlier } = self;
        let named = if replaces { path.persist(name) } else { path.persist_noclobber(name) };
        match (named, earlier) {
            // A file that is mounted by itself, as into a container, or has another owner in a sticky folder, keeps its place.
            (Err(failed), Some(mut earlier)) => {
                earlier.set_len(0)?;
                io::copy(&mut File::open(&failed.path)?, &mut earlier).map(drop)
            }
            (named, _) => named.map_err(|failed| failed.error),
        }
    }
}

#[cfg(unix)]
fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(<Permissions as std::os::unix::fs::PermissionsExt>::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn mode(found: &fs::Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o777
}

#[cfg(not(unix))]
fn mode(_: &fs::Metadata) -> u32 {
    0o640
}

/// Buffer of a document, in bytes.
const BUFFER_BYTES: usize = 1 << 18;

/// Text, a table or a capture: in a file that is complete or as it was before, or in another place that is written as it is.
pub(crate) struct Document {
    out: BufWriter<Box<dyn Write + Send>>,
    unfinished: Option<UnfinishedFile>,
}

impl Document {
    pub(crate) fn create(target: &Target) -> io::Result<Self> {
        match target {
            Target::Stdout => Ok(Self::new(io::stdout(), None)),
            Target::File(path) => {
                let (file, unfinished) = UnfinishedFile::create_or_open(path)?;
                Ok(Self::new(file, unfinished))
            }
        }
    }

    pub(super) fn new(out: impl Write + Send + 'static, unfinished: Option<UnfinishedFile>) -> Self {
        Self { out: BufWriter::with_capacity(BUFFER_BYTES, Box::new(out)), unfinished }
    }

    /// Writes what is buffered, and gives the file its name.
    pub(crate) fn complete(self) -> io::Result<()> {
        let Self { mut out, unfinished } = self;
        out.flush()?;
        drop(out);
        unfinished.map_or(Ok(()), UnfinishedFile::complete)
    }
}

impl Write for Document {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use tempfile::tempdir;

    use super::*;

    fn write(path: &Path, text: &str, is_complete: bool) -> io::Result<()> {
        let mut document = Document::create(&Target::File(path.to_owned()))?;
        document.write_all(text.as_bytes())?;
        document.flush()?;
        if is_complete { document.complete() } else { Ok(()) }
    }

    #[test]
    fn document_replaces_a_file_once_it_is_complete() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("page");
        write(&path, "lost", false).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        write(&path, "one", true).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        write(&path, "lost", false).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        let link = folder.path().join("link");
        symlink("page", &link).unwrap();
        write(&link, "two", true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn link_in_a_shared_folder_is_not_followed() {
        let folder = tempdir().unwrap();
        let target = folder.path().join("target");
        fs::write(&target, "of others").unwrap();
        let shared = folder.path().join("shared");
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, Permissions::from_mode(0o1777)).unwrap();
        for (name, to) in [("link", "target"), ("dangling", "absent")] {
            symlink(folder.path().join(to), shared.join(name)).unwrap();
            let error = write(&shared.join(name), "text", true).unwrap_err();
            assert!(error.to_string().contains("symbolic link"), "{error}");
        }
        // The options for outputs resolve their paths first.
        assert!(crate::output::files::append(&resolved(&shared.join("link"))).is_err());
        assert_eq!(fs::read_to_string(&target).unwrap(), "of others");
        let path = shared.join("file");
        write(&path, "text", true).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o137, 0);
    }

    #[test]
    fn document_is_written_to_a_device_as_it_is() {
        write(Path::new("/dev/null"), "text", true).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn file_that_cannot_be_replaced_gets_the_contents() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("page");
        fs::write(&path, "an earlier text").unwrap();
        let (mut file, unfinished) = UnfinishedFile::create_or_open(&path).unwrap();
        file.write_all(b"text").unwrap();
        let unfinished = UnfinishedFile { name: folder.path().join("absent/page"), ..unfinished.unwrap() };
        unfinished.complete().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn name_may_be_as_long_as_the_file_system_allows() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("n".repeat(255));
        write(&path, "text", true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
    }

    #[test]
    fn missing_folder_is_the_error_of_the_system() {
        let folder = tempdir().unwrap();
        let target = Target::File(folder.path().join("missing/page"));
        assert_eq!(Document::create(&target).err().and_then(|error| error.raw_os_error()), Some(2));
    }
}
