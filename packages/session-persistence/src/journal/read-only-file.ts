import { SessionError } from '@tidemark/session-core'
import type { FileStat, PortFile } from './port.ts'

/** A file that is opened to be read. */
export abstract class ReadOnlyFile implements PortFile {
  abstract read(into: Uint8Array, offset: number): Promise<number>
  abstract stat(): Promise<FileStat>
  abstract close(): Promise<void>

  write(): Promise<number> {
    return Promise.reject(readOnly())
  }

  sync(): Promise<void> {
    return Promise.reject(readOnly())
  }

  chmod(): Promise<void> {
    return Promise.reject(readOnly())
  }
}

function readOnly(): SessionError {
  return new SessionError('STORAGE_FAILED', 'a file that is opened to be read is not changed')
}
