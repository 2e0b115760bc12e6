export { findMigProfile, type MigProfile, migBoard, migProfiles } from '@pctodl/platform'
export type {
  BoardPhysics,
  FirmwarePhysics,
  MatrixEfficiency,
  PowerPhysics,
  ProcessPhysics,
  SensorPhysics,
  ThermalPhysics,
  WorkPhysics,
} from './board-physics.js'
export { boardPower, type PowerBreakdown, relativeVoltage, settledPower } from './board-power.js'
export { type BoardVariant, type BoardVariantsOptions, boardVariants, findBoardVariant } from './board-variants.js'
export { derivePhysics, type KnownBoard } from './derive-physics.js'
export { type Execution, type Precision, precisions } from './execution.js'
export { assertFaultScenario, type Fault, type FaultKind, type FaultScenario, faultKinds } from './fault-scenario.js'
export type { StruckFault } from './fault-schedule.js'
export { type HostName, type HostProfile, hostNames, hostOfBoard } from './host-profile.js'
export type { MigInstance } from './mig-partitions.js'
export { findOracle, type Oracle, type OracleOptions } from './oracle.js'
export { calibratedBoards, physicsOfBoard, simulatedBoards } from './physics-of-board.js'
export { tenantFootprint } from './process-memory.js'
export { resolveBoard, type SimulatedBoard } from './resolve-board.js'
export type { ServedService } from './serving/served-service.js'
export type { ServingEngineOptions } from './serving/serving-engine.js'
export { SimulatedDesk } from './serving/simulated-desk.js'
export { SimulatedServices } from './serving/simulated-services.js'
export { type SimulatedSteadyState, type SteadyStateOptions, simulateSteadyState } from './simulate-steady-state.js'
export { SimulatedGpu, type SimulatedGpuOptions, type Truth } from './simulated-gpu.js'
export type { FailureKind, SimulatedProcess } from './simulated-process.js'
export { SimulatedTenants, type SimulatedTenantsOptions } from './simulated-tenants.js'
export { SimulatedTraining, type SimulatedTrainingOptions, type TrainingWorker } from './simulated-training.js'
export { type SteadyState, SteadyStateSolver, type TenantSteadyState } from './steady-state.js'
