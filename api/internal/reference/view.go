package reference

import "html/template"

// View is the page with every decision made.
type View struct {
	Style       template.CSS
	Frame       Frame
	Title       string
	Version     string
	Summary     string
	Intro       template.HTML
	Credentials []template.HTML
	Problem     template.HTML
	Problems    []Response
	Groups      []Group
	Messages    Group // callbacks and webhooks
	Signed      []Field
	Schemas     []Schema
}

// Group is a tag and what it holds.
type Group struct {
	ID          string
	Title       string
	Description template.HTML
	Operations  []*Operation
}

// Operation is a call, or a message the service sends.
type Operation struct {
	ID          string
	Method      string
	Path        string // of a message: its event's name
	Summary     string
	Description template.HTML
	Key         bool // wants credentials
	Parameters  []Field
	Body        *Body
	Responses   []Response
	Refusals    []Refusal
	Examples    []Example // ready requests, or the messages themselves
}

// Body is what a request or message holds.
type Body struct {
	Title  []Span
	Note   template.HTML
	Fields []Field
}

// Field is a row of a table: a parameter or a member of an object.
type Field struct {
	Name        string
	In          string
	Type        []Span
	Limits      string
	Mark        string // required, of what clients send; optional, of what they get
	Description template.HTML
	example     string
}

// Response is a response that is shown in full.
type Response struct {
	ID          string
	Status      string
	Reason      string
	Description template.HTML
	Headers     []Field
	Type        []Span
	Media       string
	Examples    []Example
}

// Refusal is a response that is named only and explained under Errors.
type Refusal struct {
	Status string
	Reason string
	Href   string
}

// Example is a piece of code under a name.
type Example struct {
	Name string
	Code template.HTML
}

// Schema is a record or a part of one.
type Schema struct {
	Name        string
	Description template.HTML
	Type        []Span
	Fields      []Field
	Variants    []Variant
}

// Variant is one of the shapes a schema may have.
type Variant struct {
	Title  string
	Fields []Field
}
