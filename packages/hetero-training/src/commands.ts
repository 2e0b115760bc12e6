export { pctodlHetero } from './cli/main.js'
