import { runNode } from './command.mjs'
import { setUp } from './setup.mjs'

setUp()
process.exitCode = await runNode(['--import', 'tsx', 'examples/demo/main.ts', ...process.argv.slice(2)])
