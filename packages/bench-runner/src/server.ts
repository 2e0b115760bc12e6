// The scenario of services without its command line: nothing of Node, for pages and for runs of one's own.

export { runServerLoad, type ServerLoad, type ServerRun } from './services/serve.js'
export { createServerPolicy, type ServerPolicyName, serverPolicyNames } from './services/service-policies.js'
export { type ServerTask, serverTasks, serverTasksOf, type TaskService } from './services/service-tasks.js'
