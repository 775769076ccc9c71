package e2e

// signInLink makes an operator, and returns the link that signs a browser in.
func (n *node) signInLink(name, role string) string {
	n.t.Helper()
	type operator struct{ Link string }
	return petcatJSON[operator](n.t, n.place, "operator", "create", name, "--role", role, "--console-url", n.admin).Link
}
