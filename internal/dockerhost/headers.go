package dockerhost

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
)

// envHeaders replaces the HttpHeaders of the configuration, for engines behind a
// proxy that wants some.
const envHeaders = "DOCKER_CUSTOM_HEADERS"

// headers are those that the user wants in each request: the configuration's, or
// those of envHeaders: one line of CSV with NAME=VALUE in each field.
func headers(configured map[string]string, env string) (map[string]string, error) {
	if env == "" {
		return configured, nil
	}
	fields, err := csv.NewReader(strings.NewReader(env)).Read()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", envHeaders, err)
	}
	all := map[string]string{}
	for _, f := range fields {
		name, value, ok := strings.Cut(f, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			return nil, fmt.Errorf("read %s: %q is not NAME=VALUE", envHeaders, f)
		}
		all[http.CanonicalHeaderKey(name)] = value
	}
	return all, nil
}
