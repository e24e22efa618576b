//! The certificates that a server makes for itself at its first start: an authority, and what it signs for the server
//! and for clients. Their files have the names that mysqld gives them.
//!
//! ```text
//! ca.pem, ca-key.pem                    the authority
//! server-cert.pem, server-key.pem       for this machine's names
//! client-cert.pem, client-key.pem       for a client that is to show one
//! ```
//!
//! All files are written beside their places before the first is moved there. The certificate of the server is written
//! first and moved last: if it still stands beside its place, a start was interrupted, and the next makes all anew.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer};
use rcgen::{KeyPair, KeyUsagePurpose};

/// The names of the files that the server uses.
pub const CA: &str = "ca.pem";
pub const CERTIFICATE: &str = "server-cert.pem";
pub const KEY: &str = "server-key.pem";

const BESIDE: &str = ".new";
const YEARS: u64 = 10;
const DAY: Duration = Duration::from_secs(86_400);

/// Whether the directory has none of the server's files, or those of a start that was interrupted.
pub fn is_needed(directory: &Path) -> bool {
    let exists = |name: &str| directory.join(name).exists();
    exists(&format!("{CERTIFICATE}{BESIDE}")) || ![CA, CERTIFICATE, KEY].iter().any(|name| exists(name))
}

/// Makes all files; `host` is this machine's name.
pub fn generate(directory: &Path, host: &str) -> io::Result<()> {
    let files = certificates(host).map_err(io::Error::other)?;
    let beside = |name: &str| directory.join(format!("{name}{BESIDE}"));
    for (name, text) in &files {
        let mode = if name.ends_with("-key.pem") { 0o600 } else { 0o644 };
        let path = beside(name);
        // One that an interrupted start left may have another mode.
        let _ = fs::remove_file(&path);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
    }
    for (name, _) in files.iter().rev() {
        fs::rename(beside(name), directory.join(name))?;
    }
    File::open(directory)?.sync_all()
}

/// The files' names and texts, the server's certificate first.
fn certificates(host: &str) -> Result<[(&'static str, String); 6], rcgen::Error> {
    let ca_key = KeyPair::generate()?;
    let mut authority = params("Glassine_Auto_Generated_CA_Certificate", &[])?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca = authority.self_signed(&ca_key)?.pem();
    let ca_key_text = ca_key.serialize_pem();
    let issuer = Issuer::new(authority, ca_key);
    let signed = |common_name: &str, names: &[&str], usage: ExtendedKeyUsagePurpose| {
        let key = KeyPair::generate()?;
        let mut params = params(common_name, names)?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        params.use_authority_key_identifier_extension = true;
        Ok::<_, rcgen::Error>((params.signed_by(&key, &issuer)?.pem(), key.serialize_pem()))
    };
    let mut names = vec!["localhost", "127.0.0.1", "::1"];
    if !host.is_empty() && host != "localhost" {
        names.push(host);
    }
    let server_name = "Glassine_Auto_Generated_Server_Certificate";
    let (server, server_key) = signed(server_name, &names, ExtendedKeyUsagePurpose::ServerAuth)?;
    let client_name = "Glassine_Auto_Generated_Client_Certificate";
    let (client, client_key) = signed(client_name, &[], ExtendedKeyUsagePurpose::ClientAuth)?;
    Ok([
        (CERTIFICATE, server),
        (KEY, server_key),
        (CA, ca),
        ("ca-key.pem", ca_key_text),
        ("client-cert.pem", client),
        ("client-key.pem", client_key),
    ])
}

fn params(common_name: &str, names: &[&str]) -> Result<CertificateParams, rcgen::Error> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    // A host whose name cannot stand in a certificate has one without it.
    let mut params = CertificateParams::new(names.clone()).or_else(|_| CertificateParams::new(names[..3].to_vec()))?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Clients' clocks may be behind.
    params.not_before = epoch + now.saturating_sub(DAY);
    params.not_after = epoch + now + DAY * (365 * YEARS as u32);
    Ok(params)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn files_are_made_once_and_again_after_an_interruption() {
        let directory = std::env::temp_dir().join(format!("glassine-certificates-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        assert!(is_needed(&directory));
        generate(&directory, "a host that is no name").unwrap();
        assert!(!is_needed(&directory));
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 6);
        let mode = |name: &str| fs::metadata(directory.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(KEY), mode("ca-key.pem"), mode("client-key.pem")), (0o600, 0o600, 0o600));
        assert_eq!(mode(CA), 0o644);
        // What an interruption after the first move leaves.
        fs::rename(directory.join(CERTIFICATE), directory.join(format!("{CERTIFICATE}{BESIDE}"))).unwrap();
        assert!(is_needed(&directory));
        generate(&directory, "db1").unwrap();
        assert!(!is_needed(&directory));
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 6);
        // A file that the administrator took away is not made up for.
        fs::remove_file(directory.join(KEY)).unwrap();
        assert!(!is_needed(&directory));
        fs::remove_dir_all(&directory).unwrap();
    }
}
