//! The server, its connections, character sets and time.

use super::*;

pub(super) const LIST: &[Variable] = &[
    // --- Server -----------------------------------------------------------------------------------------------------
    v("basedir", Global, Text, "", "Directory of the installation").at_start(),
    v("bind_address", Global, Text, "127.0.0.1", "Addresses to listen on, separated by commas; * for all").at_start(),
    v("datadir", Global, Text, "./data", "Directory of the databases").at_start(),
    v("hostname", Global, Text, "localhost", "Name of this machine").fixed(),
    v("license", Global, Text, "Apache-2.0", "Licence of the server").fixed(),
    v("lower_case_file_system", Global, Bool, "OFF", "Whether file names ignore case").fixed(),
    v("lower_case_table_names", Global, int(0, 2), "0", "How table names are stored and compared; only 0")
        .at_start()
        .inert("names are always stored and compared as given"),
    v(
        "metrics_address",
        Global,
        Text,
        "",
        "Address and port of the metrics over HTTP, without a login: 127.0.0.1:9104",
    )
    .at_start(),
    v("pid_file", Global, Text, "", "File that holds the process id").at_start(),
    v("plugin_dir", Global, Text, "", "Directory of plugins").at_start().inert("there are no plugins"),
    v("port", Global, int(0, 65_535), "3306", "TCP port to listen on").at_start(),
    v("protocol_version", Global, int(0, 255), "10", "Version of the client protocol").fixed(),
    v("server_id", Both, int(0, U32), "1", "Number of this server in replication"),
    v("server_uuid", Global, Text, "", "Identity of this server, from auto.cnf in the data directory").fixed(),
    v("skip_networking", Global, Bool, "OFF", "Listen on the socket only").at_start(),
    v("skip_name_resolve", Global, Bool, "ON", "Do not ask DNS for the names of clients")
        .at_start()
        .inert("names of clients are never asked for"),
    v("skip_external_locking", Global, Bool, "ON", "Do not lock files for other servers").at_start().inert(ALWAYS_ON),
    v("skip_show_database", Global, Bool, "OFF", "SHOW DATABASES needs the privilege of its name").at_start(),
    v("socket", Global, Text, "glassine.sock", "Unix socket to listen on").at_start(),
    v("system_time_zone", Global, Text, "UTC", "The machine's time zone").fixed(),
    v("tmpdir", Global, Text, "/tmp", "Directory of temporary files").at_start(),
    v("slave_load_tmpdir", Global, Text, "/tmp", "Directory of temporary files of replication")
        .at_start()
        .inert("rows are replicated, not files"),
    v("user", Global, Text, "", "Account to run as").at_start().inert("start the server as that account"),
    v("version", Global, Text, "8.0.36-glassine", "Version of the server, as clients see it").at_start(),
    v("version_comment", Global, Text, "Glassine", "Name of the server").fixed(),
    v("version_compile_machine", Global, Text, std::env::consts::ARCH, "Machine it was built for").fixed(),
    v("version_compile_os", Global, Text, std::env::consts::OS, "System it was built for").fixed(),
    v("version_compile_zlib", Global, Text, "libdeflate", "Library of the zlib codec").fixed(),
    v("core_file", Global, Bool, "OFF", "Write a core file on a crash").at_start().inert(NOT_YET),
    v("external_user", Session, Text, "", "Name that an authentication plugin saw").null().fixed(),
    v("proxy_user", Session, Text, "", "Account that is acted for").null().fixed(),
    v("large_page_size", Global, int(0, ANY), "0", "Bytes of a huge page").fixed(),
    v("large_pages", Global, Bool, "OFF", "Use huge pages").at_start().inert(NOT_YET),
    v("locked_in_memory", Global, Bool, "OFF", "Whether the server is locked in memory").fixed(),
    v("have_compress", Global, Text, "YES", "Whether COMPRESS() exists").fixed(),
    v("have_dynamic_loading", Global, Text, "NO", "Whether plugins can be loaded").fixed(),
    v("have_geometry", Global, Text, "YES", "Whether there are spatial types").fixed(),
    v("have_openssl", Global, Text, "DISABLED", "Whether there is TLS").fixed(),
    v("have_profiling", Global, Text, "YES", "Whether SHOW PROFILE exists").fixed(),
    v("have_query_cache", Global, Text, "NO", "Whether results are cached").fixed(),
    v("have_rtree_keys", Global, Text, "NO", "Whether there are spatial indexes").fixed(),
    v("have_ssl", Global, Text, "DISABLED", "Whether there is TLS").fixed(),
    v("have_statement_timeout", Global, Text, "YES", "Whether statements can be limited in time").fixed(),
    v("have_symlink", Global, Text, "DISABLED", "Whether tables may be links").fixed(),
    // --- Connections ------------------------------------------------------------------------------------------------
    v("auto_generate_certs", Global, Bool, "ON", "Make certificates at the first start").at_start(),
    v("back_log", Global, int(1, 65_535), "128", "Connections that may wait to be accepted")
        .at_start()
        .inert("128 may wait"),
    v("connect_timeout", Global, int(2, YEAR), "10", "Seconds for a client to log in"),
    v(
        "default_authentication_plugin",
        Global,
        Enumeration(&["mysql_native_password", "caching_sha2_password", "sha256_password"]),
        "caching_sha2_password",
        "Plugin of new accounts",
    )
    .at_start(),
    v("authentication_policy", Global, Text, "*,,", "Plugins of new accounts"),
    v("caching_sha2_password_auto_generate_rsa_keys", Global, Bool, "ON", "Make an RSA key at start")
        .at_start()
        .inert(ALWAYS_ON),
    v("disconnect_on_expired_password", Global, Bool, "ON", "Refuse clients whose password expired").at_start(),
    v("init_connect", Global, Text, "", "Statements that are run first for each client that is no administrator"),
    v("init_file", Global, Text, "", "File of statements that are run at the start, before clients come").at_start(),
    v("interactive_timeout", Both, int(1, YEAR), "28800", "Seconds an interactive client may be silent"),
    v("max_allowed_packet", Both, steps(1024, 1 << 30, 1024), "67108864", "Most bytes of a statement or value"),
    v("host_cache_size", Global, int(0, 65_536), "128", "Addresses with errors that are remembered"),
    v("max_connect_errors", Global, int(1, ANY), "100", "Handshakes that break off until their address is refused"),
    v("max_connections", Global, int(1, 100_000), "151", "Most clients at once"),
    v("max_user_connections", Both, int(0, U32), "0", "Most clients of one account at once"),
    v("mysqlx_port", Global, int(0, 65_535), "33060", "Port of the X protocol")
        .at_start()
        .inert("there is no X protocol"),
    v("net_buffer_length", Both, steps(1024, 1 << 20, 1024), "16384", "Bytes of a connection's first buffer")
        .inert(AUTOMATIC),
    v("net_read_timeout", Both, int(1, YEAR), "30", "Seconds to wait for the rest of a packet"),
    v("net_retry_count", Both, int(1, ANY), "10", "How often a broken read is tried again").inert(GONE),
    v("net_write_timeout", Both, int(1, YEAR), "60", "Seconds to wait for a client to take data"),
    v(
        "protocol_compression_algorithms",
        Global,
        Text,
        "zlib,zstd,uncompressed",
        "How clients may compress their connection",
    ),
    v("proxy_protocol_networks", Global, Text, "", "Addresses of proxies that may say where their clients are"),
    v(
        "performance_schema_session_connect_attrs_size",
        Global,
        int(-1, 1 << 20),
        "512",
        "Most bytes of what a client says of itself that are kept; -1: 512",
    )
    .at_start(),
    v("pseudo_thread_id", Session, int(0, ANY), "0", "Number of this connection").computed(),
    v("pseudo_slave_mode", Session, Bool, "OFF", "Used by replayed binary logs")
        .not_an_option()
        .inert("replayed statements need no mode of their own"),
    v("require_secure_transport", Global, Bool, "OFF", "Accept TLS and sockets only"),
    v("secure_auth", Global, Bool, "ON", "Refuse passwords of version 4.0").inert(ALWAYS_ON),
    v("secure_file_priv", Global, Text, "", "Directory that files may be read from and written to").null().at_start(),
    v("session_track_gtids", Both, Enumeration(&["OFF", "OWN_GTID", "ALL_GTIDS"]), "OFF", "Report transactions' GTIDs"),
    v("session_track_schema", Both, Bool, "ON", "Report changes of the database"),
    v("session_track_state_change", Both, Bool, "OFF", "Report changes of the session"),
    v(
        "session_track_system_variables",
        Both,
        Text,
        "time_zone,autocommit,character_set_client,character_set_results,character_set_connection",
        "Variables whose changes are reported",
    ),
    v(
        "session_track_transaction_info",
        Both,
        Enumeration(&["OFF", "STATE", "CHARACTERISTICS"]),
        "OFF",
        "Report the state of the transaction",
    ),
    v("ssl_ca", Global, Text, "", "File of the authority's certificate").null(),
    v("ssl_capath", Global, Text, "", "Directory of authorities' certificates").null(),
    v("ssl_cert", Global, Text, "", "File of the server's certificate").null(),
    v("ssl_cipher", Global, Text, "", "Ciphers of TLS 1.2 that may be used, separated by colons").null(),
    v("ssl_crl", Global, Text, "", "File of revoked certificates").null(),
    v("ssl_crlpath", Global, Text, "", "Directory of files of revoked certificates").null(),
    v("ssl_key", Global, Text, "", "File of the server's key").null(),
    v("tls_ciphersuites", Global, Text, "", "Ciphers of TLS 1.3 that may be used, separated by colons").null(),
    v("tls_version", Global, Text, "TLSv1.2,TLSv1.3", "Versions of TLS that may be used; none: no TLS"),
    v("thread_cache_size", Global, int(0, 16_384), "9", "Idle threads that are kept").inert(AUTOMATIC),
    v(
        "thread_handling",
        Global,
        Enumeration(&["one-thread-per-connection", "no-threads", "pool-of-threads"]),
        "one-thread-per-connection",
        "How connections are served",
    )
    .at_start()
    .inert(AUTOMATIC),
    v("thread_stack", Global, steps(131_072, ANY, 1024), "1048576", "Bytes of a connection's stack")
        .at_start()
        .inert(AUTOMATIC),
    v("wait_timeout", Both, int(1, YEAR), "28800", "Seconds a client may be silent"),
    // --- Character sets, time, language -----------------------------------------------------------------------------
    v("character_set_client", Both, Text, "utf8mb4", "Character set of statements").not_an_option(),
    v("character_set_client_handshake", Global, Bool, "ON", "Clients say at login which character set they speak")
        .at_start(),
    v("character_set_connection", Both, Text, "utf8mb4", "Character set of literals").not_an_option(),
    v("character_set_database", Both, Text, "utf8mb4", "Character set of the current database").not_an_option(),
    v("character_set_filesystem", Both, Text, "binary", "Character set of file names")
        .inert("names of files are taken as they are"),
    v("character_set_results", Both, Text, "utf8mb4", "Character set of results; NULL: as stored").not_an_option(),
    v("character_set_server", Both, Text, "utf8mb4", "Character set of new databases"),
    v("character_set_system", Global, Text, "utf8mb3", "Character set of names").fixed(),
    v("character_sets_dir", Global, Text, "", "Directory of character sets").at_start().inert("they are built in"),
    v("collation_connection", Both, Text, "utf8mb4_general_ci", "Collation of literals").not_an_option(),
    v("collation_database", Both, Text, "utf8mb4_general_ci", "Collation of the current database").not_an_option(),
    v("collation_server", Both, Text, "utf8mb4_general_ci", "Collation of new databases"),
    v("default_collation_for_utf8mb4", Both, Text, "utf8mb4_general_ci", "Collation that utf8mb4 stands for"),
    v("date_format", Global, Text, "%Y-%m-%d", "Format of dates").fixed(),
    v("datetime_format", Global, Text, "%Y-%m-%d %H:%i:%s", "Format of dates with time").fixed(),
    v("time_format", Global, Text, "%H:%i:%s", "Format of times").fixed(),
    v("default_week_format", Both, int(0, 7), "0", "What WEEK() counts"),
    v("explicit_defaults_for_timestamp", Both, Bool, "ON", "TIMESTAMP columns have no magic defaults")
        .inert("a TIMESTAMP column never has a default that it does not say"),
    v("lc_messages", Both, Text, "en_US", "Language of messages").inert("messages are English"),
    v("lc_messages_dir", Global, Text, "", "Directory of messages").at_start().inert("messages are English"),
    v("lc_time_names", Both, Enumeration(&crate::locales::NAMES), "en_US", "Language of day and month names"),
    v("time_zone", Both, Text, "SYSTEM", "Time zone of this session").not_an_option(),
    v("default_time_zone", Global, Text, "SYSTEM", "Time zone of new sessions").at_start(),
    v("timestamp", Session, Real { min: 0.0, max: 4_294_967_295.0 }, "0", "What NOW() answers; 0: the time").computed(),
];
