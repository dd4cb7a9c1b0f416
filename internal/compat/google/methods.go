package google

import (
	"maps"
	"slices"
)

const (
	tasksService     = "google.cloud.tasks.v2.CloudTasks"
	schedulerService = "google.cloud.scheduler.v1.CloudScheduler"
	locationsService = "google.cloud.location.Locations"
)

// methods are the methods of all services, with their routes.
func methods() []*method {
	all := slices.Concat(tasksMethods(), schedulerMethods(), locationMethods())
	for _, m := range all {
		m.routes = append(m.annotated(), m.routes...)
		for i := range m.routes {
			m.routes[i].method = m
		}
	}
	return all
}

func tasksMethods() []*method {
	return []*method{
		unary(tasksService, "ListQueues", (*call).listQueues),
		unary(tasksService, "GetQueue", (*call).getQueue),
		unary(tasksService, "CreateQueue", (*call).createQueue),
		unary(tasksService, "UpdateQueue", (*call).updateQueue),
		unary(tasksService, "DeleteQueue", (*call).deleteQueue),
		unary(tasksService, "PurgeQueue", (*call).purgeQueue),
		unary(tasksService, "PauseQueue", (*call).pauseQueue),
		unary(tasksService, "ResumeQueue", (*call).resumeQueue),
		unary(tasksService, "GetIamPolicy", (*call).getPolicy),
		unary(tasksService, "SetIamPolicy", (*call).setPolicy),
		unary(tasksService, "TestIamPermissions", (*call).testPermissions),
		unary(tasksService, "ListTasks", (*call).listTasks),
		unary(tasksService, "GetTask", (*call).getTask),
		unary(tasksService, "CreateTask", (*call).createTask),
		unary(tasksService, "DeleteTask", (*call).deleteTask),
		unary(tasksService, "RunTask", (*call).runTask),
	}
}

func schedulerMethods() []*method {
	return []*method{
		unary(schedulerService, "ListJobs", (*call).listJobs),
		unary(schedulerService, "GetJob", (*call).getJob),
		unary(schedulerService, "CreateJob", (*call).createJob),
		unary(schedulerService, "UpdateJob", (*call).updateJob),
		unary(schedulerService, "DeleteJob", (*call).deleteJob),
		unary(schedulerService, "PauseJob", (*call).pauseJob),
		unary(schedulerService, "ResumeJob", (*call).resumeJob),
		unary(schedulerService, "RunJob", (*call).runJob),
	}
}

// locationMethods are those that each of Google's services has.
func locationMethods() []*method {
	list := unary(locationsService, "ListLocations", (*call).listLocations)
	get := unary(locationsService, "GetLocation", (*call).getLocation)
	for _, version := range []string{"v1", "v2"} {
		list.routes = append(list.routes, route{
			verb: "GET", before: []string{version}, field: "name", within: []string{"projects", "*"}, after: []string{"locations"},
		})
		get.routes = append(get.routes, route{
			verb: "GET", before: []string{version}, field: "name", within: []string{"projects", "*", "locations", "*"},
		})
	}
	return []*method{list, get}
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
