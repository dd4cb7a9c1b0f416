// Package importer converts the schedules of other systems into schedules of this
// service: [Importers] has one entry for each system.
//
// An importer never shifts a time. What means another time here, or a request that a
// schedule can't send, is returned as an entry with its line and the reason, and is not
// imported. Times without a zone are read in the zone that the system uses for them, or
// in Options.Zone where that depends on a machine.
//
// Commands are converted by package crontab, which reads crontabs too. Package cli has
// the commands, and sends the schedules to the service.
package importer
