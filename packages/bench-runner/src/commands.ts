export { benchRunner } from './main.js'
