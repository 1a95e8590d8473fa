// Package reference holds what was published elsewhere: the figures, setups and
// conclusions of earlier measurements of container networks, and the machines
// that they hired. They are facts to put beside what is measured here, never
// thresholds. It reads nothing but its own embedded files.
package reference
