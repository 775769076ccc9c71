package httpapi_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"petcat"
)

// A body that does not arrive in time is answered 408, over each protocol.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	p := newInProcess(t)
	server := httptest.NewUnstartedServer(p.handler)
	server.EnableHTTP2 = true
	server.Config.ReadTimeout = 200 * time.Millisecond
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	for _, protocol := range []string{"http/1.1", "h2"} {
		t.Run("408 over "+protocol, func(t *testing.T) {
			t.Parallel()
			config := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
			config.NextProtos = []string{protocol}
			transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: protocol == "h2"}
			t.Cleanup(transport.CloseIdleConnections)
			body, more := io.Pipe()
			t.Cleanup(func() { _ = more.Close() })
			go func() { _, _ = io.WriteString(more, `{"name":`) }()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/categories", body)
			must(t, err)
			r.Header.Set("Authorization", "Bearer "+p.key.Secret.Reveal())
			res, err := (&http.Client{Transport: transport}).Do(r)
			must(t, err)
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			must(t, err)
			if (res.ProtoMajor == 2) != (protocol == "h2") {
				t.Errorf("it spoke %s", res.Proto)
			}
			if res.ProtoMajor == 1 && !res.Close {
				t.Error("the connection is to be used again, half-way through a request")
			}
			wantError(t, &answer{Response: res, body: text}, http.StatusRequestTimeout, petcat.CodeRequestTimeout)
		})
	}
}
