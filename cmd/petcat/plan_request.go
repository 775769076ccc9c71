package main

import (
	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/representation"
)

func (p *program) planRequestCommand() *cobra.Command {
	list := p.managing(&cobra.Command{
		Use:     "list",
		Short:   "List the pending plan requests",
		Example: "  petcat plan-request list --all",
	}, listPlanRequests)
	list.Flags().Bool("all", false, "also list approved and declined requests")
	approve := p.managing(&cobra.Command{
		Use:   "approve REQUEST_ID",
		Short: "Put the account on the requested plan",
		Example: `  petcat plan-request approve 3
  petcat plan-request approve 4 --per-minute 5000 --per-day 2000000`,
	}, approvePlanRequest)
	quotaFlags(approve)
	return parent(&cobra.Command{
		Use:   "plan-request",
		Short: "List, approve and decline customers' requests for another plan",
		Long: `List, approve and decline the requests for another plan that customers make on
their page. REQUEST_ID is a number such as 3. The customer's page shows the
answer.`,
	},
		list,
		approve,
		p.managing(&cobra.Command{
			Use:     "decline REQUEST_ID",
			Short:   "Decline a request; the account keeps its plan",
			Example: "  petcat plan-request decline 3",
		}, declinePlanRequest),
	)
}

// parseRequestID parses the id of a plan request.
func parseRequestID(text string) (petcat.PlanRequestID, error) {
	id, isID := petcat.ParseID(text)
	if !isID {
		return 0, usageErrorf("%q is not the id of a plan request, which is a number such as 3", text)
	}
	return petcat.PlanRequestID(id), nil
}

// requestID returns the first argument, which arguments has validated.
func (c *call) requestID() petcat.PlanRequestID {
	id, _ := parseRequestID(c.args[0])
	return id
}

// planRequestRecord returns the record of a plan request, with the name of its account.
func planRequestRecord(r petcat.PlanRequest) record {
	return append(representation.PlanRequest(r), kv("account_name", r.AccountName))
}

func listPlanRequests(c *call) error {
	q := petcat.PlanRequestQuery{State: petcat.PlanRequestPending, Limit: petcat.MaxPage}
	if c.is("all") {
		q.State = ""
	}
	var all []petcat.PlanRequest
	for {
		page, err := c.store.PlanRequests(c.ctx(), q)
		if err != nil {
			return err
		}
		all = append(all, page...)
		if len(page) < q.Limit {
			break
		}
		q.Before = page[len(page)-1].ID
	}
	return c.list(recordsOf(all, planRequestRecord),
		"id account account_name plan note state created_at decided_at decided_by",
		"No plan requests.")
}

func approvePlanRequest(c *call) error {
	approved, err := c.store.ApprovePlanRequest(c.ctx(), petcat.By(actor()), petcat.PlanApproval{
		Request:   c.requestID(),
		PerMinute: c.number("per-minute"),
		PerDay:    c.number("per-day"),
	})
	r := approved.Value
	return c.done(err, planRequestRecord(r),
		"Plan request %d is approved: %s (%s) is on the %s plan.", r.ID, r.AccountName, r.Account, r.Plan)
}

func declinePlanRequest(c *call) error {
	declined, err := c.store.DeclinePlanRequest(c.ctx(), petcat.By(actor()), c.requestID())
	r := declined.Value
	return c.done(err, planRequestRecord(r),
		"Plan request %d of %s (%s) is declined.", r.ID, r.AccountName, r.Account)
}
