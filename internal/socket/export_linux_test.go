package socket

// Filter is filter, for tests.
var Filter = filter
