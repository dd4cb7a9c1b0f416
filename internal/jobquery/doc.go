// Package jobquery reads the queries by which people find jobs:
//
//	failed host:api.example.com since:"yesterday 22:00" tag:import invoice
//
// [Parse] returns the parameters of GET /api/jobs that a query stands for, and [Format]
// the query of parameters. [Words] lists what can be typed, for completion. The filters
// are those of the table in package job; the dashboard and the command line share this
// one grammar.
//
// A query is a list of words. NAME:VALUE is a filter, the name of a state selects it, and
// every other word is part of the text that is searched for. Quotes join words and keep
// them from being read as filters.
//
// The package is pure: the current time and the zone are arguments. It calls no service
// and knows no store.
package jobquery
