package httpapi

import (
	"errors"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
)

// leakedPath is the path for reports of leaked keys, which do not need a key.
const leakedPath = "/leaked-keys"

const (
	maxLeakedTexts = 100
	maxLeakedText  = 1 << 10 // bytes
)

// leakedKeys handles POST /leaked-keys: it disables each key whose whole secret is in one of the texts. The
// response does not depend on what was found. Each report counts as a failed attempt of its address, before
// its body is read.
func (s *Server) leakedKeys(e *exchange) error {
	if err := s.countFailure(e); err != nil {
		return err
	}
	if e.r.Header["Idempotency-Key"] != nil {
		return petcat.Errorf(petcat.CodeInvalidField,
			"a report of leaked keys takes no Idempotency-Key; leave it out: a repeated report changes nothing").In("Idempotency-Key")
	}
	return withBody(s, asJSON, s.disableLeaked)(e)
}

// disableLeaked disables the keys in the body of a report.
func (s *Server) disableLeaked(e *exchange, body []byte) error {
	texts, err := decodeLeaked(body)
	if err != nil {
		return err
	}
	found, err := s.findLeaked(e, texts)
	if err != nil {
		return err
	}
	for _, id := range found {
		by := petcat.By(petcat.ServiceActor)
		if _, err := s.options.Store.ChangeKey(e.r.Context(), by, id, petcat.ReportLeakedKey); err != nil {
			return err
		}
	}
	e.Header()["Cache-Control"] = noStore
	e.send(http.StatusAccepted)
	return nil
}

// findLeaked returns the keys whose secrets the texts contain. It looks up only what has the checksum of a
// key, and in memory.
func (s *Server) findLeaked(e *exchange, texts []string) (found []petcat.KeyID, err error) {
	var hashes []petcat.KeyHash
	for _, text := range texts {
		for _, hash := range petcat.FindLeaked(s.options.Keys.Environment, text).Keys {
			if !slices.Contains(hashes, hash) {
				hashes = append(hashes, hash)
			}
		}
	}
	if len(hashes) == 0 {
		return nil, nil
	}
	err = s.options.Door.LookUp(e.r.Context(), clientnet.Of(e.clientAddress()), func() error {
		found = s.options.Keyring.Find(e.r.Context(), hashes)
		return nil
	})
	return found, err
}

// leakedJSON is the body of a report.
type leakedJSON struct {
	Texts []string `json:"texts"`
}

func decodeLeaked(body []byte) ([]string, error) {
	const form = `send a JSON object such as {"texts": ["a line with the key"]}`
	var sent leakedJSON
	err := json.Unmarshal(body, &sent, json.RejectUnknownMembers(true))
	_, wrong := errors.AsType[*json.SemanticError](err)
	switch {
	case wrong && errors.Is(err, json.ErrUnknownName):
		return nil, petcat.Errorf(petcat.CodeInvalidField, "the body has another member than texts; "+form)
	case wrong:
		return nil, petcat.Errorf(petcat.CodeInvalidBody, "the body has another form; "+form)
	case err != nil:
		return nil, malformed(body, err)
	case len(sent.Texts) == 0:
		return nil, petcat.Errorf(petcat.CodeMissingField, "texts is required; "+form).In("texts")
	case len(sent.Texts) > maxLeakedTexts:
		return nil, petcat.Errorf(petcat.CodeInvalidField,
			"texts must have at most %d texts; send several reports", maxLeakedTexts).In("texts")
	}
	if slices.ContainsFunc(sent.Texts, func(text string) bool { return len(text) > maxLeakedText }) {
		return nil, petcat.Errorf(petcat.CodeInvalidField,
			"each text must have at most %d bytes; send only the lines with the keys", maxLeakedText).In("texts")
	}
	return sent.Texts, nil
}
