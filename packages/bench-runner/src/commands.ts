export { benchRunner } from './matrix-command.js'
