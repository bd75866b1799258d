import ts from 'typescript'
import { findNodes, rootOf } from './syntax.mjs'

const page = 'docs/guarantees.md'
const testCalls = new Set(['it', 'test', 'testCampaign'])
const suiteCalls = new Set(['describe', 'suite'])
const neverRun = new Set(['todo', 'skip', 'fails'])

const isCode = (path) => /\.(ts|mjs)$/.test(path)
const isKit = (path) => /^packages\/[^/]+\/src\/testkit\//.test(path)
const hasTitles = (path) => (path.startsWith('test/') && path.endsWith('.ts')) || isKit(path)
/** The long run is somebody's decision; a promise is held by what runs each time. */
const isAlwaysRun = (path) => path.endsWith('.test.ts') || isKit(path)

const numbersIn = (text, pattern) => [...text.matchAll(pattern)].map((match) => match[1])
/** `G3`, and not the `G3` of `FR-G3`, which is somebody else's numbering. */
const citedIn = (text) => numbersIn(text, /(?<![\w-])G(\d+)(?!\w)/g)
const heldIn = (title) => numbersIn(title, /(?<![\w-])G(\d+):/g)

/** `- **G3** …` at the start of a line states a promise. */
function statedOn(text) {
  return text.split('\n').flatMap((content, index) => {
    const number = /^- \*\*G(\d+)\*\*/.exec(content)?.[1]
    return number === undefined ? [] : [{ line: index + 1, number }]
  })
}

/** The titles of tests and suites: in calls, and as the names of a kit's facts. */
function titlesIn(file) {
  if (!hasTitles(file.path)) return []
  return findNodes(file, (node) => titleAt(node, file.path)).map(({ line, say }) => ({ line, ...say }))
}

function titleAt(node, path) {
  if (ts.isPropertyAssignment(node) && ts.isStringLiteral(node.name))
    return isKit(path) && { text: node.name.text, isTest: true }
  const [first] = ts.isCallExpression(node) ? node.arguments : []
  if (first === undefined || !(ts.isStringLiteralLike(first) || ts.isTemplateExpression(first))) return false
  const root = rootOf(node.expression)
  if (!testCalls.has(root) && !suiteCalls.has(root)) return false
  const isRun = !namesIn(node.expression).some((name) => neverRun.has(name))
  return { text: first.getText(), isTest: testCalls.has(root) && isRun }
}

/** `only` and `concurrent` of `it.concurrent.only`. */
function namesIn(expression) {
  if (ts.isCallExpression(expression)) return namesIn(expression.expression)
  if (!ts.isPropertyAccessExpression(expression)) return []
  return [...namesIn(expression.expression), expression.name.text]
}

/** What stands in comments, by line. */
function commentsIn({ text }) {
  let inBlock = false
  return text.split('\n').map((content) => {
    const opens = /^\s*\/\*/.test(content)
    const isComment = inBlock || opens
    if (isComment) inBlock = !content.includes('*/')
    return isComment ? content : (/\/\/.*$/.exec(content)?.[0] ?? '')
  })
}

function citationsIn(file) {
  const lines = file.path.endsWith('.md') ? file.text.split('\n') : isCode(file.path) ? commentsIn(file) : []
  const inLines = lines.flatMap((content, index) =>
    citedIn(content).map((number) => ({ line: index + 1, number })),
  )
  const inTitles = titlesIn(file).flatMap(({ line, text }) =>
    citedIn(text).map((number) => ({ line, number })),
  )
  return [...inLines, ...inTitles].map((each) => ({ path: file.path, ...each }))
}

const statedIn = (files) => statedOn(files.find(({ path }) => path === page)?.text ?? '')

export const promiseRules = [
  {
    name: 'promise-numbers',
    find(files) {
      const stated = statedIn(files)
      const wrong = stated.findIndex(({ number }, index) => number !== String(index + 1))
      if (wrong === -1) return []
      const { line, number } = stated[wrong]
      return [{ path: page, line, say: `G${number} stands where G${wrong + 1} is due` }]
    },
  },
  {
    name: 'promise-held',
    find(files) {
      const titles = files.filter(({ path }) => isAlwaysRun(path)).flatMap(titlesIn)
      const held = new Set(titles.filter(({ isTest }) => isTest).flatMap(({ text }) => heldIn(text)))
      return statedIn(files)
        .filter(({ number }) => !held.has(number))
        .map(({ line, number }) => ({ path: page, line, say: `no test's title says "G${number}:"` }))
    },
  },
  {
    name: 'promise-stated',
    find(files) {
      const stated = new Set(statedIn(files).map(({ number }) => number))
      return files
        .flatMap(citationsIn)
        .filter(({ number }) => !stated.has(number))
        .map(({ path, line, number }) => ({ path, line, say: `G${number} is not on ${page}` }))
    },
  },
]
