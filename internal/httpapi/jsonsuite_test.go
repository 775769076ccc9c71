package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"petcat"
)

// jsonCase is a body and what becomes of it.
type jsonCase struct {
	name, body string
	// code is that of the refusal, "" for 201.
	code petcat.Code
	// stored is the category's name if it is created.
	stored string
}

// jsonSuite holds bodies at the edges of JSON (RFC 8259). Their names begin with
// y where the RFC demands that they are taken, n where it demands that they are
// not JSON, and i where it leaves the choice to us.
func jsonSuite() []jsonCase {
	const malformed = petcat.CodeMalformedJSON
	taken := func(name, body, stored string) jsonCase { return jsonCase{name, body, "", stored} }
	refused := func(name, body string) jsonCase { return jsonCase{name, body, malformed, ""} }
	// beside puts a value beside a good name, where anything may stand.
	beside := func(value string) string { return `{"z":` + value + `,"name":"dog"}` }
	return []jsonCase{
		taken("y shortest", `{"name":"x"}`, "x"),
		taken("y white space everywhere", "\r\n\t {\t\"name\"\r:\n\"x\" } \n", "x"),
		taken("y short escapes", `{"name":"a\"\\\/b"}`, `a"\/b`),
		taken("y escaped letter", `{"name":"\u0041\u006A\u006a"}`, "Ajj"),
		taken("y escaped pair", `{"name":"\ud83d\udc15"}`, "🐕"),
		taken("y escaped pair in capitals", `{"name":"\uD83D\uDC15"}`, "🐕"),
		taken("y last code point", `{"name":"\udbff\udfff"}`, "\U0010ffff"),
		taken("y noncharacter", `{"name":"\uffff\ufdd0"}`, "\uffff\ufdd0"),
		taken("y replacement character as such", `{"name":"\ufffd"}`, "\ufffd"),
		taken("y line separators unescaped", "{\"name\":\"a\u2028b\u2029\"}", "a\u2028b\u2029"),
		taken("y four-byte UTF-8", `{"name":"🐰🐇"}`, "🐰🐇"),
		taken("y byte order mark inside a text", "{\"name\":\"\ufeffx\"}", "\ufeffx"),
		taken("y escaped member name", `{"\u006eam\u0065":"x"}`, "x"),
		taken("y backslash before u", `{"name":"\\u0041"}`, `\u0041`),
		taken("y empty member name", `{"":1,"name":"x"}`, "x"),
		taken("y member names in other case are others", `{"Name":"a","NAME":"b","name":"c"}`, "c"),
		taken("y null, true, false elsewhere", beside(`[null,true,false]`), "dog"),
		taken("y empty array and object", beside(`[[],{},[{}]]`), "dog"),
		taken("y numbers", beside(`[0,-0,1,-1,10,1.5,-1.25,0.0]`), "dog"),
		taken("y exponents", beside(`[1e1,1E1,1e+1,1e-1,0e0,1.5E-10]`), "dog"),
		taken("y number of many digits", beside(strings.Repeat("7", 5_000)), "dog"),
		taken("y the same name in different objects", beside(`[{"a":1},{"a":2},{"a":{"a":3}}]`), "dog"),
		taken("y a name as in the outer object", beside(`{"name":5}`), "dog"),
		taken("y deep, but not too deep", beside(strings.Repeat("[", 500)+strings.Repeat("]", 500)), "dog"),
		taken("y text with everything allowed", `{"name":"!#$%&'()*+,-./:;<=>?@[]^_{|}~"}`, "!#$%&'()*+,-./:;<=>?@[]^_{|}~"),

		taken("i number beyond any float", beside(`[1e999,-1e999,1e-999]`), "dog"),
		taken("i integer beyond int64", `{"id":99999999999999999999,"name":"dog"}`, "dog"),
		taken("i a hundred members", beside(`1`+manyMembers(100)), "dog"),
		taken("i 9,999 arrays in the object", beside(strings.Repeat("[", 9_999)+strings.Repeat("]", 9_999)), "dog"),
		refused("i 10,000 arrays in the object", beside(strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000))),
		refused("i half a pair", `{"name":"\ud83d"}`),
		refused("i half a pair, the other half", `{"name":"\udc15"}`),
		refused("i pair the wrong way round", `{"name":"\udc15\ud83d"}`),
		refused("i half a pair and a letter", `{"name":"\ud83d\u0041"}`),
		refused("i half a pair in a member that is passed over", beside(`"\ud800"`)),
		refused("i half a pair in a member's name", `{"\ud800":1,"name":"x"}`),
		refused("i member twice", `{"name":"a","name":"a"}`),
		refused("i member twice, spelled differently", `{"name":"a","nam\u0065":"b"}`),
		refused("i unknown member twice", `{"z":1,"name":"a","z":1}`),
		refused("i member twice far inside", beside(`[[{"a":[{"b":1,"c":2,"b":3}]}]]`)),
		refused("i byte order mark before it", "\ufeff{\"name\":\"x\"}"),
		refused("i bytes that are not UTF-8", "{\"name\":\"\xff\"}"),
		refused("i overlong UTF-8", "{\"name\":\"\xc0\xaf\"}"),
		refused("i surrogate in UTF-8", "{\"name\":\"\xed\xa0\x80\"}"),
		refused("i beyond Unicode", "{\"name\":\"\xf4\x90\x80\x80\"}"),
		refused("i cut-off UTF-8 in a member that is passed over", "{\"z\":\"\xe2\x82\",\"name\":\"x\"}"),
		refused("i UTF-16", "{\x00\"\x00n\x00a\x00m\x00e\x00\"\x00:\x00\"\x00x\x00\"\x00}\x00"),

		refused("n nothing", ``),
		refused("n white space alone", " \t\r\n"),
		refused("n brace alone", `{`),
		refused("n closing brace alone", `}`),
		refused("n bracket closes brace", `{"name":"x"]`),
		refused("n no closing brace", `{"name":"x"`),
		refused("n text not closed", `{"name":"x`),
		refused("n text closed by an escape", `{"name":"x\"}`),
		refused("n one brace too many", `{"name":"x"}}`),
		refused("n two values", `{"name":"x"} {}`),
		refused("n value and word", `{"name":"x"} true`),
		refused("n NUL after it", "{\"name\":\"x\"}\x00"),
		refused("n comma at the end", `{"name":"x",}`),
		refused("n comma at the beginning", `{,"name":"x"}`),
		refused("n two commas", `{"a":1,,"name":"x"}`),
		refused("n no comma", `{"a":1 "name":"x"}`),
		refused("n comma for colon", `{"name","x"}`),
		refused("n two colons", `{"name"::"x"}`),
		refused("n no value", `{"name":}`),
		refused("n no name", `{:"x"}`),
		refused("n name without quotes", `{name:"x"}`),
		refused("n name in single quotes", `{'name':"x"}`),
		refused("n name a number", `{1:1,"name":"x"}`),
		refused("n line comment", "{\"name\":\"x\"} // x"),
		refused("n comment inside", `{/* x */"name":"x"}`),
		refused("n hash comment", "# x\n{\"name\":\"x\"}"),
		refused("n tab in a text", "{\"name\":\"a\tb\"}"),
		refused("n NUL in a text", "{\"name\":\"a\x00b\"}"),
		refused("n unknown escape", `{"name":"\x41"}`),
		refused("n escape in capitals", `{"name":"\N"}`),
		refused("n escape of three digits", `{"name":"\u041"}`),
		refused("n escape with a brace", `{"name":"\u{41}"}`),
		refused("n escape with another digit", `{"name":"\u00g1"}`),
		refused("n comma at the end of an array", beside(`[1,]`)),
		refused("n array not closed", `{"name":"x","z":[1`),
		refused("n leading zero", beside(`01`)),
		refused("n leading zero after minus", beside(`-01`)),
		refused("n plus", beside(`+1`)),
		refused("n minus alone", beside(`-`)),
		refused("n no digit before the point", beside(`.5`)),
		refused("n no digit after the point", beside(`1.`)),
		refused("n no exponent", beside(`1e`)),
		refused("n no digit in the exponent", beside(`1e+`)),
		refused("n hexadecimal", beside(`0x1F`)),
		refused("n underscores", beside(`1_000`)),
		refused("n NaN", beside(`NaN`)),
		refused("n Infinity", beside(`-Infinity`)),
		refused("n word in capitals", beside(`True`)),
		refused("n word cut off", beside(`nul`)),
		refused("n undefined", beside(`undefined`)),
		refused("n digits of another script", beside(`١`)),
		refused("n other white space", "{\u00a0\"name\":\"x\"}"),
		refused("n form feed", "\f{\"name\":\"x\"}"),
		refused("n vertical tab inside", "{\v\"name\":\"x\"}"),
		refused("n curly quotes", `{“name”:“x”}`),
		refused("n a wrong field in what is no JSON", `{"name":5,"z":tru}`),

		{"y array", `[{"name":"x"}]`, petcat.CodeInvalidBody, ""},
		{"y text", ` "name" `, petcat.CodeInvalidBody, ""},
		{"y number", `-0.5e-7`, petcat.CodeInvalidBody, ""},
		{"y true", `true`, petcat.CodeInvalidBody, ""},
		{"y null", `null`, petcat.CodeInvalidBody, ""},
		refused("n array with something after it", `[] x`),
		refused("n member twice in an array", `[{"a":1,"a":2}]`),
		{"y no member", `{}`, petcat.CodeMissingField, ""},
		{"y name in an inner object", `{"category":{"name":"x"}}`, petcat.CodeMissingField, ""},
		{"y name with a space", `{"name ":"x"}`, petcat.CodeMissingField, ""},
		{"y name a word", `{"name":true}`, petcat.CodeInvalidField, ""},
		{"y name an array", `{"name":["x"]}`, petcat.CodeInvalidField, ""},
		{"y name missing and description wrong", `{"description":1}`, petcat.CodeInvalidField, ""},
		{"y escaped control", `{"name":"\u0007"}`, petcat.CodeInvalidField, ""},
		{"y escaped C1 control", `{"name":"\u0085x"}`, petcat.CodeInvalidField, ""},
		{"y escaped white space alone", `{"name":"\u2003\u00a0"}`, petcat.CodeInvalidField, ""},
	}
}

// manyMembers returns n more members, each after a comma.
func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"m%d":%d`, i, i)
	}
	return b.String()
}

func TestJSONSuite(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 100_000, 1_000_000))
	names := map[string]bool{}
	for _, c := range jsonSuite() {
		if names[c.name] {
			t.Errorf("two cases are named %s", c.name)
		}
		names[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			a := s.create(c.body, withKey(key))
			if code, name, _ := opinion([]byte(c.body)); code != c.code || code == "" && *name != c.stored {
				t.Errorf("the second opinion is %q", code)
			}
			if c.code != "" {
				wantError(t, a, 400, c.code)
				return
			}
			wantStatus(t, a, 201)
			if list := s.list(withKey(key)); !strings.Contains(string(list.body), string(a.body)) {
				t.Errorf("%s is not in the list", a.body)
			}
			wantName(t, a, c.stored)
		})
	}
	if n := len(names); n < 60 {
		t.Errorf("only %d cases", n)
	}
}

// wantName checks the name in an answer.
func wantName(t *testing.T, a *answer, name string) {
	t.Helper()
	if code, got, _ := opinion(a.body); code != "" || *got != name {
		t.Errorf("the answer is %s, want the name %q", a.body, name)
	}
}
