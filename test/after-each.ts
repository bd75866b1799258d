import { afterEach } from 'vitest'
import { cleanUp } from './clean-up.ts'

// Vitest runs this for each file. A hook in a module that files share would be one of the first file alone.
afterEach(cleanUp)
