export { pctodlProfile } from './main.js'
