import { Drawing } from './drawing.js'

/** Of this page: all charts take their turns in it. */
export const drawing = new Drawing((draw) => void requestAnimationFrame(draw))
