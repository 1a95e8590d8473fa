package record

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// First returns the first value for which such is true.
func First[T any](all []T, such func(T) bool) (one T, found bool) {
	if i := slices.IndexFunc(all, such); i >= 0 {
		return all[i], true
	}
	return one, false
}

// Those returns the values for which such is true, in their order.
func Those[T any](all []T, such func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !such(one) })
}

// Gather groups values by key, in the order in which the keys first occur.
func Gather[K comparable, T any](all []T, key func(T) K) (parts [][]T) {
	at := map[K]int{}
	for _, one := range all {
		k := key(one)
		i, known := at[k]
		if !known {
			i = len(parts)
			at[k], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], one)
	}
	return parts
}

// Distinct returns what of returns for the values, each once, in the order in which they first occur.
func Distinct[K comparable, T any](all []T, of func(T) K) []K {
	return Each(Gather(all, of), func(alike []T) K { return of(alike[0]) })
}

// Each returns what of returns for each value, in their order.
func Each[T, V any](all []T, of func(T) V) (values []V) {
	values = slices.Grow(values, len(all))
	for _, one := range all {
		values = append(values, of(one))
	}
	return values
}

// Found returns what find finds for the values, where it finds something, in their order.
func Found[T, V any](all []T, find func(T) (V, bool)) (values []V) {
	for _, one := range all {
		if v, found := find(one); found {
			values = append(values, v)
		}
	}
	return values
}

// Sum adds up what of returns for the values, in their order.
func Sum[T any, V cmp.Ordered](all []T, of func(T) V) (sum V) {
	for _, one := range all {
		sum += of(one)
	}
	return sum
}

// Most returns the greatest of what of returns for the values, and at least 0.
func Most[T any, V cmp.Ordered](all []T, of func(T) V) (most V) {
	for _, one := range all {
		most = max(most, of(one))
	}
	return most
}

// Try calls do with the values, in their order, until it fails, and returns its error.
func Try[T any](all []T, do func(T) error) error {
	for _, one := range all {
		if err := do(one); err != nil {
			return err
		}
	}
	return nil
}

// Tried returns what do returns for each value, in their order, or the first error.
func Tried[T, V any](all []T, do func(T) (V, error)) (values []V, err error) {
	for _, one := range all {
		v, err := do(one)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// AddNew appends values to a list, except those that it contains already.
func AddNew[T comparable](all []T, values ...T) []T {
	for _, v := range values {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// OnAllCPUs calls do with each number below n, from as many goroutines as there are CPUs.
func OnAllCPUs(n int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}
