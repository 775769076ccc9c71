package metrics

// help returns the help of a metric. One that is not in the table is a mistake in this program.
func help(name string) string {
	for _, row := range Table() {
		if row[0] == name {
			return row[1]
		}
	}
	panic("the metric " + name + " is not in the table")
}

// Table returns the names of all metrics with their help, in the order of docs/metrics.md.
func Table() [][2]string {
	return [][2]string{
		{"petcat_ready", "1 while requests should be sent here, as /readyz says."},
		{"petcat_requests_total", "Requests answered under /v1, by operation and HTTP status; 499: the client went away before the response."},
		{"petcat_request_duration_seconds", "Time from a request's headers to the end of its response, by operation."},
		{"petcat_requests_in_flight", "Requests that are being answered."},
		{"petcat_admitted_total", "Requests that were charged to an account."},
		{"petcat_refused_total", "Requests whose caller was refused, by reason."},
		{"petcat_deprecated_requests_total", "Requests for deprecated operations, those after the sunset included; past 100 accounts, other."},
		{"petcat_bans_total", "Bans imposed; those with mode shadow were only counted."},
		{"petcat_commit_group_size", "Writes that shared one commit."},
		{"petcat_commit_duration_seconds", "Time that a commit took, from its first statement until it was on disk."},
		{"petcat_categories", "Categories in the list."},
		{"petcat_nodes", "Nodes that serve, this one included."},
		{"petcat_store_up", "1 while the store can be read and written, as /readyz says."},
		{"petcat_store_queue", "Writes that wait."},
		{"petcat_store_shed_total", "Writes refused because too many were waiting, in total or for their account."},
		{"petcat_store_free_bytes", "With SQLite: free space on the disk of the data; without any, creates get 503."},
		{"petcat_store_wal_bytes", "With SQLite: size of the write-ahead log, a few MB unless something reads for long."},
		{"petcat_store_connections", "With PostgreSQL: connections to the database."},
		{"petcat_store_connections_in_use", "With PostgreSQL: connections to the database that are in use."},
		{"petcat_clock_ahead_of_database_seconds", "With PostgreSQL: how far this node's clock is ahead of the database's; negative: behind."},
		{"petcat_catalog_age_seconds", "With PostgreSQL: time since the list was last known to be complete."},
		{"petcat_catalog_freshness_queries_total", "With PostgreSQL: queries whether the list is complete."},
		{"petcat_catalog_stale_total", "With PostgreSQL: stale lists served while the database was unavailable."},
		{"petcat_limiter_silent", "1 while the database does not count requests and this node counts in memory, as /readyz says."},
		{"petcat_limiter_local_total", "Requests that this node decided from memory because the database did not count them."},
		{"petcat_limiter_overloaded_total", "Requests answered with 503 because the database could not count them in time."},
		{"petcat_limiter_duration_seconds", "With PostgreSQL: time that requests waited for the database to count them."},
		{"petcat_keyring_keys", "Keys in memory."},
		{"petcat_keyring_trusted", "1 while the keys in memory are trusted: changes were read in the last 30 seconds."},
		{"petcat_usage_unsaved_seconds", "Since when something that was counted is not yet in the usage history; about 1 s."},
		{"petcat_audit_faults_total", "Checks of this node that found an altered, missing or moved audit entry."},
		{"petcat_backup_interval_seconds", "Time from one scheduled backup to the next."},
		{"petcat_backup_last_success_timestamp_seconds", "When the data of the last verified backup was copied, by whichever node, in Unix time; 0: never."},
		{"petcat_backup_duration_seconds", "Time that the last verified backup took, with its verification."},
		{"petcat_backup_size_bytes", "Size of the last verified backup."},
		{"petcat_backup_failures_total", "Scheduled backups of this node that failed."},
		{"petcat_connections", "Open connections of the API."},
		{"petcat_connections_max", "How many connections of the API may be open; beyond them, new ones wait."},
		{"petcat_tls_certificate_expiry_timestamp_seconds", "When the certificate that is served expires, in Unix time."},
		{"petcat_log_writes_lost_total", "Log writes that failed, and log lines dropped because a write hung."},
		{"petcat_build_info", "1; the labels say what runs."},
	}
}
