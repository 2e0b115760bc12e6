import { ClockController } from '@pctodl/thermo-dvfs'

const smClocksMhz = Array.from({ length: 81 }, (_, i) => 210 + 15 * i)
const modelledPowerW = (clockMhz: number) => 60 + 0.14 * (clockMhz - 210)
const boardPowerW = (clockMhz: number) => 1.12 * modelledPowerW(clockMhz) // 12 % above the model

export function track(powerCapW: number): { smClockMhz: number; powerW: number; status: string } {
  const controller = new ClockController({ smClocksMhz, reading: 'one-second-average' })
  controller.setPlant(smClocksMhz.map(modelledPowerW)) // repeat after every repartition

  const lastSecondW: number[] = []
  let smClockMhz = 210
  let status = 'tracking'
  for (let timeMs = 0; timeMs < 20_000; timeMs += 100) {
    lastSecondW.push(boardPowerW(smClockMhz))
    if (lastSecondW.length > 10) lastSecondW.shift()
    const powerAverageW = lastSecondW.reduce((sum, powerW) => sum + powerW) / lastSecondW.length
    const reading = { timeMs, powerCapW, powerAverageW, powerInstantW: null, smClockMhz, loading: false }
    ;({ smClockMhz, status } = controller.step(reading)) // lock this clock
  }
  return { smClockMhz, powerW: boardPowerW(smClockMhz), status }
}
