export { pctodlProfile } from './main.js'
export { pctodlSweep } from './sweep/sweep-command.js'
