package plumb

// OnHost implements technique.Located.
func (n *Node) OnHost() string { return n.Host.Name() }
