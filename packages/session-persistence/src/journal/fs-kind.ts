/** The file systems that other machines may share, by the magic number that Linux gives for each. */
const networkKinds: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x01021997, '9p'],
  // virtiofs, sshfs and what clouds mount, and local ones too: nothing tells them apart.
  [0x65735546, 'FUSE'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x00c36400, 'CEPH'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
  [0x7461636f, 'OCFS2'],
  [0x01161970, 'GFS2'],
  [0x19830326, 'BeeGFS'],
  [0xaad7aaea, 'PanFS'],
  [0x73757245, 'Coda'],
  [0x564c, 'NCP'],
  [0x786f4256, 'vboxsf'],
  [0xbacbacbc, 'vmhgfs'],
  [0x7c7c6673, 'prl_fs'],
])

/** The name of a file system that other machines may share; `undefined` for any other. */
export function networkFsOf(type: number): string | undefined {
  // Where the number is signed and has 32 bits, those above 2^31 come out negative.
  return networkKinds.get(type >>> 0)
}
