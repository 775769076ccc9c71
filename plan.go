package petcat

import "strings"

// Plan is a level of service.
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

// Subscription is a plan with the quota of one account. Only [ParseSubscription] makes a valid
// one.
type Subscription struct {
	plan  Plan
	quota Quota
}

// ParseSubscription validates a plan's name and numbers; 0 means that a number was not given.
// Enterprise needs both numbers, other plans reject them. It returns an [Error] with
// [CodeMissingField] or [CodeInvalidField].
func ParseSubscription(plan string, perMinute, perDay int64) (Subscription, error) {
	p := Plan(strings.ToLower(plan))
	switch p {
	case Free, Pro, Business:
		if perMinute != 0 || perDay != 0 {
			return Subscription{}, Errorf(CodeInvalidField,
				"the %s plan has published quotas; leave out the numbers, or choose the enterprise plan", p)
		}
		q, _ := p.Quota()
		return Subscription{plan: p, quota: q}, nil
	case Enterprise:
		if perMinute == 0 || perDay == 0 {
			return Subscription{}, Errorf(CodeMissingField,
				"the enterprise plan needs both numbers: per minute and per day")
		}
		for _, n := range []int64{perMinute, perDay} {
			if n < 1 || n > MaxQuota {
				return Subscription{}, Errorf(CodeInvalidField,
					"a quota must be from 1 to %d (got %d)", int64(MaxQuota), n)
			}
		}
		return Subscription{plan: p, quota: Quota{PerMinute: perMinute, PerDay: perDay}}, nil
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
