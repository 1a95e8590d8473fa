package reference_test

import (
	"fmt"
	"log"

	"nettoll/reference"
)

// A source has its published figures, and the conclusions drawn from them.
func ExampleByName() {
	s, ok := reference.ByName("host-bridge")
	if !ok {
		log.Fatal("no such source")
	}
	fmt.Println(s.Title)
	fmt.Println(len(s.Tables), "tables,", len(s.Conclusions), "conclusions")
	// Output:
	// Docker Network Tests under Host/Bridge Mode
	// 2 tables, 3 conclusions
}
