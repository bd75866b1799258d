import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { networkFsOf } from '../../../packages/session-persistence/src/journal/fs-kind.ts'
import { systemPort } from '../../../packages/session-persistence/src/journal/fs.ts'
import { scratch } from '../scratch.ts'

describe('a file system that other machines may share', () => {
  it.each([
    [0x6969, 'NFS'],
    [0x517b, 'SMB'],
    [0xff534d42, 'CIFS'],
    [0xfe534d42, 'SMB2'],
    [0x01021997, '9p'],
    [0x65735546, 'FUSE'],
    [0x5346414f, 'AFS'],
    [0x6b414653, 'AFS'],
    [0x00c36400, 'CEPH'],
    [0x0bd00bd0, 'Lustre'],
    [0x47504653, 'GPFS'],
    [0x7461636f, 'OCFS2'],
    [0x73757245, 'Coda'],
    [0x564c, 'NCP'],
  ])('of type %i is %s, also where the number is signed', (type, name) => {
    expect(networkFsOf(type)).toBe(name)
    expect(networkFsOf(type | 0)).toBe(name)
  })

  it.each([
    [0xef53, 'ext4'],
    [0x58465342, 'XFS'],
    [0x9123683e, 'btrfs'],
    [0x01021994, 'tmpfs'],
    [0x794c7630, 'overlay'],
    [0x2fc12fc1, 'ZFS'],
    [0, 'none'],
  ])('is none of type %i (%s)', (type) => {
    expect(networkFsOf(type)).toBeUndefined()
  })

  it('is told by its path; of a path that leads nowhere nothing is said', async (context) => {
    if (process.platform !== 'linux') context.skip('only Linux tells the types of file systems')
    expect(await systemPort.networkFs('/proc')).toBeUndefined()
    await expect(systemPort.networkFs(join(scratch(), 'missing'))).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
