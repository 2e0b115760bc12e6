// Services without a command line: no Node.js APIs, for web pages and custom runs.

export { createServerPolicy, serverPolicyNames } from '@pctodl/run/policy'
export { runServerLoad, type ServerLoad, type ServerRun } from './services/serve.js'
export { type ServerTask, serverTasks, serverTasksOf, type TaskService } from './services/service-tasks.js'
