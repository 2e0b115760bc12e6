import { readTables } from './validate/table.js'
import { compareTables } from './validate/compare-tables.js'
import { findGpuSpec } from '@pctodl/platform'
import { simulateSteadyState } from '../src/index.js'
const t = readTables('/work/shared/data/measured')
for (const c of compareTables(new Map([...t].filter(([k]) => /networks/.test(k)))).comparisons) { console.log(c.board); for (const p of c.points.filter((p) => !/torch (2.1|1.13)/.test(p.label))) console.log('  ', p.label, p.measured.toFixed(0), p.simulated.toFixed(0), (100 * (p.simulated / p.measured - 1)).toFixed(0) + '%') }
for (const b of ['RTX4090','RTX5090','RTXPRO6000-MaxQ']) { const spec = findGpuSpec(b); console.log(b, ['resnet50','vgg19','densenet201','mobilenet_v2','maxvit_t'].map((model) => { const s = simulateSteadyState(b, { host: 'eager-pytorch-nchw' })({ tenants: [{ model, mpsPercent: 100, batchSize: 1024 }], smClockMhz: spec.boostClockMhz, memClockMhz: spec.performanceMemClocksMhz[0]! }); return model + ' ' + s.powerW.toFixed(0) + 'W ' + s.smClockMhz.toFixed(0)}).join(', ')) }
