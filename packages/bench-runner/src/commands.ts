export { benchRunner } from './main.js'
export { pctodlRun } from './run/run-command.js'
