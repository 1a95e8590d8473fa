package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"nettoll/agent"
)

// A method is a function of one parameter and one result; both travel as JSON.
func ExampleTyped() {
	double := agent.Typed(func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	result, err := double(context.Background(), json.RawMessage("21"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result)
	// Output: 42
}
