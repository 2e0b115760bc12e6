// Metrics of servers
export { readTriton } from './metrics/triton.js'
export { readVllm } from './metrics/histograms.js'
// The law
export { GovernLaw } from './law/govern-law.js'
// The program
export { type GovernConfig, readConfig } from './config.js'
export { type GovernStep, runGovernor } from './governor.js'
export { energyOf } from './commands/energy-command.js'
