package httpapi

import "testing"

// BenchmarkDecode measures the strict reading of a body, and the domain's rules.
func BenchmarkDecode(b *testing.B) {
	body := &bodyBuffer{data: []byte(`{"name":"a category of pets","description":"some description of the category"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := body.decodeNewCategory(); err != nil {
			b.Fatal(err)
		}
	}
}
