package petcat

import "time"

// UsageDetailDays is the retention of usage by key and operation, by the day. By the hour it is
// UsageHours.
const UsageDetailDays = 13 * 31 * 24 * time.Hour

// UsageDetailKeptSince returns the beginning of the first day of which usage by key and operation is
// kept at now.
func UsageDetailKeptSince(now time.Time) time.Time {
	return UsageByDay.Floor(now.Add(-UsageDetailDays))
}

// UsageGroup is the dimension by which a usage query groups a period's requests.
type UsageGroup string

// The groups.
const (
	Ungrouped        UsageGroup = ""
	GroupByKey       UsageGroup = "key"
	GroupByOperation UsageGroup = "operation"
)

// UsageDetail is the part of an account's usage by one key and operation. Both are zero for
// requests that were not counted separately.
type UsageDetail struct {
	Key       KeyID       // 0 if the usage is grouped by operation
	Operation OperationID // "" if no operation matched, or the usage is grouped by key
	Requests  int64
	Rejected  int64 // of all kinds
	Failed    int64
}

// UsagePart is the usage of a key or an operation in an hour or day.
type UsagePart struct {
	Begin time.Time
	UsageDetail
}

// OperationUsage is an account's usage of an operation in an hour.
type OperationUsage struct {
	Account   AccountID
	Hour      time.Time // its beginning
	Operation OperationID
	Requests  int64
	Rejected  int64
	Failed    int64
}

// GroupBy returns the query grouped by group. It returns an [Error] with [CodeInvalidField] for an
// unknown group, and for a time before the retention of such usage.
func (q UsageQuery) GroupBy(group UsageGroup, now time.Time) (UsageQuery, error) {
	switch group {
	case Ungrouped:
		return q, nil
	case GroupByKey, GroupByOperation:
	default:
		return q, Errorf(CodeInvalidField, "group must be key or operation (got %.50q)", group).In("group")
	}
	if kept := UsageDetailKeptSince(now); q.From.Before(kept) {
		return q, Errorf(CodeInvalidField, "from must not be before %s with group (got %s), "+
			"because usage by key and operation is kept for 13 months",
			kept.Format(time.RFC3339), q.From.UTC().Format(time.RFC3339)).In("from")
	}
	q.Group = group
	return q, nil
}

// SumUsage returns the sum of the parts of each key or operation, in order of their first part.
func SumUsage(parts []UsagePart) []UsageDetail {
	type group struct {
		key       KeyID
		operation OperationID
	}
	places := make(map[group]int)
	var sums []UsageDetail
	for _, p := range parts {
		g := group{p.Key, p.Operation}
		i, known := places[g]
		if !known {
			i = len(sums)
			places[g] = i
			sums = append(sums, UsageDetail{Key: p.Key, Operation: p.Operation})
		}
		sums[i].Requests += p.Requests
		sums[i].Rejected += p.Rejected
		sums[i].Failed += p.Failed
	}
	return sums
}
