package plot

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// Both themes are in the file: an image on a page follows the reader's system,
// and brings its own background, so that it can be read on any page.
const theme = `<style>
.bg{fill:#fff;stroke:#d0d7de}
text{font:13px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1f2328}
.title{font-size:15px;font-weight:600}
.dim{fill:#59636e;font-size:12px}
.grid{stroke:#d0d7de;stroke-width:1}
.a{stroke:#0969da}.b{stroke:#6e7781}.c{stroke:#bc4c00}
.fa{fill:#0969da}.fb{fill:#6e7781}.fc{fill:#bc4c00}
.bar{fill:#afb8c1}.ours{fill:#0969da}
.line{fill:none;stroke-width:2.5;stroke-linejoin:round}
.dashed{stroke-dasharray:7 5}
@media (prefers-color-scheme:dark){
.bg{fill:#0d1117;stroke:#3d444d}
text{fill:#f0f6fc}
.dim{fill:#9198a1}
.grid{stroke:#3d444d}
.a{stroke:#4493f8}.b{stroke:#9198a1}.c{stroke:#f0883e}
.fa{fill:#4493f8}.fb{fill:#9198a1}.fc{fill:#f0883e}
.bar{fill:#57606a}.ours{fill:#4493f8}
}
</style>
`

// canvas collects the elements of a picture.
type canvas struct {
	body   strings.Builder
	width  float64
	height float64
}

// finish returns the file. The title is what screen readers say.
func (c *canvas) finish(title string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]g %[2]g" width="%[1]g" height="%[2]g" role="img">
<title>%[3]s</title>
%[4]s<rect class="bg" x="0.5" y="0.5" width="%[5]g" height="%[6]g" rx="6"/>
%[7]s</svg>
`, c.width, c.height, escape(title), theme, c.width-1, c.height-1, c.body.String())
}

func escape(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a strings.Builder takes everything
	return out.String()
}

// text writes at a place; anchor is start, middle or end.
func (c *canvas) text(x, y float64, class, anchor, text string) {
	fmt.Fprintf(&c.body, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">%s</text>\n", x, y, class, anchor, escape(text))
}

func (c *canvas) rect(x, y, width, height float64, class string) {
	fmt.Fprintf(&c.body, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\" class=\"%s\"/>\n", x, y, width, height, class)
}

func (c *canvas) rule(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&c.body, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1, x2, y2, class)
}

func (c *canvas) dot(x, y float64, class string) {
	fmt.Fprintf(&c.body, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" class=\"%s\"/>\n", x, y, class)
}

func (c *canvas) path(points []point, class string) {
	c.body.WriteString("<polyline points=\"")
	for i, p := range points {
		if i > 0 {
			c.body.WriteByte(' ')
		}
		fmt.Fprintf(&c.body, "%.1f,%.1f", p.x, p.y)
	}
	fmt.Fprintf(&c.body, "\" class=\"line %s\"/>\n", class)
}
