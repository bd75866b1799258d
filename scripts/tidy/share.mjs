const shareMin = 0.08
const shareMax = 0.18

/** How many of a file's lines are comment, and how many hold anything. */
function countLines(text) {
  let inBlock = false
  const count = { comment: 0, filled: 0 }
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '') continue
    const opens = line.startsWith('/*')
    count.filled += 1
    if (inBlock || opens || line.startsWith('//')) count.comment += 1
    if (inBlock || opens) inBlock = !line.includes('*/')
  }
  return count
}

function srcByPackage(files) {
  const packages = new Map()
  for (const { path, text } of files) {
    const folder = /^packages\/[^/]+(?=\/src\/.*\.ts$)/.exec(path)?.[0]
    if (folder !== undefined) packages.set(folder, `${packages.get(folder) ?? ''}${text}\n`)
  }
  return packages
}

export const shareRules = [
  {
    name: 'comment-share',
    find: (files) =>
      [...srcByPackage(files)].flatMap(([path, text]) => {
        const { comment, filled } = countLines(text)
        const share = comment / filled
        if (share >= shareMin && share <= shareMax) return []
        const percent = (part) => `${(part * 100).toFixed(1)} %`
        return [
          {
            path,
            line: 1,
            say: `${percent(share)} comment, outside ${percent(shareMin)} to ${percent(shareMax)}`,
          },
        ]
      }),
  },
  {
    name: 'readme-there',
    find: (files) =>
      [...srcByPackage(files).keys()]
        .filter((folder) => !files.some(({ path }) => path === `${folder}/README.md`))
        .map((path) => ({ path, line: 1, say: 'a package has a README.md' })),
  },
]
