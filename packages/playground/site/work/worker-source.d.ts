/** The bundled worker, inserted by the build. */
declare module '*worker-source.txt' {
  const source: string
  export default source
}
