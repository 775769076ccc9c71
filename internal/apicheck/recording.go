package apicheck

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
)

// recording is the file to which record appends every request and response as a line of JSON;
// "" for none. tools/exchanges validates them.
var recording = os.Getenv("PETCAT_EXCHANGES")

// record appends an exchange to the recording. It omits requests whose body cannot be read
// again, such as an aborted one.
func record(r *http.Request, res *http.Response, body []byte) error {
	if recording == "" || r.Body != nil && r.GetBody == nil {
		return nil
	}
	var sent []byte
	if r.Body != nil {
		again, err := r.GetBody()
		if err != nil {
			return err
		}
		if sent, err = io.ReadAll(again); err != nil {
			return err
		}
	}
	line, err := json.Marshal(map[string]any{
		"Method": r.Method, "URL": r.URL.RequestURI(), "Header": r.Header, "Body": sent,
		"Status": res.StatusCode, "ResponseHeader": res.Header, "ResponseBody": body,
	})
	if err != nil {
		return err
	}
	file, err := os.OpenFile(recording, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("PETCAT_EXCHANGES: %w", err)
	}
	if _, err = file.Write(append(line, '\n')); err != nil {
		return err
	}
	return file.Close()
}
