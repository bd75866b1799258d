import { testRotation } from './rotating-journal.ts'

// A part of each campaign; the long run tries more.
testRotation({ statesMax: 1_000, livesStatesMax: 500, faultsMax: 600, damagesMax: 1_000 })
