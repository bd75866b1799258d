import { SimulatedDisk, crashStates, type CrashState } from '@tidemark/session-persistence/testkit'
import type { PortFile } from '@tidemark/session-persistence/journal'
import { beforeEach, describe, expect, it } from 'vitest'

let disk: SimulatedDisk
let file: PortFile
beforeEach(async () => {
  disk = new SimulatedDisk({ isRecorded: true })
  await disk.mkdir('/a')
  await disk.syncFolder('/')
  file = await disk.open('/a/log', 'create')
  await disk.syncFolder('/a')
})

const text = (content: string): Buffer => Buffer.from(content)

/** What the disk may hold after a crash now, each once. */
function endings(kind?: CrashState['kind']): string[] {
  const { operations } = disk.recording
  const states = crashStates(disk.recording, { seed: 1, from: operations.length })
  const found = [...states].filter((state) => kind === undefined || state.kind === kind)
  return [...new Set(found.map(filesIn))].sort()
}

function filesIn({ image }: Pick<CrashState, 'image'>): string {
  const files = [...new SimulatedDisk({ image }).files()].map(
    ([path, content]) => `${path} ${String(content)}`,
  )
  return files.sort().join('; ').replaceAll('\0', '.')
}

describe('a simulated disk', () => {
  it('keeps what was synced through a power cut, and may lose the rest or keep it', async () => {
    await file.write(text('one'), 0)
    await file.sync()
    await file.write(text('two'), 3)
    expect(endings('kill')).toEqual(['/a/log onetwo'])
    expect(endings('power')).toEqual(['/a/log one', '/a/log one...', '/a/log onetwo'])
    await file.sync()
    expect(endings()).toEqual(['/a/log onetwo'])
  })

  it('loses any of the chunks of a write, and grows the file with zeros for them', async () => {
    await file.write(Buffer.alloc(1_024, 'x'), 0)
    const sizes = endings('power').map((ending) => ending.slice('/a/log '.length))
    const [x, hole] = ['x'.repeat(512), '.'.repeat(512)]
    expect(new Set(sizes)).toEqual(new Set(['', x, x + x, hole + hole, x + hole, hole + x]))
  })

  it('puts garbage in the place of what is missing only where that is allowed, and only behind what was durable', async () => {
    await file.write(Buffer.alloc(600, 'a'), 0)
    await file.sync()
    await file.write(Buffer.alloc(600, 'b'), 600)
    const from = disk.recording.operations.length
    const terms = { seed: 1, from }
    const contents = (states: Iterable<CrashState>) =>
      [...states].map(({ image }) => new SimulatedDisk({ image }).files().get('/a/log')!)
    const isPlain = (content: Buffer): boolean => /^a{600}[b\0]*$/.test(content.toString('latin1'))
    expect(contents(crashStates(disk.recording, terms)).every(isPlain)).toBe(true)
    const wild = contents(crashStates(disk.recording, { ...terms, hasGarbage: (name) => name === 'log' }))
    expect(wild.some((content) => !isPlain(content))).toBe(true)
    expect(wild.every((content) => content.toString('latin1', 0, 600) === 'a'.repeat(600))).toBe(true)
  })

  it('cuts a write that was under way at every length', async () => {
    await file.write(text('12345'), 0)
    const point = disk.recording.operations.length - 1
    const states = [...crashStates(disk.recording, { seed: 1, from: point })]
    const killed = states.filter(({ kind, point: at }) => kind === 'kill' && at === point).map(filesIn)
    expect(killed).toEqual(['', '1', '12', '123', '1234'].map((content) => `/a/log ${content}`))
  })

  it('does each change of names or not, in every combination, until the folder is synced', async () => {
    await disk.open('/a/b', 'create')
    await disk.rename('/a/log', '/a/c')
    await disk.link('/a/c', '/a/d')
    const files = ['/a/b ', '/a/log ', '/a/c ', '/a/d ']
    expect(endings('kill')).toEqual(['/a/b ; /a/c ; /a/d '])
    const expected = [0, 1, 2, 3, 4, 5, 6, 7].map((bits) => {
      const isThere = [bits & 1, !(bits & 2), bits & 2, bits & 4]
      return files
        .filter((_, index) => isThere[index])
        .sort()
        .join('; ')
    })
    expect(endings('power')).toEqual([...new Set(expected)].sort())
    await disk.syncFolder('/a')
    expect(endings()).toEqual(['/a/b ; /a/c ; /a/d '])
  })

  it('loses everything in a folder whose own name was lost', async () => {
    await disk.mkdir('/new')
    const inside = await disk.open('/new/x', 'create')
    await inside.write(text('x'), 0)
    await inside.sync()
    await disk.syncFolder('/new')
    expect(endings('power')).toEqual(['/a/log ', '/a/log ; /new/x x'])
  })

  it.each([
    ['kept', 'one', ['/a/log one']],
    ['clean', 'one', ['/a/log ', '/a/log ...', '/a/log one']],
    ['dropped', '\0\0\0', ['/a/log ', '/a/log ...', '/a/log one']],
  ] as const)(
    'after a sync that failed with its pages %s, the next sync that works promises only what it wrote',
    async (pages, readable, left) => {
      await file.write(text('one'), 0)
      disk.onCall = ({ name }) => (name === 'sync' ? { kind: 'refused', code: 'EIO', pages } : undefined)
      await expect(file.sync()).rejects.toMatchObject({ code: 'EIO' })
      disk.onCall = undefined
      expect(String(disk.files().get('/a/log'))).toBe(readable)
      await file.sync()
      expect(new Set([...left, ...endings('power')])).toEqual(new Set(left))
      if (pages !== 'kept') expect(endings('power')).toContain('/a/log ...')
    },
  )

  it('fails a call once it is told to, counts what is open, and a closed file is closed', async () => {
    disk.onCall = ({ name, index }) => (name === 'write' && index % 2 === 0 ? { kind: 'short' } : undefined)
    const taken = [await file.write(text('1234'), 0), await file.write(text('1234'), 4)]
    expect(taken.sort()).toEqual([2, 4])
    disk.onCall = ({ name }) => (name === 'close' ? { kind: 'refused', code: 'EIO' } : undefined)
    await expect(file.close()).rejects.toMatchObject({ code: 'EIO' })
    expect(disk.openFiles).toBe(0)
    await expect(file.sync()).rejects.toMatchObject({ code: 'EBADF' })
  })

  it('has a clock that a test moves: what is due is done, and what it begins is ended', async () => {
    const done: string[] = []
    disk.later(1_000, () => {
      done.push('first')
      void disk.stat('/a').then(() => disk.later(500, () => done.push('second')))
    })
    disk.later(5_000, () => done.push('late'))
    disk.later(10, () => done.push('called off'))()
    await disk.advance(900)
    expect(done).toEqual([])
    await disk.advance(200)
    expect(done).toEqual(['first'])
    await disk.advance(500)
    expect(done).toEqual(['first', 'second'])
  })

  it('goes on from an image as if nothing had been, and leaves the image as it was', async () => {
    await file.write(text('one'), 0)
    const image = disk.image()
    const [first, second] = [new SimulatedDisk({ image }), new SimulatedDisk({ image })]
    const random = disk.random(8)
    for (const copy of [first, second]) {
      expect(copy.random(8)).toBe(random)
      await (await copy.open('/a/other', 'create')).write(text('two'), 0)
    }
    expect(first.files()).toEqual(second.files())
    expect([...new SimulatedDisk({ image }).files().keys()]).toEqual(['/a/log'])
  })

  it('refuses what a file system refuses', async () => {
    const asked = [
      ['EEXIST', () => disk.open('/a/log', 'create')],
      ['ENOENT', () => disk.open('/a/none', 'read')],
      ['ENOENT', () => disk.mkdir('/none/b')],
      ['ENOTDIR', () => disk.readdir('/a/log')],
      ['ENOTEMPTY', () => disk.rmdir('/a')],
      ['EEXIST', () => disk.link('/a/log', '/a/log')],
      ['EISDIR', () => disk.unlink('/a')],
      ['ENOENT', () => disk.rename('/a/none', '/a/log')],
    ] as const
    for (const [code, ask] of asked) await expect(ask()).rejects.toMatchObject({ code })
    const read = await disk.open('/a/log', 'read')
    await expect(read.write(text('x'), 0)).rejects.toMatchObject({ code: 'EBADF' })
  })
})

describe('crash states', () => {
  it('are the same for the same seed, and fewer when fewer are wanted', async () => {
    await file.write(Buffer.alloc(3_000, 'x'), 0)
    await disk.rename('/a/log', '/a/other')
    const choices = (statesMax?: number) =>
      [...crashStates(disk.recording, { seed: 3, ...(statesMax && { statesMax }) })].map(
        ({ choice }) => choice,
      )
    const all = choices()
    expect(all.length).toBeGreaterThan(3_000)
    expect(choices()).toEqual(all)
    const few = choices(200)
    expect(few.length).toBeGreaterThan(50)
    expect(few.length).toBeLessThan(500)
  })
})
