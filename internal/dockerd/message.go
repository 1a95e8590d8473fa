package dockerd

import (
	"encoding/json"
	"errors"
	"io"
)

// drain reads the progress messages of an engine to their end. An error can be
// among them, although the answer began well.
func drain(r io.ReadCloser) error {
	defer r.Close()
	d := json.NewDecoder(r)
	for {
		var m struct {
			Error string `json:"error"`
		}
		switch err := d.Decode(&m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case m.Error != "":
			return errors.New(m.Error)
		}
	}
}
