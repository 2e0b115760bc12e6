/** The bundled worker, put in its place by the build. */
declare module '*worker-source.txt' {
  const source: string
  export default source
}
