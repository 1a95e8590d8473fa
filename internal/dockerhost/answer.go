package dockerhost

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"
)

// judge says of an engine's first answer whether nettoll can use it. version is that
// of the API that the client speaks now; err is that of the question.
func judge(t Target, ping client.PingResult, version string, err error) error {
	wrong := &Unreachable{Target: t, Err: err}
	asked := os.Getenv(client.EnvOverrideAPIVersion)
	switch {
	case !isVersion(ping.APIVersion):
		if err != nil && ping.APIVersion == "" {
			return explain(t, err)
		}
		wrong.Reason, wrong.Remedy = "what answers there is an HTTP server, but no Docker engine", fix
	case versions.LessThan(ping.APIVersion, client.MinAPIVersion):
		wrong.Reason = fmt.Sprintf("its API has version %s, and nettoll needs at least %s", ping.APIVersion, client.MinAPIVersion)
		wrong.Remedy = "upgrade it to Docker 19.03 or later"
	case err != nil:
		wrong.Reason = "it answers: " + oneLine(strings.TrimPrefix(err.Error(), daemonSays))
		wrong.Remedy = "see its log"
	case ping.OSType == "windows":
		wrong.Reason = "it runs Windows containers, and nettoll measures Linux ones"
		wrong.Remedy = "switch it to Linux containers, or name another engine with " + flag
	case asked != "" && versions.LessThan(version, client.MinAPIVersion),
		asked != "" && versions.LessThan(ping.APIVersion, version):
		wrong.Reason = fmt.Sprintf("%s is %s, which is not between %s and the engine's %s",
			client.EnvOverrideAPIVersion, version, client.MinAPIVersion, ping.APIVersion)
		wrong.Remedy = "unset " + client.EnvOverrideAPIVersion
	default:
		return nil
	}
	return wrong
}

// isVersion tells versions of the API, "1.41", from all else.
func isVersion(text string) bool {
	major, minor, ok := strings.Cut(text, ".")
	for _, part := range []string{major, minor} {
		_, err := strconv.ParseUint(part, 10, 16)
		ok = ok && err == nil
	}
	return ok
}

// silent is the error for an engine that has not answered in time.
func silent(t Target, limit time.Duration, err error) error {
	remedy := ""
	switch t.scheme() {
	case "unix":
		remedy = "it may hang: see its log (journalctl -u docker), or restart it"
	case "ssh":
		remedy = t.tryLogin()
	default:
		remedy = "check address and port, and that no firewall drops the connection"
	}
	return &Unreachable{Target: t, Reason: fmt.Sprintf("no answer within %v", limit), Remedy: remedy, Err: err}
}
