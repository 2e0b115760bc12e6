export {
  type HostTenantLoad,
  SimulatedHost,
  type SimulatedHostOptions,
} from './simulated-host.js'
export type { Privilege } from './board-file-layout.js'
export { BoardUnavailableError, CompilerError, HostProgramError } from './host-errors.js'
