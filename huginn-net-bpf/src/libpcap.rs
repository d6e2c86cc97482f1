//! All `unsafe` code of this crate: functions of libpcap, found by their names (`pcap(3PCAP)`).
#![allow(unsafe_code, reason = "functions of a C library")]

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_uint, c_void};
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{ptr, slice};

use libloading::Library;

use crate::{FilterError, Instruction};

/// Names of libpcap: those of Debian, of other distributions, of packages for developers, of other systems.
#[cfg(all(unix, not(target_os = "macos")))]
const NAMES: [&str; 3] = ["libpcap.so.0.8", "libpcap.so.1", "libpcap.so"];
#[cfg(target_os = "macos")]
const NAMES: [&str; 2] = ["/usr/lib/libpcap.A.dylib", "libpcap.dylib"];
#[cfg(windows)]
const NAMES: [&str; 1] = ["wpcap.dll"];

/// What a filter returns for a frame that passes: more than any frame has.
pub(crate) const SNAP_LEN: c_int = 1 << 18;

/// `PCAP_NETMASK_UNKNOWN`.
const UNKNOWN_NETMASK: u32 = u32::MAX;

/// `struct bpf_program`.
#[repr(C)]
struct RawProgram {
    len: c_uint,
    instructions: *mut Instruction,
}

/// `pcap_t`, which only libpcap reads.
type Handle = c_void;

/// The functions that are used, with the library that has them.
struct Functions {
    open_dead: unsafe extern "C" fn(c_int, c_int) -> *mut Handle,
    compile: unsafe extern "C" fn(*mut Handle, *mut RawProgram, *const c_char, c_int, u32) -> c_int,
    error: unsafe extern "C" fn(*mut Handle) -> *const c_char,
    free: unsafe extern "C" fn(*mut RawProgram),
    close: unsafe extern "C" fn(*mut Handle),
    filter: unsafe extern "C" fn(*const Instruction, *const c_uchar, c_uint, c_uint) -> c_uint,
    /// Never unloaded: programs have no reference to it.
    _library: Library,
}

/// libpcap before 1.8 compiles in global variables.
static COMPILER: Mutex<()> = Mutex::new(());

fn functions() -> Result<&'static Functions, FilterError> {
    static FUNCTIONS: OnceLock<Result<Functions, FilterError>> = OnceLock::new();
    FUNCTIONS.get_or_init(load).as_ref().map_err(Clone::clone)
}

fn load() -> Result<Functions, FilterError> {
    let failed = |error: libloading::Error| FilterError::NoLibpcap { reason: error.to_string() };
    let mut failure = None;
    for name in NAMES {
        // SAFETY: the initialisation of libpcap has no precondition. The system searches its own folders, and ignores those of the
        // environment in a program with privileges.
        match unsafe { Library::new(name) } {
            // SAFETY: the types are those of the declarations in pcap/pcap.h and pcap/bpf.h, which have not changed since libpcap 1.0.
            Ok(library) => return unsafe { Functions::of(library) }.map_err(failed),
            Err(error) => _ = failure.get_or_insert(error),
        }
    }
    Err(failure.map_or(FilterError::NoLibpcap { reason: String::new() }, failed))
}

impl Functions {
    /// # Safety
    /// The library must be libpcap.
    unsafe fn of(library: Library) -> Result<Self, libloading::Error> {
        // SAFETY: the caller vouches for the types.
        unsafe {
            Ok(Self {
                open_dead: *library.get(b"pcap_open_dead\0")?,
                compile: *library.get(b"pcap_compile\0")?,
                error: *library.get(b"pcap_geterr\0")?,
                free: *library.get(b"pcap_freecode\0")?,
                close: *library.get(b"pcap_close\0")?,
                filter: *library.get(b"bpf_filter\0")?,
                _library: library,
            })
        }
    }
}

/// A program in memory of libpcap.
pub(crate) struct Compiled {
    raw: RawProgram,
    functions: &'static Functions,
}

// SAFETY: the memory belongs to the process, not to a thread, and only this value points to it.
unsafe impl Send for Compiled {}

// SAFETY: after it was compiled, a program is only read.
unsafe impl Sync for Compiled {}

impl Compiled {
    pub(crate) fn new(expression: &str, data_link_type: i32) -> Result<Self, FilterError> {
        let refused = |reason: &str| FilterError::Expression { reason: reason.to_owned() };
        let functions = functions()?;
        let text = CString::new(expression).map_err(|_| refused("a zero byte in the expression"))?;
        let _guard = COMPILER.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the function has no precondition.
        let handle = NonNull::new(unsafe { (functions.open_dead)(data_link_type, SNAP_LEN) });
        let handle = handle.ok_or_else(|| refused("libpcap has no memory"))?;
        let mut raw = RawProgram { len: 0, instructions: ptr::null_mut() };
        // SAFETY: handle, program and text are valid for the call. The text ends with zero.
        let outcome =
            unsafe { (functions.compile)(handle.as_ptr(), &raw mut raw, text.as_ptr(), 1, UNKNOWN_NETMASK) };
        let compiled = if outcome == 0 {
            Ok(Self { raw, functions })
        } else {
            // SAFETY: the handle is valid, and its text, which ends with zero, is copied before it is closed.
            let reason = unsafe { CStr::from_ptr((functions.error)(handle.as_ptr())) };
            Err(refused(&reason.to_string_lossy()))
        };
        // SAFETY: the handle is not used from here on. A program does not refer to it.
        unsafe { (functions.close)(handle.as_ptr()) };
        compiled
    }

    #[inline]
    pub(crate) fn passes(&self, frame: &[u8]) -> bool {
        let len = c_uint::try_from(frame.len()).unwrap_or(c_uint::MAX);
        // SAFETY: the program was compiled by libpcap, whose interpreter reads no more than this length of the frame.
        unsafe { (self.functions.filter)(self.raw.instructions, frame.as_ptr(), len, len) != 0 }
    }

    pub(crate) fn instructions(&self) -> &[Instruction] {
        let len = usize::try_from(self.raw.len).unwrap_or(0);
        if self.raw.instructions.is_null() {
            return &[];
        }
        // SAFETY: libpcap allocated that many instructions, and changes them no more.
        unsafe { slice::from_raw_parts(self.raw.instructions, len) }
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        // SAFETY: libpcap allocated the instructions, and no borrow of them is left.
        unsafe { (self.functions.free)(&raw mut self.raw) };
    }
}
