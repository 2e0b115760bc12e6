export { pageFile } from './page-file.js'
export { exportPage } from './export-page.js'
export { type ServedPage, servePage } from './serve-page.js'
