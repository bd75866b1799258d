import { join } from 'node:path'
import { hasReason, type JournalPort } from './port.ts'
import { quarantineName } from './quarantine.ts'

/** Removes a session's folder, which has no name of a session any more, and everything in it. */
export async function removeFolder(port: JournalPort, path: string): Promise<void> {
  for (const name of await port.readdir(path)) {
    if (name === quarantineName && (await port.stat(join(path, name))).kind === 'folder')
      await removeFolder(port, join(path, name))
    else await removeFile(port, join(path, name))
  }
  await port.rmdir(path)
}

async function removeFile(port: JournalPort, path: string): Promise<void> {
  try {
    await port.unlink(path)
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error // a holder that was told took its socket away
  }
}
