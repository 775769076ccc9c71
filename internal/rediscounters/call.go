package rediscounters

import (
	"context"
	"crypto/sha1" //nolint:gosec // the name that servers give to scripts
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"petcat/internal/counters"
)

//go:embed counters.lua
var script string

var digest = sha1.Sum([]byte(script)) //nolint:gosec,gochecknoglobals // as above, and nobody changes it

// call is a run of the script on a partition: counters.lua says with what.
type call struct {
	*Counters
	prefix     string
	keys, args []string
	records    []byte
}

func (c *Counters) call(partition int, kind string, more ...string) *call {
	prefix := c.prefixes[partition]
	return &call{Counters: c, prefix: prefix, keys: []string{prefix + "epoch"}, args: append([]string{kind, "", ""}, more...)}
}

// add adds a key and its numbers.
func (k *call) add(name string, id int64, numbers ...int64) {
	k.keys = append(k.keys, k.prefix+name+strconv.FormatInt(id, 10))
	for _, n := range numbers {
		k.records = appendNumber(k.records, n, 8)
	}
}

// reply is what the script returns.
type reply struct {
	epoch   counters.Epoch // that holds
	now     int64
	answers string
}

// answerSize is that of an account in counters.lua.
const answerSize = 69

// runIn runs a call that does nothing in another epoch.
func (k *call) runIn(ctx context.Context, epoch counters.Epoch) (reply, error) {
	r, err := k.run(ctx, epoch.ID)
	if err == nil && r.epoch.ID != epoch.ID {
		err = &counters.WrongEpoch{Now: r.epoch}
	}
	return r, err
}

func (k *call) run(ctx context.Context, epoch int64) (reply, error) {
	k.args[1], k.args[2] = k.head(epoch), rueidis.BinaryString(k.records)
	done := make(chan struct{})
	var text string
	var failed error
	// The client connects without a look at ctx.
	go func() {
		defer close(done)
		text, failed = k.send(ctx)
	}()
	select {
	case <-done:
		if failed != nil {
			return reply{}, inWords(failed)
		}
		return reply{counters.Epoch{ID: number(text, 0, 6), Began: moment(text, 6)}, moment(text, 16), text[26:]}, nil
	case <-ctx.Done():
		return reply{}, ctx.Err()
	}
}

func (k *call) send(ctx context.Context) (string, error) {
	if len(k.keys) == 1 { // a probe may be what connects, which takes its time
		long, cancel := context.WithTimeout(context.WithoutCancel(ctx), dialTimeout)
		defer cancel()
		ctx = long
	}
	client, err := (*k.reach(ctx))()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return "", err
	}
	b, n := client.B(), int64(len(k.keys))
	r := client.Do(ctx, b.Evalsha().Sha1(hex.EncodeToString(digest[:])).Numkeys(n).Key(k.keys...).Arg(k.args...).Build())
	if e, ok := rueidis.IsRedisErr(r.Error()); ok && e.IsNoScript() {
		r = client.Do(ctx, b.Eval().Script(script).Numkeys(n).Key(k.keys...).Arg(k.args...).Build())
	}
	return r.ToString()
}

// head packs the epoch that is known, one that may begin, and in tests the time.
func (c *Counters) head(epoch int64) string {
	b := appendNumber(make([]byte, 0, 32), epoch, 6)
	b = appendNumber(b, counters.NewID(), 6)
	if c.options.now != nil {
		now := c.options.now()
		b = appendNumber(appendNumber(b, now/int64(time.Second), 6), now%int64(time.Second), 4)
	}
	return string(b)
}

func appendNumber(b []byte, n int64, size int) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(n))
	return b[:len(b)-8+size]
}

// number reads a packed number.
func number(s string, at, size int) (n int64) {
	for i := size - 1; i >= 0; i-- {
		n = n<<8 | int64(s[at+i])
	}
	return n
}

// moment reads a packed time, in nanoseconds.
func moment(s string, at int) int64 {
	return number(s, at, 6)*int64(time.Second) + number(s, at+6, 4)
}
