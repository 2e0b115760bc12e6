import type { ThermalPhysics } from './board-physics.js'

/**
 * Thermal model of a board with two temperatures: the die's, which follows power within a second, and the cooler's,
 * which follows within half a minute.
 */
export class BoardHeat {
  readonly #thermal: ThermalPhysics
  #coolerC: number
  #dieRiseK: number

  /** @param powerW power that the board drew for a long time before, W */
  constructor(thermal: ThermalPhysics, powerW: number) {
    this.#thermal = thermal
    this.#coolerC = thermal.ambientC + (thermal.resistance - thermal.dieResistance) * powerW
    this.#dieRiseK = thermal.dieResistance * powerW
  }

  get dieC(): number {
    return this.#coolerC + this.#dieRiseK
  }

  tick(powerW: number, seconds: number): void {
    const { ambientC, resistance, timeConstantS, dieResistance, dieTimeConstantS } = this.#thermal
    const coolerTargetC = ambientC + (resistance - dieResistance) * powerW
    this.#coolerC += (coolerTargetC - this.#coolerC) * (seconds / timeConstantS)
    this.#dieRiseK += (dieResistance * powerW - this.#dieRiseK) * (seconds / dieTimeConstantS)
  }
}
