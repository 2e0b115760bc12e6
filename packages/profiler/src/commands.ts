export { pctodlProfile } from './profile-command.js'
export { pctodlSweep } from './sweep/sweep-command.js'
