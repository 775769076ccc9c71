package rediscounters

// Virtual has the partitions' clock be now, in nanoseconds since the Unix epoch.
func Virtual(o *Options, now func() int64) { o.now = now }

// Prefix returns how a partition's keys begin.
func Prefix(c *Counters, partition int) string { return c.prefixes[partition] }
