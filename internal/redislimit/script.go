package redislimit

import (
	"context"
	"crypto/sha1" //nolint:gosec // as below
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"petcat"
	"petcat/internal/ratelimit"
)

// The scripts. Each says for itself what it is given and what it returns.
var (
	//go:embed prelude.lua
	preludeSource string
	//go:embed spend.lua
	spendSource string
	//go:embed grant.lua
	grantSource string
	//go:embed take.lua
	takeSource string
	//go:embed need.lua
	needSource string
	//go:embed merge.lua
	mergeSource string
	//go:embed ban.lua
	banSource string
	//go:embed beat.lua
	beatSource string
)

// scripts are what is run on the server.
type scripts struct {
	spend, grant, take, need, merge, ban, beat script
}

func newScripts() scripts {
	return scripts{
		spend: newScript(spendSource), grant: newScript(grantSource), take: newScript(takeSource),
		need: newScript(needSource), merge: newScript(mergeSource), ban: newScript(banSource), beat: newScript(beatSource),
	}
}

// script is sent by its hash, and in full only to a server that does not know
// it: then nothing was charged.
type script struct{ source, hash string }

func newScript(source string) script {
	source = preludeSource + source
	sum := sha1.Sum([]byte(source)) //nolint:gosec // it is the name that servers give to scripts
	return script{source: source, hash: hex.EncodeToString(sum[:])}
}

// call is what a script is run with.
type call struct{ keys, args []string }

// reply is what a script returned. All of ours return numbers.
type reply struct {
	numbers []int64
	err     error
}

func (s script) byHash(b rueidis.Builder, c call) rueidis.Completed {
	return b.Evalsha().Sha1(s.hash).Numkeys(int64(len(c.keys))).Key(c.keys...).Arg(c.args...).Build()
}

func (s script) inFull(b rueidis.Builder, c call) rueidis.Completed {
	return b.Eval().Script(s.source).Numkeys(int64(len(c.keys))).Key(c.keys...).Arg(c.args...).Build()
}

// run runs the script once.
func (s script) run(ctx context.Context, client rueidis.Client, c call) reply {
	return replyOf(s.do(ctx, client, c))
}

func (s script) do(ctx context.Context, client rueidis.Client, c call) rueidis.RedisResult {
	result := client.Do(ctx, s.byHash(client.B(), c))
	if isUnknownScript(result) {
		result = client.Do(ctx, s.inFull(client.B(), c))
	}
	return result
}

// runAll runs the script with each of the calls, in one round trip.
func (s script) runAll(ctx context.Context, client rueidis.Client, calls []call) []reply {
	commands := make([]rueidis.Completed, len(calls))
	for i, c := range calls {
		commands[i] = s.byHash(client.B(), c)
	}
	replies := make([]reply, len(calls))
	for i, result := range client.DoMulti(ctx, commands...) {
		if isUnknownScript(result) {
			result = client.Do(ctx, s.inFull(client.B(), calls[i]))
		}
		replies[i] = replyOf(result)
	}
	return replies
}

func isUnknownScript(r rueidis.RedisResult) bool {
	err, ok := rueidis.IsRedisErr(r.Error())
	return ok && err.IsNoScript()
}

func replyOf(r rueidis.RedisResult) reply {
	numbers, err := r.AsIntSlice()
	return reply{numbers, err}
}

// withTime adds the time in tests, where it is made.
func (l *Limiter) withTime(args []string) []string {
	if !l.options.virtualTime {
		return args
	}
	now := l.options.Clock.Read().Wall
	return append(args, number(now/int64(time.Second)), number(now%int64(time.Second)))
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// keyspace names keys. All keys of an account have the account in braces, so
// that a cluster keeps them together.
type keyspace string

func (k keyspace) account(id petcat.AccountID) string {
	b := make([]byte, 0, len(k)+32)
	return string(k.appendAccount(b, id))
}

func (k keyspace) appendAccount(b []byte, id petcat.AccountID) []byte {
	b = append(b, k...)
	b = append(b, ":{acct_"...)
	b = strconv.AppendInt(b, int64(id), 10)
	return append(b, '}')
}

func (k keyspace) key(id petcat.AccountID, key petcat.KeyID) string {
	b := k.appendAccount(make([]byte, 0, len(k)+48), id)
	b = append(b, ":key_"...)
	return string(strconv.AppendInt(b, int64(key), 10))
}

func (k keyspace) lease(id petcat.AccountID, token string) string {
	return k.account(id) + ":lease_" + token
}

// alone is the key of what a node admitted by itself in a minute.
func (k keyspace) alone(id petcat.AccountID, node string, minute int64) string {
	return k.account(id) + ":alone_" + node + "_" + number(minute)
}

// code is what becomes of a charge, as the script says it.
type code int64

const (
	codeAdmitted    code = iota
	codeMinuteSpent      // as the verdicts
	codeDaySpent
	codeBanned
	codeUnknown // the day's count is not known
	codeEmpty   // the leased block is used up
)

// decided reports whether the charge was: admitted or refused.
func (c code) decided() bool { return c != codeUnknown && c != codeEmpty }

// facts is what the script of charges returns for each.
type facts struct {
	code       code
	now        int64 // the account's time, nanoseconds
	server     int64 // the server's time, nanoseconds
	minuteUsed int64
	dayUsed    int64
	leasing    bool // this node is to lease a block
	owed       int64
	early      int64
	oldDay     int64 // a day that is over, and what was leased and not used of it
	unused     int64
	ban        lastBan
}

// lastBan is the last ban of a key as the server knows it; the zero lastBan is
// none.
type lastBan struct {
	start  int64 // Unix milliseconds
	end    int64 // Unix second
	level  int64
	lifted int64 // Unix milliseconds, or 0
}

// shortFacts and allFacts are how many numbers the script packs into an answer: the
// first of them tell all that there is when nothing is unusual.
const shortFacts, allFacts = 6, 16

func parseFacts(m rueidis.RedisMessage) (facts, error) {
	packed, err := m.ToString()
	if err != nil {
		return facts{}, err
	}
	if len(packed) != 8*shortFacts && len(packed) != 8*allFacts {
		return facts{}, fmt.Errorf("the server answered a charge with %d bytes", len(packed))
	}
	var v [allFacts]int64
	for i := range len(packed) / 8 {
		v[i] = int64(binary.LittleEndian.Uint64([]byte(packed[8*i : 8*i+8])))
	}
	f := facts{
		code: code(v[0]), now: v[1]*1e9 + v[2], minuteUsed: v[3], dayUsed: v[4], leasing: v[5] == 1,
	}
	f.server = f.now
	if len(packed) == 8*allFacts {
		f.server = v[6]*1e9 + v[7]
		f.oldDay, f.unused, f.owed, f.early = v[8], v[9], v[10], v[11]
		f.ban = lastBan{start: v[12], end: v[13], level: v[14], lifted: v[15]}
	}
	return f, nil
}

// tally returns what is used, for the functions that all limiters share.
func (f facts) tally(c ratelimit.Charge) ratelimit.Tally {
	return ratelimit.Tally{Now: f.now, Quota: c.Quota, Part: c.Part, MinuteUsed: f.minuteUsed, DayUsed: f.dayUsed}
}
