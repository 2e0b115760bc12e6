export { SimulatedGpu, type SimulatedGpuOptions, tenantFootprint, type Truth } from './simulated-gpu.js'
export { SimulatedTenants, type SimulatedTenantsOptions } from './simulated-tenants.js'
export type { SimulatedProcess } from './simulated-process.js'
export { simulateSteadyState, type SimulatedSteadyState } from './simulate-steady-state.js'
export { physicsOfBoard, simulatedBoards } from './physics-of-board.js'
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
