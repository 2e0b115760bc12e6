/** The table "Speed" of the README: nanoseconds of this process's own time an arrival, least of five rounds: others on the machine do not count. */
import {
  type ArrivalProcess,
  constantArrivals,
  diurnalArrivals,
  gammaArrivals,
  markovModulatedArrivals,
  poissonArrivals,
  replayedRates,
  superposed,
} from '../src/index.js'

const poisson = poissonArrivals({ ratePerS: 5000 })
const processes: Readonly<Record<string, ArrivalProcess>> = {
  constant: constantArrivals({ ratePerS: 5000 }),
  poisson,
  gamma: gammaArrivals({ ratePerS: 5000, burstiness: 4 }),
  'markov-modulated': markovModulatedArrivals({
    states: [
      { ratePerS: 1000, meanDwellMs: 1000 },
      { ratePerS: 9000, meanDwellMs: 1000 },
    ],
  }),
  diurnal: diurnalArrivals({ meanRatePerS: 5000, swing: 0.8 }),
  'replayed rates': replayedRates({ ratesPerS: [1000, 9000], stepMs: 1000, repeat: true }),
  'six superposed': superposed(Array.from({ length: 6 }, () => poisson)),
}

const ARRIVALS = 1_000_000
console.table(
  Object.entries(processes).map(([name, description]) => {
    let minMs = Number.POSITIVE_INFINITY
    for (let round = 0; round < 5; round++) {
      const arrivals = description.start(round)
      const start = process.cpuUsage().user
      for (let i = 0; i < ARRIVALS; i++) arrivals.nextMs()
      minMs = Math.min(minMs, (process.cpuUsage().user - start) / 1000)
    }
    return { process: name, 'ns an arrival': ((1e6 * minMs) / ARRIVALS).toFixed(0) }
  }),
)
