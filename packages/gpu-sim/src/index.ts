export { SimulatedGpu, type SimulatedGpuOptions, type Truth } from './simulated-gpu.js'
export { SimulatedTenants, type SimulatedTenantsOptions } from './simulated-tenants.js'
export type { SimulatedProcess } from './simulated-process.js'
export { simulateSteadyState, type SimulatedSteadyState, type SteadyStateOptions } from './simulate-steady-state.js'
export type { Execution } from './execution.js'
export { findOracle, type Oracle, type OracleOptions } from './oracle.js'
export type { MigInstance } from './mig-partitions.js'
export { findMigProfile, migBoard, type MigProfile, migProfiles } from './mig-profiles.js'
export { assertFaultScenario, type Fault, type FaultKind, faultKinds, type FaultScenario } from './fault-scenario.js'
export type { StruckFault } from './fault-schedule.js'
export { calibratedBoards, physicsOfBoard, simulatedBoards } from './physics-of-board.js'
export { derivePhysics, type KnownBoard } from './derive-physics.js'
export type {
  BoardPhysics,
  FirmwarePhysics,
  PowerPhysics,
  ProcessPhysics,
  SensorPhysics,
  ThermalPhysics,
  WorkPhysics,
} from './board-physics.js'
export { type SteadyState, SteadyStateSolver, type TenantSteadyState } from './steady-state.js'
export { boardPower, type PowerBreakdown, relativeVoltage, settledPower } from './board-power.js'
export { tenantFootprint } from './process-memory.js'
export {
  type HostTenantLoad,
  SimulatedHost,
  type SimulatedHostOptions,
} from './host/simulated-host.js'
export type { Privilege } from './host/board-file-layout.js'
export { BoardUnavailableError, CompilerError, HostProgramError } from './host/host-errors.js'
