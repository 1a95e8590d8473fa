package plan

import "strings"

// Takes reports whether an option, by the name of its flag, has an effect on a
// workload.
func Takes(workload, option string) bool {
	transactions := strings.HasSuffix(workload, "rr")
	switch option {
	case "message-size", "zero-copy", "skip-rx-copy":
		return !transactions
	case "request-size", "response-size":
		return transactions
	}
	return true
}
