package console

import (
	"strings"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
)

// foundView is the result of a search.
type foundView struct {
	Accounts   []petcat.AccountSummary
	More       *petcat.AccountSummary // the last one, if there are more
	Keys       []petcat.Key
	Tokens     []petcat.OperatorToken
	Rejections []petcat.Rejection
	Hint       string // advice for an empty result
}

// howToSearch is the advice for a search without a result.
const howToSearch = "Search finds accounts by ID, external ID or the beginning of their name, " +
	"keys by ID, keys and tokens by hint or in full, pets by ID (pet_7), " +
	"and a recent rejection by its X-Request-Id."

// find redirects to an account, key or pet by its id or to a key by its secret, and shows keys by their
// hint, accounts by their external id or the beginning of their name, and rejections by their X-Request-Id. The text may
// be a secret: it is in the body of a POST, and the page does not repeat it.
func (c *Console) find(x *pages.Exchange) error {
	text := x.Value("q")
	if len(petcat.SecretsIn(text)) > 0 {
		return c.findLeaked(x, text)
	}
	if id, isID := petcat.ParseAccountRef(text); isID {
		return x.GoTo(accountPath(id), "")
	}
	if id, err := petcat.ParseKeyID(text); err == nil {
		return x.GoTo("keys/"+id.String(), "")
	}
	if digits, isPet := strings.CutPrefix(text, "pet_"); isPet {
		if n, isID := petcat.ParseID(digits); isID {
			return x.GoTo(petPath(petcat.PetID(n)), "")
		}
	}
	if text == "" {
		return showFound(x, foundView{Hint: howToSearch})
	}
	rejections, err := c.findRejection(x, text)
	if err != nil {
		return err
	}
	keys, tokens, err := c.findByHint(x, text)
	if err != nil {
		return err
	}
	accounts, err := c.accountPage(x, petcat.AccountQuery{
		Prefix: text,
		Limit:  pages.Size + 1,
	})
	if err != nil {
		return err
	}
	accounts, more := pages.Cut(accounts)
	if external, err := petcat.ParseExternalID(text); err == nil {
		exact, err := c.accountPage(x, petcat.AccountQuery{ExternalID: external, Limit: pages.Size})
		if err != nil {
			return err
		}
		accounts = append(exact, accounts...)
	}
	return showFound(x, foundView{
		Accounts:   accounts,
		More:       more,
		Keys:       keys,
		Tokens:     tokens,
		Rejections: rejections,
		Hint:       howToSearch,
	})
}

// findRejection returns the rejection with an X-Request-Id, if there is one.
func (c *Console) findRejection(x *pages.Exchange, requestID string) ([]petcat.Rejection, error) {
	r, err := c.Store.FindRejection(x.R.Context(), requestID)
	if petcat.CodeOf(err) == petcat.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []petcat.Rejection{r}, nil
}

// findByHint returns the keys and tokens with a hint, none if the text cannot be a hint.
func (c *Console) findByHint(
	x *pages.Exchange, text string,
) (keys []petcat.Key, tokens []petcat.OperatorToken, err error) {
	hint, err := petcat.ParseKeyHint(text)
	if err != nil {
		return nil, nil, nil //nolint:nilerr // the text is no hint
	}
	keys, err = c.Store.KeyPage(x.R.Context(), petcat.KeyQuery{
		Hint:  hint,
		Limit: pages.Size,
	})
	if err != nil {
		return nil, nil, err
	}
	all, err := c.Store.Tokens(x.R.Context())
	return keys, petcat.TokensWithHint(all, hint), err
}

func showFound(x *pages.Exchange, v foundView) error {
	return x.Render("find", pages.View{Title: "Search", Data: v})
}

// findLeaked shows the keys and tokens whose secrets are in a text.
func (c *Console) findLeaked(x *pages.Exchange, text string) error {
	leaked := petcat.FindLeaked(c.Environment, text)
	keys, err := c.Store.FindKeys(x.R.Context(), leaked.Keys)
	if err != nil {
		return err
	}
	tokens, err := c.Store.FindTokens(x.R.Context(), leaked.Tokens)
	if err != nil {
		return err
	}
	rejected := leaked.Rejected
	if len(keys) < len(leaked.Keys) || len(tokens) < len(leaked.Tokens) {
		rejected = petcat.Errorf(petcat.CodeInvalidAPIKey,
			"this service never created a key or token that was pasted")
	}
	switch {
	case rejected != nil:
		return showFound(x, foundView{
			Keys:   keys,
			Tokens: tokens,
			Hint:   pages.Sentence(rejected.Message),
		})
	case len(keys) == 1 && len(tokens) == 0:
		return x.GoTo("keys/"+keys[0].ID.String(), "")
	default:
		return showFound(x, foundView{Keys: keys, Tokens: tokens})
	}
}
