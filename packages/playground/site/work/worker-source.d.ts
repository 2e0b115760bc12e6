/** The bundled source of the worker, which the build inserts. */
declare module '*worker-source.txt' {
  const source: string
  export default source
}
