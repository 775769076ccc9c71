package console

import (
	"cmp"
	"net/http"
	"net/http/pprof" // it also registers itself with http.DefaultServeMux, which is not served
	"slices"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
)

// pages returns all pages.
func (c *Console) pages() []pages.Page {
	return []pages.Page{
		{Path: "{$}", Show: c.overview},
		{Path: "history.json", Show: c.charts},
		{Path: "find", Show: c.find, Method: http.MethodPost}, // the text may be a secret
		{Path: "accounts", Show: c.accounts},
		{Path: "accounts/{account}", Show: c.account},
		{Path: "accounts/{account}/close", Show: c.confirmClose, Admin: true},
		{Path: "accounts/{account}/purge", Show: c.confirmPurge, Admin: true},
		{Path: "accounts/{account}/usage", Show: c.usage},
		{Path: "accounts/{account}/usage.csv", Show: c.usageCSV},
		{Path: "accounts/{account}/usage.json", Show: c.usageChart},
		{Path: "keys/{key}", Show: c.key},
		{Path: "keys/{key}/revoke", Show: c.confirmRevoke, Admin: true},
		{Path: "bans", Show: c.bans},
		{Path: "requests", Show: c.requests},
		{Path: "categories", Show: c.categories},
		{Path: "categories/{category}", Show: c.category},
		{Path: "categories/{category}/delete", Show: c.confirmDelete, Admin: true},
		{Path: "pets/{pet}", Show: c.pet},
		{Path: "pets/{pet}/delete", Show: c.confirmDeletePet, Admin: true},
		{Path: "usage", Show: c.usage},
		{Path: "usage.csv", Show: c.usageCSV},
		{Path: "usage.json", Show: c.usageChart},
		{Path: "audit", Show: c.audit},
		{Path: "audit/verify", Show: c.verifyAudit},
		{Path: "operators", Show: c.operators},
		{Path: "operators/{operator}/remove", Show: c.confirmRemove, Admin: true},
		{Path: "tokens/{token}/revoke", Show: c.confirmRevokeToken, Admin: true},
		{Path: "webhooks", Show: c.webhooks},
		{Path: "webhooks/{webhook}", Show: c.webhook},
		{Path: "webhooks/{webhook}/delete", Show: c.confirmDeleteWebhook, Admin: true},
		{Path: "settings", Show: c.settings},
		{Path: "nodes", Show: c.nodes},
		{Path: "backups", Show: c.backups},
		{Path: "sign-out-everywhere", Show: pages.SignOutEverywhere, Method: http.MethodPost},
		// Not pprof.Cmdline: the arguments may contain a password.
		{Path: "/debug/pprof/", Show: profile(pprof.Index), Admin: true},
		{Path: "/debug/pprof/profile", Show: profile(pprof.Profile), Admin: true},
		{Path: "/debug/pprof/symbol", Show: profile(pprof.Symbol), Admin: true},
		{Path: "/debug/pprof/trace", Show: profile(pprof.Trace), Admin: true},
	}
}

// maxProfile is the maximum length of a profile in seconds, as long as a response may take.
const maxProfile = 30

// profile returns the page of a profile, for admins: profiles slow the node. A garbage collection would
// stop it.
func profile(serve http.HandlerFunc) pages.Handler {
	return func(x *pages.Exchange) error {
		if x.R.Form.Has("gc") {
			return petcat.Errorf(petcat.CodeInvalidField, "a profile with gc stops all requests; leave gc out")
		}
		seconds := cmp.Or(x.Value("seconds"), "1")
		if n, isNumber := petcat.ParseNumber(seconds); !isNumber || n < 1 || n > maxProfile {
			return petcat.Errorf(petcat.CodeInvalidField, "seconds must be from 1 to %d", maxProfile)
		}
		serve(x.W, x.R)
		return nil
	}
}

// forms returns all forms. Only admins may send them.
func (c *Console) forms() []pages.Form {
	return slices.Concat(c.accountForms(), c.keyForms(), c.webhookForms(), c.otherForms())
}

// planFields are the fields of a plan and its numbers.
func planFields() []string {
	return []string{"plan", "per_minute", "per_day", "max_categories", "max_bytes"}
}

func (c *Console) accountForms() []pages.Form {
	return []pages.Form{
		{
			Path:   "accounts",
			Change: c.createAccount,
			Page:   c.accounts,
			Field:  "plan",
			Fields: append([]string{"name", "external_id"}, planFields()...),
		},
		{
			Path:   "accounts/{account}/name",
			Change: c.renameAccount,
			Page:   c.account,
			Field:  "name",
			Fields: []string{"name", "external_id"},
		},
		{Path: "accounts/{account}/link", Change: c.createCustomerLink, Page: c.account},
		{Path: "accounts/{account}/sign-out", Change: c.signOutCustomer, Page: c.account},
		{
			Path:   "accounts/{account}/plan",
			Change: c.changePlan,
			Page:   c.account,
			Field:  "plan",
			Fields: planFields(),
		},
		{
			Path:   "accounts/{account}/close",
			Change: c.closeAccount,
			Page:   c.confirmClose,
			Field:  "typed",
			Fields: []string{"typed"},
		},
		{
			Path:   "accounts/{account}/purge",
			Change: c.purgeAccount,
			Page:   c.confirmPurge,
			Field:  "typed",
			Fields: []string{"typed"},
		},
		{
			Path:   "accounts/{account}/keys",
			Change: c.createKey,
			Page:   c.account,
			Field:  "expires",
			Fields: pages.NewKeyFields(),
		},
	}
}

func (c *Console) keyForms() []pages.Form {
	return []pages.Form{
		{Path: "keys/{key}", Change: c.editKey, Page: c.key, Fields: pages.EditKeyFields()},
		{Path: "keys/{key}/rotate", Change: c.rotateKey, Page: c.key, Fields: pages.RotateFields()},
		{Path: "keys/{key}/disable", Change: c.disableKey, Page: c.key},
		{Path: "keys/{key}/enable", Change: c.enableKey, Page: c.key},
		{Path: "keys/{key}/revoke", Change: c.revokeKey, Page: c.key},
		{Path: "bans/{key}/lift", Change: c.liftBan, Fields: []string{"from"}},
		{
			Path:   "requests/{request}/approve",
			Change: c.approvePlan,
			Page:   c.requests,
			Fields: []string{"request", "per_minute", "per_day"},
		},
		{Path: "requests/{request}/decline", Change: c.declinePlan, Page: c.requests, Fields: []string{"request"}},
	}
}

func (c *Console) webhookForms() []pages.Form {
	return []pages.Form{
		{
			Path:   "webhooks",
			Change: c.createWebhook,
			Page:   c.webhooks,
			Field:  "url",
			Fields: []string{"url", "types"},
		},
		{
			Path:   "webhooks/{webhook}/rotate",
			Change: c.rotateWebhook,
			Page:   c.webhook,
			Field:  "overlap",
			Fields: []string{"overlap"},
		},
		{Path: "webhooks/{webhook}/test", Change: c.testWebhook, Page: c.webhook},
		{Path: "webhooks/{webhook}/enable", Change: c.enableWebhook, Page: c.webhook},
		{Path: "webhooks/{webhook}/disable", Change: c.disableWebhook, Page: c.webhook},
		{Path: "webhooks/{webhook}/delete", Change: c.deleteWebhook},
	}
}

// otherForms are the forms of operators, tokens, nodes, categories and pets.
func (c *Console) otherForms() []pages.Form {
	return []pages.Form{
		{
			Path:   "operators",
			Change: c.createOperator,
			Page:   c.operators,
			Field:  "name",
			Fields: []string{"name", "role"},
		},
		{Path: "operators/link", Change: c.createLink},
		{Path: "operators/{operator}/remove", Change: c.removeOperator},
		{
			Path:   "tokens",
			Change: c.createToken,
			Page:   c.operators,
			Field:  "token",
			Fields: []string{"token", "token_role", "token_expires"},
		},
		{Path: "tokens/{token}/revoke", Change: c.revokeToken},
		{
			Path:   "log-level",
			Change: c.setLogLevel,
			Page:   c.settings,
			Field:  "for",
			Fields: []string{"level", "for"},
		},
		{Path: "log-level/reset", Change: c.resetLogLevel, Page: c.settings},
		{Path: "nodes/{node}/drain", Change: c.drainNode, Page: c.nodes},
		{Path: "nodes/{node}/resume", Change: c.resumeNode, Page: c.nodes},
		{
			Path:   "categories",
			Change: c.createCategory,
			Page:   c.categories,
			Field:  "name",
			Fields: []string{"name", "description"},
		},
		{
			Path:   "categories/{category}",
			Change: c.updateCategory,
			Page:   c.category,
			Fields: []string{"name", "description", "version"},
		},
		{Path: "categories/{category}/delete", Change: c.deleteCategory, Page: c.confirmDelete},
		{Path: "pets/{pet}/delete", Change: c.deletePet, Page: c.confirmDeletePet},
	}
}
