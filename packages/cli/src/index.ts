export { pctodl } from './pctodl-command.js'
export { commands } from './command-table.js'
export { examineMachine } from './doctor/examine-machine.js'
export { findLeftovers } from './cleanup/find-leftovers.js'
