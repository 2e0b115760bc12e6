export { pctodlRun } from './run-command.js'
