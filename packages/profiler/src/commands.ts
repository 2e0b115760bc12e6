export { pctodlProfile } from './profile-command.js'
export { pctodlProve } from './prove/prove-command.js'
export { pctodlSweep } from './sweep/sweep-command.js'
