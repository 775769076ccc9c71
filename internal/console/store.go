package console

import (
	"context"
	"log/slog"
	"time"

	"github.com/petcat-api/petcat"
)

// Store has the methods of the store that the console calls.
type Store interface {
	// Accounts.
	FindAccount(ctx context.Context, ref string) (petcat.Account, error)
	AccountPage(ctx context.Context, q petcat.AccountQuery) ([]petcat.Account, error)
	AccountSummaries(ctx context.Context, ids []petcat.AccountID) ([]petcat.AccountSummary, error)
	CreateAccount(
		ctx context.Context, by petcat.Author, n petcat.NewAccount,
	) (petcat.Result[petcat.Account], error)
	EditAccount(
		ctx context.Context, by petcat.Author, id petcat.AccountID, e petcat.AccountEdit,
	) (petcat.Result[petcat.Account], error)
	CloseAccount(
		ctx context.Context, by petcat.Author, id petcat.AccountID,
	) (petcat.Result[petcat.Account], error)
	PurgeAccount(
		ctx context.Context, by petcat.Author, id petcat.AccountID,
	) (petcat.Result[petcat.Purge], error)

	// Keys and bans; see also [github.com/petcat-api/petcat/internal/pages.Keys].
	FindKey(ctx context.Context, id petcat.KeyID) (petcat.Key, error)
	FindKeys(ctx context.Context, hashes []petcat.KeyHash) ([]petcat.Key, error)
	KeyPage(ctx context.Context, q petcat.KeyQuery) ([]petcat.Key, error)
	BanPage(ctx context.Context, q petcat.BanQuery) ([]petcat.Ban, error)
	LiftBan(
		ctx context.Context, by petcat.Author, key petcat.KeyID,
	) (petcat.Result[petcat.Ban], error)

	// Plan requests.
	PlanRequests(ctx context.Context, q petcat.PlanRequestQuery) ([]petcat.PlanRequest, error)
	ApprovePlanRequest(
		ctx context.Context, by petcat.Author, a petcat.PlanApproval,
	) (petcat.Result[petcat.PlanRequest], error)
	DeclinePlanRequest(
		ctx context.Context, by petcat.Author, id petcat.PlanRequestID,
	) (petcat.Result[petcat.PlanRequest], error)

	// Categories and pets.
	CategoryOrigins(ctx context.Context, ids []petcat.CategoryID) ([]petcat.CategoryOrigin, error)
	CreateCategory(ctx context.Context, c petcat.CreateCategory) (petcat.CreatedCategory, error)
	UpdateCategory(ctx context.Context, u petcat.UpdateCategory) (petcat.Category, error)
	DeleteCategory(ctx context.Context, d petcat.DeleteCategory) error
	FindPet(ctx context.Context, id petcat.PetID) (petcat.Pet, error)
	DeletePet(ctx context.Context, d petcat.DeletePet) error

	// Usage.
	Usage(ctx context.Context, q petcat.UsageQuery) (petcat.UsageHistory, error)
	UsageParts(ctx context.Context, q petcat.UsageQuery) ([]petcat.UsagePart, error)
	TopAccounts(ctx context.Context, q petcat.TopQuery) ([]petcat.AccountUsage, error)
	Rejections(ctx context.Context, account petcat.AccountID) ([]petcat.Rejection, error)
	FindRejection(ctx context.Context, requestID string) (petcat.Rejection, error)

	// Webhooks.
	Webhooks(ctx context.Context) ([]petcat.Webhook, error)
	FindWebhook(ctx context.Context, id petcat.WebhookID) (petcat.Webhook, error)
	Deliveries(ctx context.Context, id petcat.WebhookID) ([]petcat.Delivery, error)
	CreateWebhook(
		ctx context.Context, by petcat.Author, n petcat.NewWebhook, secret petcat.Secret,
	) (petcat.Result[petcat.Webhook], error)
	RotateWebhook(ctx context.Context, by petcat.Author, r petcat.WebhookRotation) (petcat.Result[petcat.Webhook], error)
	ChangeWebhook(
		ctx context.Context, by petcat.Author, id petcat.WebhookID, a petcat.WebhookAction,
	) (petcat.Result[petcat.Webhook], error)
	TestWebhook(ctx context.Context, by petcat.Author, id petcat.WebhookID) (petcat.Result[petcat.Webhook], error)
	DeleteWebhook(ctx context.Context, by petcat.Author, id petcat.WebhookID) (petcat.Result[petcat.Webhook], error)

	// Nodes and their log level.
	LogLevel(ctx context.Context) (level slog.Level, until time.Time, err error)
	SetLogLevel(
		ctx context.Context, by petcat.Author, level slog.Level, until time.Time,
	) (petcat.Result[slog.Level], error)
	DrainNode(
		ctx context.Context, by petcat.Author, label string, drained bool,
	) (petcat.Result[petcat.Node], error)

	// Operators, tokens, and the audit log.
	Operators(ctx context.Context) ([]petcat.Operator, error)
	CreateOperator(
		ctx context.Context, by petcat.Author, name petcat.OperatorName, role petcat.Role, link petcat.TokenHash,
	) (petcat.Result[petcat.Operator], error)
	CreateLink(
		ctx context.Context, by petcat.Author, of petcat.Subject, link petcat.TokenHash,
	) (petcat.Result[petcat.Link], error)
	SignOutEverywhere(ctx context.Context, by petcat.Author, of petcat.Subject) (petcat.Result[int64], error)
	RemoveOperator(
		ctx context.Context, by petcat.Author, name petcat.OperatorName,
	) (petcat.Result[petcat.OperatorName], error)
	CreateToken(
		ctx context.Context, by petcat.Author, n petcat.NewToken,
	) (petcat.Result[petcat.OperatorToken], error)
	RevokeToken(
		ctx context.Context, by petcat.Author, name petcat.OperatorName,
	) (petcat.Result[petcat.OperatorToken], error)
	Tokens(ctx context.Context) ([]petcat.OperatorToken, error)
	FindTokens(ctx context.Context, tokens []petcat.TokenHash) ([]petcat.OperatorToken, error)
	EachAuditEntry(
		ctx context.Context, q petcat.AuditQuery, fn func(petcat.AuditEntry) error,
	) error
}
