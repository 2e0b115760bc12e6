export * from './virtual.js'
export {
  type HostTenantLoad,
  SimulatedHost,
  type SimulatedHostOptions,
} from './host/simulated-host.js'
export type { Privilege } from './host/board-file-layout.js'
export { BoardUnavailableError, CompilerError, HostProgramError } from './host/host-errors.js'
