package petcat

import (
	"cmp"
	"strings"
)

// Plan is a service level.
type Plan string

// The plans.
const (
	Free       Plan = "free"
	Pro        Plan = "pro"
	Business   Plan = "business"
	Enterprise Plan = "enterprise"
)

// Plans returns the plans, from small to large.
func Plans() []Plan { return []Plan{Free, Pro, Business, Enterprise} }

// ParsePlan parses a plan's name, ignoring case. It returns an [Error] with [CodeInvalidField].
func ParsePlan(s string) (Plan, error) {
	switch p := Plan(strings.ToLower(s)); p {
	case Free, Pro, Business, Enterprise:
		return p, nil
	default:
		return "", Errorf(CodeInvalidField,
			"there is no plan %.100q; the plans are free, pro, business and enterprise", s)
	}
}

// Quota returns the plan's published quota; ok is false if the quota is agreed with each
// account.
func (p Plan) Quota() (q Quota, ok bool) {
	switch p {
	case Free:
		return Quota{PerMinute: 60, PerDay: 1_000}, true
	case Pro:
		return Quota{PerMinute: 300, PerDay: 10_000}, true
	case Business:
		return Quota{PerMinute: 1_000, PerDay: 100_000}, true
	default:
		return Quota{}, false
	}
}

// Storage returns the most that an account on the plan may store. For Enterprise it is the default,
// because the numbers are agreed with each account.
func (p Plan) Storage() Storage {
	switch p {
	case Free:
		return Storage{Categories: 10_000, Bytes: 2 << 20}
	case Pro:
		return Storage{Categories: 100_000, Bytes: 20 << 20}
	default:
		return Storage{Categories: 500_000, Bytes: 100 << 20}
	}
}

// Subscription is a plan with the quota and the storage of one account. Only [ParseSubscription]
// makes a valid one.
type Subscription struct {
	plan    Plan
	quota   Quota
	storage Storage
}

// ParseSubscription validates a plan's name and numbers; 0 means that a number was not given.
// Enterprise needs both quotas, and has the storage of the Business plan unless it is given. Other
// plans reject numbers. It returns an [Error] with [CodeMissingField] or [CodeInvalidField].
func ParseSubscription(plan string, quota Quota, storage Storage) (Subscription, error) {
	p := Plan(strings.ToLower(plan))
	switch p {
	case Free, Pro, Business:
		if quota != (Quota{}) || storage != (Storage{}) {
			return Subscription{}, Errorf(CodeInvalidField,
				"the %s plan has published numbers; leave out the numbers, or choose the enterprise plan", p)
		}
		quota, _ = p.Quota()
		return Subscription{plan: p, quota: quota, storage: p.Storage()}, nil
	case Enterprise:
		if quota.PerMinute == 0 || quota.PerDay == 0 {
			return Subscription{}, Errorf(CodeMissingField,
				"the enterprise plan needs both numbers: per minute and per day")
		}
		storage.Categories = cmp.Or(storage.Categories, p.Storage().Categories)
		storage.Bytes = cmp.Or(storage.Bytes, p.Storage().Bytes)
		for _, n := range []int64{quota.PerMinute, quota.PerDay, storage.Categories, storage.Bytes} {
			if n < 1 || n > MaxQuota {
				return Subscription{}, Errorf(CodeInvalidField,
					"the numbers of a plan must be from 1 to %d (got %d)", int64(MaxQuota), n)
			}
		}
		return Subscription{plan: p, quota: quota, storage: storage}, nil
	case "":
		return Subscription{}, Errorf(CodeMissingField, "a plan is required: free, pro, business or enterprise")
	default:
		_, err := ParsePlan(plan)
		return Subscription{}, err
	}
}

// Plan returns the plan.
func (s Subscription) Plan() Plan { return s.plan }

// Quota returns the quota.
func (s Subscription) Quota() Quota { return s.quota }

// Storage returns the most that the account may store.
func (s Subscription) Storage() Storage { return s.storage }
