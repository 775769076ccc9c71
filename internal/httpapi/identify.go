package httpapi

import (
	"errors"
	"net/http"
	"strings"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/keyring"
	"github.com/petcat-api/petcat/internal/web"
)

// identify finds the caller by its key. Without a valid key, it stores the error for limit.
func (s *Server) identify(next handler) handler {
	return func(e *exchange) error {
		credential, err := bearer(e.r)
		if err == nil {
			e.caller, err = s.options.Keyring.Identify(credential, e.start)
		}
		if errors.Is(err, keyring.ErrUnknown) {
			e.caller, err = s.identifyNew(e, credential)
		}
		if err == nil {
			err = e.checkNetworks()
		}
		if e.caller != nil { // also with a rejected key
			e.Account, e.Key = e.caller.Account, e.caller.Key
		}
		if err != nil {
			e.caller, e.authError = nil, err
		}
		return next(e)
	}
}

// checkNetworks returns an error if the caller's key does not work at the client's address.
func (e *exchange) checkNetworks() error {
	if e.caller.Networks.Contain(e.clientAddress()) {
		return nil
	}
	return petcat.Errorf(petcat.CodeAddressNotAllowed,
		"this API key does not work at your address %s; use it in its networks, or change them", e.Address)
}

// identifyNew finds the caller with a key that is not in memory. Another node may have created it a
// moment ago.
func (s *Server) identifyNew(e *exchange, credential string) (caller *keyring.Caller, err error) {
	err = s.options.Door.LookUp(e.r.Context(), clientnet.Of(e.clientAddress()), func() (err error) {
		caller, err = s.options.Keyring.IdentifyNew(e.r.Context(), credential, e.start)
		return err
	})
	return caller, err
}

// bearer returns the credential in the Authorization header (RFC 6750, section 2.1). It rejects
// credentials in the URL, because logs contain URLs.
func bearer(r *http.Request) (string, error) {
	if web.HasSecret(r.URL) {
		return "", errKeyInURL()
	}
	values := r.Header["Authorization"]
	switch {
	case len(values) == 0:
		return "", petcat.Errorf(petcat.CodeMissingAPIKey, "send your API key as Authorization: Bearer <API_KEY>")
	case len(values) > 1:
		return "", petcat.Errorf(petcat.CodeInvalidAPIKey, "send exactly one Authorization header")
	}
	// The scheme is case-insensitive (RFC 9110, section 11.1).
	const scheme = "bearer"
	value := values[0]
	named, rest, _ := strings.Cut(value, " ")
	if !strings.EqualFold(named, scheme) {
		return "", petcat.Errorf(petcat.CodeMissingAPIKey,
			"send your API key with the Bearer scheme: Authorization: Bearer <API_KEY>")
	}
	credential := strings.Trim(rest, " ")
	switch {
	case credential == "":
		return "", petcat.Errorf(petcat.CodeMissingAPIKey,
			"the Authorization header contains no key: send Authorization: Bearer <API_KEY>")
	case len(credential) > len(scheme) && strings.EqualFold(credential[:len(scheme)], scheme):
		return "", petcat.Errorf(petcat.CodeInvalidAPIKey,
			"the Authorization header contains the word Bearer twice: send Authorization: Bearer <API_KEY>")
	case strings.ContainsAny(credential[:1], `"'<`):
		return "", petcat.Errorf(petcat.CodeInvalidAPIKey,
			"the key in the Authorization header is in quotes or brackets: send it without them")
	}
	return credential, nil
}

func errKeyInURL() error {
	return petcat.Errorf(petcat.CodeInvalidAPIKey,
		"an API key must not be in the URL, where logs keep it: "+
			"send Authorization: Bearer <API_KEY>, and replace this key")
}

// challenge returns the WWW-Authenticate header for a code. It contains the error attribute only if
// a key was sent (RFC 6750, section 3.1).
func challenge(code petcat.Code) string {
	if code == petcat.CodeMissingAPIKey {
		return `Bearer realm="petcat"`
	}
	return `Bearer realm="petcat", error="invalid_token"`
}
