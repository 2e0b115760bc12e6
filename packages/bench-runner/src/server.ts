// Services without a command line: no Node.js APIs, for web pages and custom runs.

export { runServerLoad, type ServerLoad, type ServerRun } from './services/serve.js'
export { createServerPolicy, serverPolicyNames } from './services/service-policies.js'
export { type ServerTask, serverTasks, serverTasksOf, type TaskService } from './services/service-tasks.js'
