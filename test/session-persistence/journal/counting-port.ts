import { systemPort, type JournalPort, type PortFile } from '@tidemark/session-persistence/journal'

/** A port that counts what is read and written through it, and the files that are open at once. */
export class CountingPort {
  readBytes = 0
  writtenBytes = 0
  openFilesMax = 0
  private openFiles = 0

  constructor(private readonly port: JournalPort = systemPort) {}

  /** The port to hand out. */
  get wrapped(): JournalPort {
    return { ...this.port, open: async (path, how) => this.counted(await this.port.open(path, how)) }
  }

  private counted(file: PortFile): PortFile {
    this.openFiles += 1
    this.openFilesMax = Math.max(this.openFilesMax, this.openFiles)
    return {
      read: async (into, offset) => {
        const sizeBytes = await file.read(into, offset)
        this.readBytes += sizeBytes
        return sizeBytes
      },
      write: async (bytes, offset) => {
        const sizeBytes = await file.write(bytes, offset)
        this.writtenBytes += sizeBytes
        return sizeBytes
      },
      sync: () => file.sync(),
      stat: () => file.stat(),
      chmod: (mode) => file.chmod(mode),
      close: () => {
        this.openFiles -= 1
        return file.close()
      },
    }
  }
}
