package reference

// Conclusion is a conclusion of a source.
type Conclusion struct {
	Text string `yaml:"text"`
	// Drawn means that the source's figures show it but its text does not state it.
	Drawn bool `yaml:"drawn"`
	// Checks together define what a measurement must show for the conclusion to hold.
	// There are none if no measurement can decide it; Why then gives the reason.
	Checks []Check `yaml:"checks"`
	Why    string  `yaml:"why"`
}

// CheckKind is the method of a check.
type CheckKind string

// Kinds of checks.
const (
	// Faster: Network is ahead of Against, both at the same place; or, if Pairs are
	// given, every network of Among is ahead at one place of itself at another.
	Faster CheckKind = "faster"
	// Fastest: Network is behind none of Among at the same place, and ahead of one at some place.
	Fastest CheckKind = "fastest"
	// Relative: Network is about Ratio times Against, within Tolerance.
	Relative CheckKind = "relative"
	// Crossover: Network is ahead of Against in the first columns of the
	// table and behind in the last, with one change between.
	Crossover CheckKind = "crossover"
	// Order: networks rank as published, at a correlation of at least AtLeast.
	Order CheckKind = "order"
)

// Check is a statement that figures can confirm. Ahead is in the
// direction of the metric: more throughput, less latency.
type Check struct {
	Kind      CheckKind `yaml:"kind"`
	Tables    []string  `yaml:"tables"`  // by name; none means every table of the source
	Network   string    `yaml:"network"` // networks are named as in the source
	Against   string    `yaml:"against"`
	Among     []string  `yaml:"among"` // none means all of the table
	Where     []Place   `yaml:"where"` // places that count; none means all
	Pairs     []Pair    `yaml:"pairs"`
	AtLeast   float64   `yaml:"at_least"`  // share of the cells, where 0 means 1; for Order the correlation
	Ratio     float64   `yaml:"ratio"`     // Network ÷ Against
	Tolerance float64   `yaml:"tolerance"` // of Ratio, absolute
}

// Pair is two places at which one network is compared with itself.
type Pair struct {
	Ahead  Place `yaml:"ahead"`
	Behind Place `yaml:"behind"`
}
