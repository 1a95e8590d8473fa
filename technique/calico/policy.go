package calico

const (
	policies      = 10 // that apply to each container, in either direction
	rulesOfPolicy = 10
	// firstUnused and those above are ports that no server of ours listens at.
	firstUnused = 1001
)

// policy gives the rules of one of so many policies. Only the last of the last one matches.
func policy(i, of int) (rules []fields) {
	for k := range rulesOfPolicy {
		rule := fields{"action": "Allow", "protocol": "TCP", "destination": fields{"ports": []int{firstUnused + i*rulesOfPolicy + k}}}
		if i == of-1 && k == rulesOfPolicy-1 {
			rule = fields{"action": "Allow"}
		}
		rules = append(rules, rule)
	}
	return rules
}
