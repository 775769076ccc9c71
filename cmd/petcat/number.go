package main

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/petcat-api/petcat"
)

// number is the value of a flag that is a number in decimal. The flags of package pflag also accept
// 0x10, 0b1, 1_000 and 010, which is 8.
type number int64

// Set implements pflag.Value.
func (n *number) Set(text string) error {
	value, isNumber := petcat.ParseNumber(text)
	if !isNumber {
		return errors.New("it must be a number in decimal, such as 1000")
	}
	*n = number(value)
	return nil
}

// String implements pflag.Value.
func (n *number) String() string { return strconv.FormatInt(int64(*n), 10) }

// Type implements pflag.Value.
func (*number) Type() string { return "int" }

// numberFlag adds a flag that is a number.
func numberFlag(cmd *cobra.Command, name string, byDefault int64, usage string) {
	value := number(byDefault)
	cmd.Flags().Var(&value, name, usage)
}

// number returns the value of a flag that is a number.
func (c *call) number(name string) int64 {
	if n, isNumber := c.cmd.Flags().Lookup(name).Value.(*number); isNumber {
		return int64(*n)
	}
	return 0
}
