package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"petcat"
)

// A day of 100,000 accounts that are used in every hour has 2.4 million counts, and most
// of their numbers are zero or small. So counts are encoded: a byte that says which
// numbers there are, and those as varints.

var errUsageData = errors.New("the data of the usage history is damaged")

// usageFields returns the counts in the order of their bits in the first byte.
func usageFields(c *petcat.UsageCounts) [7]*int64 {
	return [...]*int64{&c.Requests, &c.MinuteRefused, &c.DayRefused, &c.BanRefused, &c.KeyRefused, &c.Failed, &c.Bytes}
}

func appendUsage(to []byte, c petcat.UsageCounts) []byte {
	at := len(to)
	to = append(to, 0)
	for i, n := range usageFields(&c) {
		if *n != 0 {
			to[at] |= 1 << i
			to = binary.AppendUvarint(to, uint64(*n))
		}
	}
	return to
}

// usageReader decodes what appendUsage and encode wrote. After the first error, every value
// is 0 and err returns errUsageData.
type usageReader struct {
	data   []byte
	failed bool
}

func (r *usageReader) uvarint() uint64 {
	n, size := binary.Uvarint(r.data)
	if size <= 0 {
		r.data, r.failed = nil, true
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *usageReader) varint() int64 {
	n := r.uvarint()
	return int64(n>>1) ^ -int64(n&1) // zigzag, like binary.AppendVarint
}

func (r *usageReader) byte() byte {
	if len(r.data) == 0 {
		r.failed = true
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

func (r *usageReader) counts() (c petcat.UsageCounts) {
	mask := r.byte()
	for i, n := range usageFields(&c) {
		if mask>>i&1 == 1 {
			*n = int64(r.uvarint())
		}
	}
	return c
}

func (r *usageReader) err() error {
	if r.failed {
		return errUsageData
	}
	return nil
}

// usageBatch is the content of one row of usage_batch: counts by account and minute, and
// when keys were last used.
type usageBatch struct {
	counts []petcat.UsageCount
	keys   []petcat.KeyUse
}

func compareUsage(a, b petcat.UsageCount) int {
	return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Minute, b.Minute))
}

// sum sorts the batch. It adds up the counts of the same account and minute, and keeps the
// last use of each key.
func (b *usageBatch) sum() {
	slices.SortFunc(b.counts, compareUsage)
	into := b.counts[:0]
	for _, c := range b.counts {
		if last := len(into) - 1; last >= 0 && compareUsage(into[last], c) == 0 {
			into[last].Add(c.UsageCounts)
			continue
		}
		into = append(into, c)
	}
	b.counts = into
	slices.SortFunc(b.keys, func(x, y petcat.KeyUse) int { return cmp.Or(cmp.Compare(x.Key, y.Key), y.At.Compare(x.At)) })
	b.keys = slices.CompactFunc(b.keys, func(x, y petcat.KeyUse) bool { return x.Key == y.Key })
}

// lastMinute returns the latest minute in the batch, 0 if it is empty.
func (b *usageBatch) lastMinute() (last int64) {
	for _, c := range b.counts {
		last = max(last, c.Minute)
	}
	for _, k := range b.keys {
		last = max(last, petcat.Minute.Index(k.At.Unix()))
	}
	return last
}

// encode returns the data that eachUsage reads. The batch must be summed.
func (b *usageBatch) encode() []byte {
	base := b.lastMinute()
	to := binary.AppendUvarint(nil, uint64(base))
	to = binary.AppendUvarint(to, uint64(len(b.counts)))
	var account petcat.AccountID
	for _, c := range b.counts {
		to = binary.AppendUvarint(to, uint64(c.Account-account))
		to = binary.AppendUvarint(to, uint64(base-c.Minute))
		to = appendUsage(to, c.UsageCounts)
		account = c.Account
	}
	to = binary.AppendUvarint(to, uint64(len(b.keys)))
	var key petcat.KeyID
	for _, k := range b.keys {
		to = binary.AppendUvarint(to, uint64(k.Key-key))
		to = binary.AppendVarint(to, k.At.Unix()-base*petcat.Minute.Seconds())
		key = k.Key
	}
	return to
}

// eachUsage calls count for every count in a batch's data, and key for every key.
func eachUsage(data []byte, count func(petcat.UsageCount), key func(petcat.KeyUse)) error {
	r := usageReader{data: data}
	base := int64(r.uvarint())
	var c petcat.UsageCount
	for n := r.uvarint(); n > 0 && !r.failed; n-- {
		c.Account += petcat.AccountID(r.uvarint())
		c.Minute = base - int64(r.uvarint())
		c.UsageCounts = r.counts()
		if !r.failed {
			count(c)
		}
	}
	var k petcat.KeyUse
	for n := r.uvarint(); n > 0 && !r.failed; n-- {
		k.Key += petcat.KeyID(r.uvarint())
		k.At = time.Unix(base*petcat.Minute.Seconds()+r.varint(), 0).UTC()
		if !r.failed {
			key(k)
		}
	}
	return r.err()
}

// usageHours are the counts of an account on one day, by the hour from 0 to 23.
type usageHours map[int64]petcat.UsageCounts

func (h usageHours) add(hour int64, c petcat.UsageCounts) {
	sum := h[hour]
	sum.Add(c)
	h[hour] = sum
}

func (h usageHours) encode() (to []byte) {
	for hour := range int64(hoursPerDay) {
		if c, known := h[hour]; known {
			to = appendUsage(append(to, byte(hour)), c)
		}
	}
	return to
}

// addEncoded adds the hours that encode returned.
func (h usageHours) addEncoded(data []byte) error {
	r := usageReader{data: data}
	for len(r.data) > 0 {
		hour := int64(r.byte())
		if c := r.counts(); !r.failed {
			h.add(hour, c)
		}
	}
	return r.err()
}

const (
	minutesPerHour = 60
	hoursPerDay    = 24
)
