package record

import "os"

// WriterOf returns a writer of a file that is there.
func WriterOf(f *os.File) *Writer { return &Writer{f: f} }
