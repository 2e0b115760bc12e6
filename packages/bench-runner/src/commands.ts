// `pctodl-run` has a package of its own; from here it is had as before.
export { pctodlRun } from '@pctodl/run'
export { benchRunner } from './matrix-command.js'
