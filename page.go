package petcat

// MaxPage is the maximum number of entries on a page.
const MaxPage = 1_000
