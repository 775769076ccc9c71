package backup

// Paced returns a sink that calls rest after each row.
func Paced(to Sink, rest func() error) Sink { return paced{to, rest} }

type paced struct {
	Sink

	rest func() error
}

func (p paced) Row(k Kind, values []any) error {
	if err := p.Sink.Row(k, values); err != nil {
		return err
	}
	return p.rest()
}
