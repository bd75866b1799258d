import type { JournalPort, PortFile } from '@tidemark/session-persistence/journal'

/** A port each of whose calls waits for its turn. */
export function paced(port: JournalPort, turn: (name: string) => Promise<void>): JournalPort {
  const call =
    <Args extends unknown[], T>(name: string, work: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      await turn(name)
      return work(...args)
    }
  const wrap = (file: PortFile): PortFile => ({
    read: call('read', (into, offset) => file.read(into, offset)),
    write: async (bytes, offset) => {
      await turn('write')
      // The system may stop a writer in the middle of a batch.
      return file.write(bytes.subarray(0, Math.ceil(bytes.length / 2)), offset)
    },
    sync: call('sync', () => file.sync()),
    stat: () => file.stat(),
    chmod: (mode) => file.chmod(mode),
    close: () => file.close(),
  })
  return {
    open: async (path, how) => {
      await turn(how)
      return wrap(await port.open(path, how))
    },
    stat: call('stat', (path) => port.stat(path)),
    realpath: (path) => port.realpath(path),
    readdir: call('readdir', (path) => port.readdir(path)),
    mkdir: call('mkdir', (path) => port.mkdir(path)),
    rmdir: call('rmdir', (path) => port.rmdir(path)),
    rename: call('rename', (from, to) => port.rename(from, to)),
    link: call('link', (from, to) => port.link(from, to)),
    unlink: call('unlink', (path) => port.unlink(path)),
    chmod: (path, mode) => port.chmod(path, mode),
    syncFolder: call('syncFolder', (path) => port.syncFolder(path)),
    now: () => port.now(),
    random: (sizeBytes) => port.random(sizeBytes),
    pause: () => turn('pause'),
    later: (delayMs, work) => port.later(delayMs, work),
    networkFs: (path) => port.networkFs(path),
    identity: () => port.identity(),
    ...(port.codec && { codec: port.codec }),
    hasModes: false,
  }
}
