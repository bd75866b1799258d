import cluster from 'node:cluster'
import { once } from 'node:events'
import { systemPort } from '../../../packages/session-persistence/src/journal/fs.ts'

/** Two workers of a cluster hold one name; prints how each fared. */
const [name = ''] = process.argv.slice(2)

if (cluster.isPrimary) {
  const workers = [cluster.fork(), cluster.fork()]
  const fared = await Promise.all(workers.map(async (worker) => (await once(worker, 'message'))[0] as string))
  process.stdout.write(JSON.stringify(fared.sort()))
  for (const worker of workers) worker.kill()
} else {
  process.send!((await systemPort.locks!.hold({ kind: 'machine', name }, '')).kind)
}
