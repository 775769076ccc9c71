package metrics

import "slices"

// Metric is one row of the metrics table.
type Metric struct {
	Name string
	Help string
}

// help returns the help of a metric. It panics if the metric is not in the table.
func help(name string) string {
	for _, m := range Table() {
		if m.Name == name {
			return m.Help
		}
	}
	panic("the table of metrics lacks " + name)
}

// Table returns all metrics, in the order of docs/metrics.md.
func Table() []Metric {
	return slices.Concat(
		requestMetrics(),
		catalogMetrics(),
		storeMetrics(),
		memoryMetrics(),
		backupMetrics(),
		webhookMetrics(),
		processMetrics(),
	)
}

// requestMetrics describe the requests of the API.
func requestMetrics() []Metric {
	return []Metric{
		{
			Name: "petcat_ready",
			Help: "1 while the node is ready for requests, as in /readyz.",
		},
		{
			Name: "petcat_requests_total",
			Help: "Requests under /v1, by operation and HTTP status; 499: the client disconnected " +
				"before the response.",
		},
		{
			Name: "petcat_request_duration_seconds",
			Help: "Time from the request headers to the end of the response, by operation.",
		},
		{
			Name: "petcat_requests_in_flight",
			Help: "Requests in flight.",
		},
		{
			Name: "petcat_allowed_total",
			Help: "Requests counted against an account's quotas.",
		},
		{
			Name: "petcat_rejected_total",
			Help: "Requests rejected because of the key or a limit, by reason.",
		},
		{
			Name: "petcat_deprecated_requests_total",
			Help: "Requests for deprecated operations, also after their sunset, by operation and account; " +
				"after the first 100 accounts, the label is other.",
		},
		{
			Name: "petcat_admin_requests_total",
			Help: "Requests for the console, the management API and profiling, by route and class of the HTTP " +
				"status, such as 4xx.",
		},
		{
			Name: "petcat_bans_total",
			Help: "Bans, by mode; shadow bans are not enforced.",
		},
	}
}

// catalogMetrics describe the list and its limit.
func catalogMetrics() []Metric {
	return []Metric{
		{
			Name: "petcat_categories",
			Help: "Categories in the list.",
		},
		{
			Name: "petcat_catalog_bytes",
			Help: "Total size of the categories, as the limits count it: JSON texts, and 64 bytes per category.",
		},
		{
			Name: "petcat_catalog_max_bytes",
			Help: "Limit of petcat_catalog_bytes: --max-categories-size.",
		},
	}
}

// storeMetrics describe the store and its database.
func storeMetrics() []Metric {
	return []Metric{
		{
			Name: "petcat_commit_group_size",
			Help: "Writes per commit.",
		},
		{
			Name: "petcat_commit_duration_seconds",
			Help: "Duration of a commit, from its first statement until it is on disk.",
		},
		{
			Name: "petcat_nodes",
			Help: "Running nodes, including this one.",
		},
		{
			Name: "petcat_store_up",
			Help: "1 while the store can be read and written, as in /readyz.",
		},
		{
			Name: "petcat_store_queue",
			Help: "Queued writes.",
		},
		{
			Name: "petcat_store_shed_total",
			Help: "Writes rejected because the queue was full, overall or for the account.",
		},
		{
			Name: "petcat_store_free_bytes",
			Help: "With SQLite: free space on the data disk; if the disk is full, creates get 503.",
		},
		{
			Name: "petcat_store_disk_bytes",
			Help: "With SQLite: size of the data disk.",
		},
		{
			Name: "petcat_store_wal_bytes",
			Help: "With SQLite: size of the write-ahead log; normally a few MB, more during a long read.",
		},
		{
			Name: "petcat_store_connections",
			Help: "With PostgreSQL: open connections to the database.",
		},
		{
			Name: "petcat_store_connections_in_use",
			Help: "With PostgreSQL: connections to the database in use.",
		},
		{
			Name: "petcat_clock_ahead_of_database_seconds",
			Help: "With PostgreSQL: offset of this node's clock from the database's; negative if it is behind.",
		},
	}
}

// memoryMetrics describe the data in memory: the list, the limiter, the keys and the usage.
func memoryMetrics() []Metric {
	return []Metric{
		{
			Name: "petcat_catalog_age_seconds",
			Help: "With PostgreSQL: time since the list was last known to be complete.",
		},
		{
			Name: "petcat_catalog_freshness_queries_total",
			Help: "With PostgreSQL: queries that check whether the list is complete.",
		},
		{
			Name: "petcat_catalog_stale_total",
			Help: "With PostgreSQL: stale lists served while the database was unavailable.",
		},
		{
			Name: "petcat_limiter_silent",
			Help: "1 while the database does not count requests and this node counts them in memory, as in " +
				"/readyz.",
		},
		{
			Name: "petcat_limiter_local_total",
			Help: "Requests counted in memory because the database did not count them.",
		},
		{
			Name: "petcat_limiter_overloaded_total",
			Help: "Requests that got 503 because more were queued than the database can count in a second.",
		},
		{
			Name: "petcat_limiter_failed_total",
			Help: "Requests that got 503 because counting them failed, or waited for a lock for a second.",
		},
		{
			Name: "petcat_limiter_duration_seconds",
			Help: "With PostgreSQL: time that the database took to count a group of requests.",
		},
		{
			Name: "petcat_keyring_keys",
			Help: "Keys in memory.",
		},
		{
			Name: "petcat_keyring_trusted",
			Help: "1 while the keys in memory are trusted: changes were read in the last 30 seconds.",
		},
		{
			Name: "petcat_usage_unsaved_seconds",
			Help: "Age of the oldest count that is not yet in the usage history; normally about 1 s.",
		},
	}
}

// backupMetrics describe scheduled backups.
func backupMetrics() []Metric {
	return []Metric{
		{
			Name: "petcat_backup_interval_seconds",
			Help: "Interval between scheduled backups.",
		},
		{
			Name: "petcat_backup_last_success_timestamp_seconds",
			Help: "Unix time of the data in the last verified backup of any node; 0 if there is none.",
		},
		{
			Name: "petcat_backup_duration_seconds",
			Help: "Duration of the last verified backup, including its verification.",
		},
		{
			Name: "petcat_backup_size_bytes",
			Help: "Size of the last verified backup.",
		},
		{
			Name: "petcat_backup_failures_total",
			Help: "Failed scheduled backups of this node.",
		},
		{
			Name: "petcat_backup_damaged_total",
			Help: "Scheduled backups of this node in which verification found faults.",
		},
	}
}

// webhookMetrics describe event deliveries.
func webhookMetrics() []Metric {
	return []Metric{
		{
			Name: "petcat_webhook_deliveries_total",
			Help: "Events that this node delivered to webhooks.",
		},
		{
			Name: "petcat_webhook_failures_total",
			Help: "Failed attempts of this node to deliver an event.",
		},
		{
			Name: "petcat_webhooks_disabled",
			Help: "Webhooks that petcat disabled: the receiver returned 410 or failed for 42 hours, or a backup was restored.",
		},
	}
}

// processMetrics describe the process.
func processMetrics() []Metric {
	return []Metric{
		{
			Name: "petcat_connections",
			Help: "Open connections of the API.",
		},
		{
			Name: "petcat_connections_max",
			Help: "Maximum number of open connections of the API; further connections wait.",
		},
		{
			Name: "petcat_tls_certificate_expiry_timestamp_seconds",
			Help: "Unix time at which the served certificate expires.",
		},
		{
			Name: "petcat_log_writes_lost_total",
			Help: "Failed log writes, and log lines dropped while a write hung.",
		},
		{
			Name: "petcat_build_info",
			Help: "1, with the version, revision, Go version and node as labels.",
		},
	}
}
