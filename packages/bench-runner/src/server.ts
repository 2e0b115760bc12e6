// The scenario of services without its command line: nothing of Node, for pages and for runs of one's own.

export {
  runServerLoad,
  type ServerLoad,
  type ServerRun,
  type ServerRunOptions,
  type ServerTrace,
  WARM_UP_S,
} from './server/run-server-task.js'
export {
  createServerPolicy,
  type ServerPolicyName,
  type ServerPolicyOptions,
  serverPolicyNames,
} from './server/server-policies.js'
export { type ServerTask, serverTasks, serverTasksOf, type TaskService } from './server/server-tasks.js'
