package report

import "slices"

// appendNew appends a value to a list, unless the list has it.
func appendNew[V comparable](all []V, v V) []V {
	if slices.Contains(all, v) {
		return all
	}
	return append(all, v)
}

// byKey divides values by a key, in the order in which the keys first occur.
func byKey[K comparable, V any](all []V, key func(V) K) (parts [][]V) {
	at := map[K]int{}
	for _, v := range all {
		i, known := at[key(v)]
		if !known {
			i = len(parts)
			at[key(v)], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], v)
	}
	return parts
}
