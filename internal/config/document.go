package config

// Document is the value of a setting as JSON shows it, without secrets.
type Document struct {
	Flag        string `json:"flag"`
	Environment string `json:"environment"`
	Value       string `json:"value"`
	Default     string `json:"default"`
	Origin      string `json:"origin"`
}

// Documents returns values as JSON shows them.
func Documents(values []Value) []Document {
	documents := make([]Document, 0, len(values))
	for _, v := range values {
		documents = append(documents, Document{
			Flag: "--" + v.Flag, Environment: v.Env, Value: v.Shown(), Default: v.Default, Origin: v.Origin,
		})
	}
	return documents
}
