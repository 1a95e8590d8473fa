// Package wrap says in errors what was being done.
package wrap

import "fmt"

// Error returns err with a text before it, such as "list devices: permission denied", or nil if err is nil.
func Error(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}
