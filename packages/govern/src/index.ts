// Metrics of servers
export { readTriton } from './metrics/triton.js'
export { readHistograms, vllmNames } from './metrics/histograms.js'
// The law
export { GovernLaw } from './law/govern-law.js'
// The program
export { readConfig } from './config.js'
export { type GovernStep, runGovernor } from './governor.js'
export { energyOf } from './commands/energy-command.js'
