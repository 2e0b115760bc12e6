export { pctodlReport } from './report-logs.js'
