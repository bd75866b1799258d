import { testRotation } from './rotating-journal.ts'

testRotation({ statesMax: 20_000, livesStatesMax: 10_000, faultsMax: 3_000, damagesMax: 30_000 })
