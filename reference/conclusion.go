package reference

// Conclusion is what a source says in the end.
type Conclusion struct {
	Text string `yaml:"text"`
	// Drawn says that the source's figures show it but its text does not put it
	// in words.
	Drawn bool `yaml:"drawn"`
	// Checks say together what a measurement must show for the conclusion to hold.
	// There is none where no measurement can tell; Why says so then.
	Checks []Check `yaml:"checks"`
	Why    string  `yaml:"why"`
}

// CheckKind says how a check is done.
type CheckKind string

// Kinds of checks.
const (
	// Faster: Network is ahead of Against, both at the same place; or, where Pairs
	// are given, every network of Among is ahead at one place of itself at another.
	Faster CheckKind = "faster"
	// Fastest: Network is ahead of all of Among at the same place.
	Fastest CheckKind = "fastest"
	// Relative: Network is about Ratio times Against, give or take Tolerance.
	Relative CheckKind = "relative"
	// Crossover: Network is ahead of Against in the first columns of the table and
	// behind in the last, with one change between.
	Crossover CheckKind = "crossover"
	// Order: networks rank as published, at a correlation of at least AtLeast.
	Order CheckKind = "order"
)

// Check is one thing that figures can show. Ahead is in the direction of the
// metric: more throughput, less latency.
type Check struct {
	Kind      CheckKind `yaml:"kind"`
	Tables    []string  `yaml:"tables"`  // by name; none is every table of the source
	Network   string    `yaml:"network"` // networks are in the source's names
	Against   string    `yaml:"against"`
	Among     []string  `yaml:"among"` // none is all of the table
	Where     []Place   `yaml:"where"` // places that count; none is all
	Pairs     []Pair    `yaml:"pairs"`
	AtLeast   float64   `yaml:"at_least"`  // share of the cells, 1 where it is 0; for Order the correlation
	Ratio     float64   `yaml:"ratio"`     // Network ÷ Against
	Tolerance float64   `yaml:"tolerance"` // of Ratio, absolute
}

// Pair are two places that one network is compared at.
type Pair struct {
	Ahead  Place `yaml:"ahead"`
	Behind Place `yaml:"behind"`
}
