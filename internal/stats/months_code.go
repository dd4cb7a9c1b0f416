package stats

import (
	"encoding/binary"
	"time"
)

// monthVersion is the first byte of an encoded Month.
const monthVersion = 1

// Encode encodes the counts as varints: a few dozen bytes, less than 1 KiB at most.
func (m *Month) Encode() []byte {
	b := []byte{monthVersion}
	for _, n := range m.counters() {
		b = binary.AppendUvarint(b, uint64(max(0, *n)))
	}
	b = binary.AppendUvarint(b, uint64(max(0, m.lateness.worst.Microseconds())))
	state := uint64(len(m.Outages)) << 1
	if m.open {
		state |= 1
	}
	b = binary.AppendUvarint(b, state)
	for _, o := range m.Outages {
		runs := uint64(max(0, o.Runs)) << 1
		if o.Reason == OutageTarget {
			runs |= 1
		}
		b = binary.AppendUvarint(b, runs)
		b = binary.AppendVarint(b, o.From.UnixMicro())
		b = binary.AppendUvarint(b, uint64(max(0, o.length().Microseconds())))
	}
	return appendCounts(b, m.lateness.lateness[:])
}

func (m *Month) counters() []*int64 {
	all := []*int64{&m.Completed, &m.Failed, &m.Cancelled, &m.Unmade, &m.Late, &m.Omitted}
	for i := range m.Missed {
		all = append(all, &m.Missed[i])
	}
	return all
}

// DecodeMonth decodes what Encode returned. Of damaged bytes it returns what comes before
// the damage.
func DecodeMonth(b []byte) *Month {
	m := &Month{}
	if len(b) == 0 || b[0] != monthVersion {
		return m
	}
	r := varints{b: b[1:]}
	for _, n := range m.counters() {
		*n = int64(r.unsigned() & (1<<62 - 1))
	}
	m.lateness.worst = micros(r.unsigned())
	state := r.unsigned()
	m.open = state&1 == 1
	for range min(state>>1, MaxOutages) {
		runs, from, length := r.unsigned(), r.signed(), micros(r.unsigned())
		if r.failed {
			break
		}
		o := Outage{Reason: OutageService, From: time.UnixMicro(from).UTC(), Runs: int64(runs >> 1)}
		if runs&1 == 1 {
			o.Reason = OutageTarget
		}
		o.To = o.From.Add(length)
		m.Outages = append(m.Outages, o)
	}
	if !r.failed {
		addEncoded(&m.lateness.lateness, r.b)
	}
	return m
}

// micros returns a number of microseconds as a duration, the longest one if it is too great.
func micros(n uint64) time.Duration {
	const most = uint64(1<<63-1) / uint64(time.Microsecond)
	return time.Duration(min(n, most)) * time.Microsecond
}

// varints reads varints. When there is none, it returns 0 and has failed.
type varints struct {
	b      []byte
	failed bool
}

func (r *varints) unsigned() uint64 {
	v, n := binary.Uvarint(r.b)
	return take(r, v, n)
}

func (r *varints) signed() int64 {
	v, n := binary.Varint(r.b)
	return take(r, v, n)
}

func take[N int64 | uint64](r *varints, v N, n int) N {
	if r.failed = r.failed || n <= 0; r.failed {
		return 0
	}
	r.b = r.b[n:]
	return v
}
