//! Real filesystems in image files: made, mounted and taken down again (root only).
//!
//! ```text
//!   Plain    image file ── loop device ── filesystem
//!   Volatile image file ── VolatileDisk ── loop device ── filesystem     its power can be cut
//! ```
//!
//! Everything that was mounted is unmounted when its owner is dropped, also after a
//! failed test; `mount | grep glassine` shows what a killed run left behind.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::volatile_disk::VolatileDisk;

/// A way to make a filesystem.
#[derive(Debug)]
pub struct Filesystem {
    pub name: &'static str,
    /// Program and arguments, before the device. Empty: there is no device (tmpfs).
    make: &'static [&'static str],
    kind: &'static str,
    options: &'static str,
}

/// Those that the crash tests know.
pub static FILESYSTEMS: &[Filesystem] = &[
    Filesystem {
        name: "ext4",
        make: &["mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "nodiscard"],
        kind: "ext4",
        options: "nodiscard",
    },
    Filesystem {
        name: "ext4-1k",
        make: &["mkfs.ext4", "-q", "-F", "-b", "1024", "-E", "nodiscard"],
        kind: "ext4",
        options: "nodiscard",
    },
    Filesystem {
        name: "ext4-bigalloc",
        make: &["mkfs.ext4", "-q", "-F", "-O", "bigalloc", "-C", "16384", "-E", "nodiscard"],
        kind: "ext4",
        options: "nodiscard",
    },
    Filesystem { name: "xfs", make: &["mkfs.xfs", "-q", "-f", "-K"], kind: "xfs", options: "nodiscard" },
    Filesystem { name: "btrfs", make: &["mkfs.btrfs", "-q", "-f", "-K"], kind: "btrfs", options: "nodiscard" },
    Filesystem {
        name: "btrfs-nodatacow",
        make: &["mkfs.btrfs", "-q", "-f", "-K"],
        kind: "btrfs",
        options: "nodiscard,nodatacow",
    },
    Filesystem { name: "tmpfs", make: &[], kind: "tmpfs", options: "size=2G" },
];

impl Filesystem {
    pub fn find(name: &str) -> Option<&'static Filesystem> {
        FILESYSTEMS.iter().find(|filesystem| filesystem.name == name)
    }

    /// Whether it lies on a device whose power can be cut.
    pub fn has_device(&self) -> bool {
        !self.make.is_empty()
    }

    /// Why it cannot be made here, if so.
    pub fn obstacle(&self) -> Option<String> {
        let program = self.make.first()?;
        let found = Command::new(program).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
        if !found {
            return Some(format!("{program} is not installed"));
        }
        let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
        if !known.split_whitespace().any(|word| word == self.kind) {
            return Some(format!("this kernel does not know {}", self.kind));
        }
        None
    }
}

/// Why nothing can be mounted here, if so: it is tried on an image in `home`.
pub fn obstacle(home: &Path) -> Option<String> {
    let tried = || -> io::Result<()> {
        fs::create_dir_all(home)?;
        let image = home.join("try");
        File::create(&image)?.set_len(1 << 20)?;
        let disk = VolatileDisk::mount(&image, &home.join("try-disk"))?;
        let device = loop_device(&disk.path)?;
        run(Command::new("losetup").args(["-d", &device]))?;
        disk.unmount()?;
        fs::remove_file(&image)
    };
    tried().err().map(|error| format!("FUSE and loop devices are needed: {error}"))
}

/// A mounted filesystem, with or without a disk whose power can be cut.
pub struct Mount {
    filesystem: &'static Filesystem,
    /// Where it is mounted.
    pub directory: PathBuf,
    image: PathBuf,
    disk: Option<VolatileDisk>,
    device: Option<String>,
    mounted: bool,
}

impl Mount {
    /// Makes a new filesystem of `bytes` in `home` and mounts it.
    pub fn create(filesystem: &'static Filesystem, home: &Path, bytes: u64, volatile: bool) -> io::Result<Mount> {
        let _ = fs::remove_file(home.join("image"));
        Mount::open(filesystem, home, bytes, volatile)
    }

    /// Mounts the filesystem that was made in `home`, or makes it.
    pub fn open(filesystem: &'static Filesystem, home: &Path, bytes: u64, volatile: bool) -> io::Result<Mount> {
        fs::create_dir_all(home)?;
        let mut mount = Mount {
            filesystem,
            directory: home.join("mnt"),
            image: home.join("image"),
            disk: None,
            device: None,
            mounted: false,
        };
        fs::create_dir_all(&mount.directory)?;
        if filesystem.has_device() && !mount.image.exists() {
            let image = File::create(&mount.image)?;
            image.set_len(bytes)?;
            // It is made on the image itself, before there is anything to lose.
            let mut make = Command::new(filesystem.make[0]);
            run(make.args(&filesystem.make[1..]).arg(&mount.image))?;
        }
        mount.attach(volatile)?;
        Ok(mount)
    }

    fn attach(&mut self, volatile: bool) -> io::Result<()> {
        let mut mount = Command::new("mount");
        mount.args(["-t", self.filesystem.kind, "-o", self.filesystem.options]);
        if self.filesystem.has_device() {
            let file = if volatile {
                let path = self.image.with_file_name("disk");
                self.disk.insert(VolatileDisk::mount(&self.image, &path)?).path.clone()
            } else {
                self.image.clone()
            };
            // Around our own disk there is no cache; a plain image is not to be cached twice.
            let device = if volatile { loop_device(&file) } else { loop_device_direct(&file) };
            mount.arg(self.device.insert(device?));
        } else {
            mount.arg("none");
        }
        run(mount.arg(&self.directory))?;
        self.mounted = true;
        Ok(())
    }

    fn detach(&mut self) -> io::Result<()> {
        if self.mounted {
            // A killed server's last requests may still be on their way.
            let mut tries = 0;
            while let Err(error) = run(Command::new("umount").arg(&self.directory)) {
                tries += 1;
                if tries == 50 {
                    return Err(error);
                }
                thread::sleep(Duration::from_millis(100));
            }
            self.mounted = false;
        }
        if let Some(device) = self.device.take() {
            run(Command::new("losetup").args(["-d", &device]))?;
        }
        match self.disk.take() {
            Some(disk) => disk.unmount(),
            None => Ok(()),
        }
    }

    /// The disk, if its power can be cut. What is written here after a cut never happened.
    pub fn disk(&self) -> Option<&VolatileDisk> {
        self.disk.as_ref()
    }

    /// Mounts what the power cut left, on a disk with power.
    pub fn power_on(&mut self) -> io::Result<()> {
        self.detach()?;
        self.attach(true)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if let Err(error) = self.detach() {
            eprintln!("{} stays mounted: {error}", self.directory.display());
        }
    }
}

/// Puts a loop device on a file.
fn loop_device(file: &Path) -> io::Result<String> {
    let output = run(Command::new("losetup").args(["--find", "--show"]).arg(file))?;
    Ok(String::from_utf8_lossy(&output).trim().to_string())
}

/// The same, past the page cache of the filesystem that the image lies on.
fn loop_device_direct(file: &Path) -> io::Result<String> {
    let output = run(Command::new("losetup").args(["--find", "--show", "--direct-io=on"]).arg(file))?;
    Ok(String::from_utf8_lossy(&output).trim().to_string())
}

fn run(command: &mut Command) -> io::Result<Vec<u8>> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(io::Error::other(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim())))
}
