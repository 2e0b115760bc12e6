export { pctodlColocate } from './cli/main.js'
