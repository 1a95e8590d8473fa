package plan

import _ "embed"

//go:embed suite.schema.json
var schema []byte

// Schema is the JSON schema of suite files, for editors. It is generated from
// Suite by the test of this file: go test ./plan -run Schema -update.
func Schema() []byte { return schema }
