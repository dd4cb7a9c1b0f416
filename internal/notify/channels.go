package notify

import (
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Channel is a kind of receiver. The API, the command line and the dashboard loop over
// [Channels]: a new one is a file here with its entry, a property of AlertReceiver in
// the API document and a field of the Go client.
type Channel struct {
	// Number names the channel in stored deliveries.
	Number job.Channel
	// Name is the member of a receiver, the flag of the command line and the input of the
	// dashboard.
	Name string
	// Label is the label of the dashboard's input, Hint what stands below it.
	Label, Hint string
	// Placeholder and Help describe the flag.
	Placeholder, Help string

	// Why returns why a text names no receiver; "" if it does. Nil: any target will do.
	Why func(text string) string
	// Target returns the URL that stands for a receiver, given what the member says; nil:
	// it says the URL.
	Target func(text string) string
	// Text undoes Target.
	Text func(target string) string
	// Shown returns what lists show of a target. Addresses of webhooks may be credentials.
	Shown func(target string) string
	// Endpoint returns where messages to a target are sent; nil: to the target.
	Endpoint func(target string) string
	// Body returns the body of a delivery to a target.
	Body func(m *Message, target string) rawjson.Value
}

// Channels are all channels.
var Channels = []*Channel{&webhook, &slack, &teams, &pagerDuty, &mail}

// ChannelOf returns the channel with a number, or nil.
func ChannelOf(number job.Channel) *Channel {
	for _, c := range Channels {
		if c.Number == number {
			return c
		}
	}
	return nil
}

// ChannelNamed returns the channel with a name, or nil.
func ChannelNamed(name string) *Channel {
	for _, c := range Channels {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// ChannelNames returns the names of all channels.
func ChannelNames() []string {
	names := make([]string, len(Channels))
	for i, c := range Channels {
		names[i] = c.Name
	}
	return names
}

// TargetOf returns the URL that stands for a receiver that the API names by a text.
func (c *Channel) TargetOf(text string) string {
	if c.Target == nil {
		return text
	}
	return c.Target(text)
}

// TextOf returns how the API names a target.
func (c *Channel) TextOf(target string) string {
	if c.Text == nil {
		return target
	}
	return c.Text(target)
}

// EndpointOf returns where messages to a target are sent.
func (c *Channel) EndpointOf(target string) string {
	if c.Endpoint == nil {
		return target
	}
	return c.Endpoint(target)
}
