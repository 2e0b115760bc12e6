export { pageFile } from './page-file.js'
export { exportPage } from './export-page.js'
export { servePage } from './serve-page.js'
