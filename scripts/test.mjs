import { runNode, toolPath } from './command.mjs'
import { setUp } from './setup.mjs'

setUp()
process.exitCode = await runNode([toolPath('vitest'), 'run', ...process.argv.slice(2)])
