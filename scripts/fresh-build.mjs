import { setUp } from './setup.mjs'

/** Vitest calls it before what runs the built packages. */
export default setUp
